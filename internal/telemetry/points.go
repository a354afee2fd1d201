package telemetry

import (
	"context"
	"fmt"
	"math"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/encoding/protowire"
)

// metricExporter sends metrics. It implements [metric.Exporter].
type metricExporter struct {
	client      *client
	temporality metric.TemporalitySelector
}

// Temporality implements [metric.Exporter].
func (e metricExporter) Temporality(kind metric.InstrumentKind) metricdata.Temporality {
	return e.temporality(kind)
}

// Aggregation implements [metric.Exporter].
func (e metricExporter) Aggregation(kind metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(kind)
}

// ForceFlush implements [metric.Exporter]. Nothing is kept.
func (e metricExporter) ForceFlush(context.Context) error { return nil }

// Shutdown implements [metric.Exporter].
func (e metricExporter) Shutdown(context.Context) error {
	e.client.close()
	return nil
}

// Export implements [metric.Exporter].
func (e metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	var request, ofResource message
	ofResource.part(1, resourceOf(all.Resource))
	for _, scope := range all.ScopeMetrics {
		var ofScope message
		ofScope.part(1, scopeOf(scope.Scope))
		for _, metric := range scope.Metrics {
			written, err := metricOf(metric)
			if err != nil {
				return err
			}
			ofScope.part(2, written)
		}
		ofResource.part(2, ofScope)
	}
	request.part(1, ofResource)
	if err := e.client.send(ctx, request); err != nil {
		return fmt.Errorf("metrics were not sent: %w", err)
	}
	return nil
}

// metricOf writes the kinds of metrics that are made here, and those of Prometheus.
func metricOf(metric metricdata.Metrics) (m message, err error) {
	m.text(1, metric.Name)
	m.text(2, metric.Description)
	m.text(3, metric.Unit)
	var data message
	var field protowire.Number
	switch of := metric.Data.(type) {
	case metricdata.Gauge[float64]:
		field = 5
		points(&data, of.DataPoints, numberOf)
	case metricdata.Sum[float64]:
		field = 7
		points(&data, of.DataPoints, numberOf)
		data.number(2, temporalityOf(of.Temporality))
		data.number(3, protowire.EncodeBool(of.IsMonotonic))
	case metricdata.Histogram[float64]:
		field = 9
		points(&data, of.DataPoints, bucketsOf)
		data.number(2, temporalityOf(of.Temporality))
	case metricdata.Summary:
		field = 11
		points(&data, of.DataPoints, quantilesOf)
	default:
		return nil, fmt.Errorf("the metric %s is of a kind that is not sent: %T", metric.Name, of)
	}
	m.part(field, data)
	return m, nil
}

// points adds those of a metric.
func points[P any](m *message, list []P, pointOf func(P) message) {
	for _, point := range list {
		m.part(1, pointOf(point))
	}
}

func temporalityOf(t metricdata.Temporality) uint64 {
	const delta, cumulative = 1, 2
	if t == metricdata.DeltaTemporality {
		return delta
	}
	return cumulative
}

func numberOf(p metricdata.DataPoint[float64]) (m message) {
	m.time(2, p.StartTime)
	m.time(3, p.Time)
	m.present64(4, math.Float64bits(p.Value))
	m.attributes(7, p.Attributes.ToSlice())
	return m
}

func bucketsOf(p metricdata.HistogramDataPoint[float64]) (m message) {
	bounds := make([]uint64, len(p.Bounds))
	for i, bound := range p.Bounds {
		bounds[i] = math.Float64bits(bound)
	}
	m.time(2, p.StartTime)
	m.time(3, p.Time)
	m.fixed64(4, p.Count)
	m.present64(5, math.Float64bits(p.Sum))
	m.packed(6, p.BucketCounts)
	m.packed(7, bounds)
	m.attributes(9, p.Attributes.ToSlice())
	if least, ok := p.Min.Value(); ok {
		m.present64(11, math.Float64bits(least))
	}
	if most, ok := p.Max.Value(); ok {
		m.present64(12, math.Float64bits(most))
	}
	return m
}

func quantilesOf(p metricdata.SummaryDataPoint) (m message) {
	m.time(2, p.StartTime)
	m.time(3, p.Time)
	m.fixed64(4, p.Count)
	m.fixed64(5, math.Float64bits(p.Sum))
	for _, q := range p.QuantileValues {
		var value message
		value.fixed64(1, math.Float64bits(q.Quantile))
		value.fixed64(2, math.Float64bits(q.Value))
		m.part(6, value)
	}
	m.attributes(7, p.Attributes.ToSlice())
	return m
}

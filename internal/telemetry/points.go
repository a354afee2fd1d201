package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
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
	of := &metricspb.ResourceMetrics{Resource: resourceOf(all.Resource)}
	for _, scope := range all.ScopeMetrics {
		list := &metricspb.ScopeMetrics{Scope: scopeOf(scope.Scope)}
		for _, m := range scope.Metrics {
			converted, err := metricOf(m)
			if err != nil {
				return err
			}
			list.Metrics = append(list.Metrics, converted)
		}
		of.ScopeMetrics = append(of.ScopeMetrics, list)
	}
	var reply collectorpb.ExportMetricsServiceResponse
	err := e.client.send(ctx, &collectorpb.ExportMetricsServiceRequest{
		ResourceMetrics: []*metricspb.ResourceMetrics{of},
	}, &reply)
	if err != nil {
		return fmt.Errorf("metrics were not sent: %w", err)
	}
	if refused := reply.GetPartialSuccess(); refused.GetRejectedDataPoints() > 0 {
		return fmt.Errorf("the collector refused %d points of metrics: %s", refused.GetRejectedDataPoints(),
			refused.GetErrorMessage())
	}
	return nil
}

// metricOf converts the kinds of metrics that are made here, and those of Prometheus.
func metricOf(m metricdata.Metrics) (*metricspb.Metric, error) {
	to := &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch data := m.Data.(type) {
	case metricdata.Gauge[float64]:
		to.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: numbers(data.DataPoints)}}
	case metricdata.Sum[float64]:
		to.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{
			DataPoints: numbers(data.DataPoints), IsMonotonic: data.IsMonotonic,
			AggregationTemporality: temporalityOf(data.Temporality),
		}}
	case metricdata.Histogram[float64]:
		to.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{
			DataPoints: buckets(data.DataPoints), AggregationTemporality: temporalityOf(data.Temporality),
		}}
	case metricdata.Summary:
		to.Data = &metricspb.Metric_Summary{Summary: &metricspb.Summary{DataPoints: quantiles(data.DataPoints)}}
	default:
		return nil, fmt.Errorf("the metric %s is of a kind that is not sent: %T", m.Name, data)
	}
	return to, nil
}

func temporalityOf(t metricdata.Temporality) metricspb.AggregationTemporality {
	if t == metricdata.DeltaTemporality {
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
}

func numbers(points []metricdata.DataPoint[float64]) (list []*metricspb.NumberDataPoint) {
	for _, p := range points {
		list = append(list, &metricspb.NumberDataPoint{
			Attributes: keyValues(p.Attributes.ToSlice()), StartTimeUnixNano: nano(p.StartTime),
			TimeUnixNano: nano(p.Time), Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: p.Value},
		})
	}
	return list
}

func buckets(points []metricdata.HistogramDataPoint[float64]) (list []*metricspb.HistogramDataPoint) {
	for _, p := range points {
		to := &metricspb.HistogramDataPoint{
			Attributes: keyValues(p.Attributes.ToSlice()), StartTimeUnixNano: nano(p.StartTime),
			TimeUnixNano: nano(p.Time), Count: p.Count, Sum: &p.Sum, BucketCounts: p.BucketCounts,
			ExplicitBounds: p.Bounds,
		}
		if least, ok := p.Min.Value(); ok {
			to.Min = &least
		}
		if most, ok := p.Max.Value(); ok {
			to.Max = &most
		}
		list = append(list, to)
	}
	return list
}

func quantiles(points []metricdata.SummaryDataPoint) (list []*metricspb.SummaryDataPoint) {
	for _, p := range points {
		to := &metricspb.SummaryDataPoint{
			Attributes: keyValues(p.Attributes.ToSlice()), StartTimeUnixNano: nano(p.StartTime),
			TimeUnixNano: nano(p.Time), Count: p.Count, Sum: p.Sum,
		}
		for _, q := range p.QuantileValues {
			to.QuantileValues = append(to.QuantileValues, &metricspb.SummaryDataPoint_ValueAtQuantile{
				Quantile: q.Quantile, Value: q.Value,
			})
		}
		list = append(list, to)
	}
	return list
}

package telemetry

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is one of OTLP in the encoding of protocol buffers. Its fields are known by
// their numbers, which are for ever; the types that are generated for them would have to
// be registered at each start of the program.
type message []byte

// bytes adds a field. As in all methods for fields, what is empty is left out, which
// means the same.
func (m *message) bytes(field protowire.Number, value []byte) {
	if len(value) > 0 {
		*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), value)
	}
}

func (m *message) text(field protowire.Number, value string) { m.bytes(field, []byte(value)) }

func (m *message) number(field protowire.Number, value uint64) {
	if value != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), value)
	}
}

func (m *message) fixed32(field protowire.Number, value uint32) {
	if value != 0 {
		*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), value)
	}
}

func (m *message) fixed64(field protowire.Number, value uint64) {
	if value != 0 {
		m.present64(field, value)
	}
}

// present64 is fixed64 of a field whose 0 is not the same as nothing.
func (m *message) present64(field protowire.Number, value uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), value)
}

func (m *message) time(field protowire.Number, t time.Time) {
	if !t.IsZero() {
		m.fixed64(field, uint64(t.UnixNano()))
	}
}

// part adds a message, also one without fields: it is there.
func (m *message) part(field protowire.Number, part message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), part)
}

// packed adds a list of numbers of 64 bits.
func (m *message) packed(field protowire.Number, values []uint64) {
	var list message
	for _, value := range values {
		list = protowire.AppendFixed64(list, value)
	}
	m.bytes(field, list)
}

// What spans and metrics have in common.

func (m *message) attributes(field protowire.Number, list []attribute.KeyValue) {
	for _, a := range list {
		var pair message
		pair.text(1, string(a.Key))
		pair.part(2, valueOf(a.Value))
		m.part(field, pair)
	}
}

// valueOf writes a value; kinds that nothing here has become texts.
func valueOf(v attribute.Value) (m message) {
	switch v.Type() {
	case attribute.BOOL:
		m = protowire.AppendVarint(protowire.AppendTag(m, 2, protowire.VarintType), protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		m = protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		m.present64(4, math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		m.part(1, message(v.AsString()))
	default:
		m.part(1, message(fmt.Sprint(v.AsInterface())))
	}
	return m
}

func resourceOf(r *resource.Resource) (m message) {
	m.attributes(1, r.Attributes())
	return m
}

func scopeOf(s instrumentation.Scope) (m message) {
	m.text(1, s.Name)
	m.text(2, s.Version)
	m.attributes(3, s.Attributes.ToSlice())
	return m
}

// taken fails when a reply says that the collector has not taken all spans or points.
func taken(reply []byte) error {
	const partialSuccess, rejected, errorMessage = 1, 1, 2
	part, _, err := find(reply, partialSuccess)
	_, count, failed := find(part, rejected)
	why, _, _ := find(part, errorMessage) // fails as the one before
	switch {
	case err != nil || failed != nil:
		return errors.New("the collector's answer cannot be read")
	case count > 0:
		return fmt.Errorf("the collector refused %d: %s", count, why)
	default:
		return nil
	}
}

// find reads a message to its end, and returns the bytes or the number of a field that it
// has last.
func find(m []byte, wanted protowire.Number) (value []byte, number uint64, err error) {
	for len(m) > 0 {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return nil, 0, protowire.ParseError(n)
		}
		m = m[n:]
		if n = protowire.ConsumeFieldValue(field, kind, m); n < 0 {
			return nil, 0, protowire.ParseError(n)
		}
		switch {
		case field == wanted && kind == protowire.BytesType:
			value, _ = protowire.ConsumeBytes(m)
		case field == wanted && kind == protowire.VarintType:
			number, _ = protowire.ConsumeVarint(m)
		}
		m = m[n:]
	}
	return value, number, nil
}

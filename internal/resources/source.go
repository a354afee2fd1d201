package resources

import (
	"context"
	"crypto/sha256"
	"io"
)

// source is where bytes come from: a file, a generated archive, a cached archive, a patch, or a list.
// Only [Found.Open] and [Body.WriteTo] call it, in this order.
type source interface {
	// reserve takes what the bytes cost, unless they are cached: then it finds them.
	reserve(ctx context.Context, b *Body) error
	// measure computes the size as far as that is cheap or, if certain is set, at any cost.
	measure(ctx context.Context, b *Body, certain bool) error
	// write writes the bytes, and may leave out those that the part drops.
	write(ctx context.Context, b *Body, p *part) error
}

// list is the source of descriptions, whose bytes are made from what was found.
type list struct {
	digest []byte
	text   func(ctx context.Context, w io.Writer) error
}

func (l *list) reserve(context.Context, *Body) error { return nil }

func (l *list) measure(_ context.Context, b *Body, _ bool) error {
	b.Digest = l.digest
	return nil
}

func (l *list) write(ctx context.Context, _ *Body, p *part) error { return l.text(ctx, p) }

// textSource is the source of bytes in memory.
func textSource(text []byte) *list {
	sum := sha256.Sum256(text)
	return &list{sum[:], func(_ context.Context, w io.Writer) error {
		_, err := w.Write(text)
		return err
	}}
}

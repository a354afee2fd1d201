package resources

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Method is what a request does with bytes.
type Method string

// A look is also used before links are made.
const (
	Look Method = ""     // the size is computed as far as trees, headers and files allow
	Head Method = "HEAD" // a look that also asks the cache
	Get  Method = "GET"  // the bytes are sent
)

// Want is what a request wants of what was found.
type Want struct {
	Method Method
	// Range is the requested range; nil is the whole. A weak resource has no ranges.
	Range *Range
	// Limit is how many bytes may be sent at most; 0 means any number.
	Limit int64
	// Digest says that the digest has to be known beforehand, even if an archive must be generated
	// for it.
	Digest bool
	// Reply says that all bytes go into one message, with [Body.ReadAll]: a Get whose memory is
	// reserved as a call until the request has its reply (see [limits.Keep]). Nothing is measured
	// or hashed for it.
	Reply bool
}

// TooLargeError says that content has more bytes than the client accepts. Size is [UnknownSize] if
// the exact number is unknown.
type TooLargeError struct{ Size, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("there are more than the %d bytes that are wanted at most", e.Limit)
}

// RangeError says that a range begins beyond the end.
type RangeError struct{ Size int64 }

func (e *RangeError) Error() string { return fmt.Sprintf("the range is beyond the %d bytes", e.Size) }

// Range is one range of bytes, as requested.
type Range struct {
	First int64
	Last  int64 // math.MaxInt64: to the end
	// Suffix is the requested number of last bytes instead, or -1.
	Suffix int64
}

// isWhole reports whether the range always covers all bytes.
func (r Range) isWhole() bool {
	return r.Suffix < 0 && r.First == 0 && r.Last == math.MaxInt64
}

// Within returns the range within size bytes, and false if it is empty.
func (r Range) Within(size int64) (offset, length int64, ok bool) {
	if r.Suffix >= 0 {
		length = min(r.Suffix, size)
		return size - length, length, length > 0
	}
	if r.First >= size {
		return 0, 0, false
	}
	return r.First, min(r.Last, size-1) - r.First + 1, true
}

// Open is the only way to bytes, and the only place that knows the order of the steps:
//
//  1. Refuse content that is known to be too large, at no cost.
//  2. Reserve the cost of reading or making the bytes, unless they are cached.
//  3. Measure the length, and compare a file with its id.
//  4. Select the range, for which the length has to be certain.
//  5. Redeem the link that led here.
//
// No byte was sent if Open fails. The errors are a [*limits.Refusal], a [*TooLargeError], a
// [*RangeError], [links.ErrUsed] and the other errors of [links.Authority.Redeem], and those of the
// domain: see [Service.Failure].
func (f *Found) Open(ctx context.Context, want Want) (*Body, error) {
	b := &Body{Found: f, ETag: f.ETag, MIMEType: f.MIMEType, Size: f.Size, want: want, source: f.source}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Body) open(ctx context.Context) error {
	b.recall()
	if err := b.refuseExcess(); err != nil {
		return err
	}
	if err := b.source.reserve(ctx, b); err != nil {
		return err
	}
	if err := b.source.measure(ctx, b, false); err != nil {
		return err
	}
	err := b.selectRange(ctx)
	if err == nil {
		err = b.refuseExcess()
	}
	return b.Found.link.redeem(ctx, b, err)
}

// refuseExcess refuses content that is known to have more bytes than allowed.
func (b *Body) refuseExcess() error {
	limit := b.want.Limit
	if limit > 0 && (b.Size > limit || b.Size == UnknownSize && b.atLeast > limit) {
		return &TooLargeError{b.Size, limit}
	}
	return nil
}

// selectRange decides which bytes are sent. Every server with the same encoder makes the same
// bytes, so any of them can resume a download; but a range cannot be announced until the length is
// certain.
func (b *Body) selectRange(ctx context.Context) error {
	asked := b.want.Range
	b.Length = b.Size
	switch {
	case asked == nil:
		return nil
	case b.Size == UnknownSize && asked.isWhole():
		return b.restart(ctx)
	}
	if err := b.source.measure(ctx, b, true); err != nil {
		return err
	}
	if b.Length = b.Size; b.Size == 0 {
		// A range of an empty file cannot be expressed. Clients that always send a range get the
		// empty whole.
		return nil
	}
	offset, length, ok := asked.Within(b.Size)
	if !ok {
		return &RangeError{b.Size}
	}
	b.Part, b.Offset, b.Length = true, offset, length
	return nil
}

// restart sends the whole if the requested range covers all of it.
func (b *Body) restart(ctx context.Context) error {
	b.want.Range = nil
	b.grant.Release()
	err := b.source.reserve(ctx, b)
	b.Length = b.Size
	return err
}

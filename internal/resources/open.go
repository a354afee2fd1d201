package resources

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Method is what a request does with bytes.
type Method string

// The methods. A look is also what links are made after.
const (
	Look Method = ""     // the size becomes known as far as trees, headers and files tell it
	Head Method = "HEAD" // a look that also asks the cache
	Get  Method = "GET"  // the bytes are sent
)

// Want is what a request wants of what was found.
type Want struct {
	Method Method
	// Range is the part that is asked for, of what is not weak; nil is the whole.
	Range *Range
	// Limit is how many bytes may be sent at most; 0 means any number.
	Limit int64
	// Digest says that the digest has to be known beforehand, for which an archive is
	// made.
	Digest bool
	// Reply says that all bytes go into one message, with [Body.ReadAll]: a Get that is
	// reserved as a call until the request has its reply (see [limits.Keep]), for which
	// nothing is measured and no digest is made.
	Reply bool
}

// TooLargeError is the error of what has more bytes than its client takes. Size is
// [UnknownSize] where only that is known.
type TooLargeError struct{ Size, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("there are more than the %d bytes that are wanted at most", e.Limit)
}

// RangeError is the error of a range that begins beyond the end.
type RangeError struct{ Size int64 }

func (e *RangeError) Error() string { return fmt.Sprintf("the range is beyond the %d bytes", e.Size) }

// Range is one range of bytes, as it was asked for.
type Range struct {
	First int64
	Last  int64 // math.MaxInt64: to the end
	// Suffix is the number of last bytes that are asked for instead, or -1.
	Suffix int64
}

// isWhole reports whether all bytes are asked for, however many there are.
func (r Range) isWhole() bool {
	return r.Suffix < 0 && r.First == 0 && r.Last == math.MaxInt64
}

// Within returns the part of so many bytes that is asked for, and false where there is
// none.
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

// Open is the only way to bytes, and the only place that knows the order in which they
// are had:
//
//  1. What is known to be too large is refused, at no cost.
//  2. What reading or making the bytes costs is reserved, unless they are kept.
//  3. The length is measured, and a file is compared with its id.
//  4. The range is selected, for which the length has to be certain.
//  5. The link that led here is redeemed.
//
// Nothing was sent where it fails. The errors are a [*limits.Refusal], a
// [*TooLargeError], a [*RangeError], [links.ErrUsed] and the other errors of
// [links.Authority.Redeem], and those of the domain: see [Service.Failure].
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

// refuseExcess refuses what is known to have more bytes than are wanted.
func (b *Body) refuseExcess() error {
	limit := b.want.Limit
	if limit > 0 && (b.Size > limit || b.Size == UnknownSize && b.atLeast > limit) {
		return &TooLargeError{b.Size, limit}
	}
	return nil
}

// selectRange decides which bytes are sent. Any server with the same encoder makes the
// same bytes, so that a download can be resumed where it was not begun; but a part
// cannot be announced as long as the length is not certain.
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
		// No range of an empty file can be written down. Clients that always
		// ask for one get what there is.
		return nil
	}
	offset, length, ok := asked.Within(b.Size)
	if !ok {
		return &RangeError{b.Size}
	}
	b.Part, b.Offset, b.Length = true, offset, length
	return nil
}

// restart has the whole sent to a request for a range that is all of it.
func (b *Body) restart(ctx context.Context) error {
	b.want.Range = nil
	b.grant.Release()
	err := b.source.reserve(ctx, b)
	b.Length = b.Size
	return err
}

package resources

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

var errBroken = errors.New("broken")

// generated is an archive of n bytes that is written in pieces, and fails
// before the byte number fail unless that is negative. Made counts the bytes.
func generated(known *extents, n, piece, fail int, made *atomic.Int64) *Content {
	c := &Content{Size: UnknownSize, ETag: strconv.Itoa(n)}
	c.write = func(ctx context.Context, w io.Writer) error {
		for at := 0; at < n; at += piece {
			end := min(at+piece, n)
			if fail >= 0 && end > fail {
				end = fail
			}
			b := make([]byte, end-at)
			for i := range b {
				b[i] = byte((at + i) * 7)
			}
			made.Add(int64(len(b)))
			if _, err := w.Write(b); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
			if fail == end {
				return errBroken
			}
		}
		return ctx.Err()
	}
	c.remember(known)
	return c
}

func TestWriteRangeGivesExactlyThat(t *testing.T) {
	var made atomic.Int64
	const n = 100
	var whole bytes.Buffer
	if err := generated(newExtents(), n, 7, -1, &made).WriteTo(t.Context(), &whole); err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, piece := range []int{1, 7, 50, n, 3 * n} {
		for offset := 0; offset < n; offset += 3 {
			for _, length := range []int{-1, 1, 2, 10, n - offset} {
				for _, sized := range []bool{false, true} {
					if offset+length > n {
						continue
					}
					c := generated(newExtents(), n, piece, -1, &made)
					if sized {
						c.Size = n
					}
					want := whole.Bytes()[offset:]
					if length > 0 {
						want = want[:length]
					}
					var got bytes.Buffer
					if err := c.WriteRange(t.Context(), &got, int64(offset), int64(length)); err != nil ||
						!bytes.Equal(got.Bytes(), want) {
						t.Fatalf("%d+%d in pieces of %d: %d bytes, %v", offset, length, piece, got.Len(), err)
					}
					cases++
				}
			}
		}
	}
	if cases < 1000 {
		t.Errorf("only %d cases", cases)
	}
}

func TestWriteRangeStopsAtItsEnd(t *testing.T) {
	var made atomic.Int64
	c := generated(newExtents(), 1000, 10, -1, &made)
	if err := c.WriteRange(t.Context(), io.Discard, 20, 30); err != nil || made.Load() != 50 {
		t.Errorf("%d bytes were made, %v", made.Load(), err)
	}
}

func TestRangeBeyondTheEndOrTheDamageFails(t *testing.T) {
	var made atomic.Int64
	for _, test := range []struct {
		offset, length int64
		size           int64
		fail           int
		want           error
	}{
		{100, 1, UnknownSize, -1, io.ErrUnexpectedEOF}, {99, 2, UnknownSize, -1, io.ErrUnexpectedEOF},
		{101, -1, UnknownSize, -1, io.ErrUnexpectedEOF},
		{0, -1, UnknownSize, 50, errBroken}, {49, 2, UnknownSize, 50, errBroken}, {60, 1, UnknownSize, 50, errBroken},
		{50, -1, UnknownSize, 50, errBroken},
		// The failure comes with the last byte, as that of a blob's id does.
		{90, 10, 100, 100, errBroken}, {0, 49, UnknownSize, 50, nil}, {0, 50, 50, -1, errLonger},
	} {
		c := generated(newExtents(), 100, 10, test.fail, &made)
		c.Size = test.size
		if err := c.WriteRange(t.Context(), io.Discard, test.offset, test.length); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestWhatWasWrittenWholeIsRemembered(t *testing.T) {
	var made atomic.Int64
	known := newExtents()
	first := generated(known, 100, 10, -1, &made)
	var out bytes.Buffer
	if err := first.WriteTo(t.Context(), &out); err != nil || first.Size != 100 {
		t.Fatal(first.Size, err)
	}
	sum := sha256.Sum256(out.Bytes())
	second := generated(known, 100, 10, -1, &made)
	if second.Size != 100 || !bytes.Equal(second.Digest, sum[:]) {
		t.Errorf("remembered: %d bytes, %x", second.Size, second.Digest)
	}
	weak := &Content{Weak: true, Size: UnknownSize, ETag: "100", write: first.write}
	weak.remember(known)
	if weak.Size != UnknownSize || weak.Digest != nil {
		t.Error("a weak tag has something remembered")
	}
	weak.ETag = "other"
	if err := weak.WriteTo(t.Context(), io.Discard); err != nil || !bytes.Equal(weak.Digest, sum[:]) {
		t.Errorf("the digest of what was written under a weak tag: %x, %v", weak.Digest, err)
	}
	if _, ok := known.get("other"); ok {
		t.Error("what a weak tag named was remembered")
	}
}

func TestWhatBrokeIsRememberedAsFarAsItGot(t *testing.T) {
	var made atomic.Int64
	known := newExtents()
	if err := generated(known, 100, 10, 50, &made).WriteTo(t.Context(), io.Discard); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	c := generated(known, 100, 10, -1, &made)
	if c.Size != UnknownSize || c.Digest != nil || c.AtLeast != 50 {
		t.Errorf("remembered: size %d, digest %x, at least %d", c.Size, c.Digest, c.AtLeast)
	}
}

func TestWrongMeasureIsAnError(t *testing.T) {
	var made atomic.Int64
	c := generated(newExtents(), 100, 10, -1, &made)
	c.Size = 99
	if err := c.WriteTo(t.Context(), io.Discard); err == nil {
		t.Error("100 bytes of 99 are no error")
	}
}

func TestManyCountOnce(t *testing.T) {
	var made atomic.Int64
	known := newExtents()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			c := generated(known, 1000, 10, -1, &made)
			if err := c.Count(t.Context()); err != nil || c.Size != 1000 {
				t.Error(c.Size, err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1000 {
		t.Errorf("%d bytes were made for the number of 1000", made.Load())
	}
	for tag := range known.counting.Range {
		t.Errorf("somebody still counts %v", tag)
	}
}

func TestCountingCanBeGivenUp(t *testing.T) {
	known := newExtents()
	done, err := known.begin(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := known.begin(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for another: %v", err)
	}
	done()
	again, err := known.begin(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestExtentsAreBounded(t *testing.T) {
	e := newExtents()
	for i := range 3 * maxExtentBytes / extentCost {
		e.put(strconv.Itoa(i), extent{size: int64(i)})
		if _, ok := e.get("0"); !ok {
			t.Fatal("what is used all the time was forgotten")
		}
	}
	if n, _ := e.known.Size(); n != maxExtentBytes/extentCost {
		t.Errorf("%d are remembered", n)
	}
	if _, ok := e.get("1"); ok {
		t.Error("the oldest is still there")
	}
}

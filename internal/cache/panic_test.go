package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/cache/cachetest"
)

// TestPanicOfABuildFailsItsReaders makes a build panic after its first bytes. All of its readers get
// an error, nothing is stored, and the next build is complete.
func TestPanicOfABuildFailsItsReaders(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		c := testCache(t, o)
		s := &source{bytes: content(1, 3*chunkBytes)}
		key := KeyOf("x")
		got, err := read(t, c, key, func(_ context.Context, w io.Writer) error {
			if _, err := w.Write(s.bytes[:2*chunkBytes+5]); err != nil {
				return err
			}
			panic("a damaged object")
		})
		var panicked *panics.Error
		if !errors.As(err, &panicked) || !bytes.HasPrefix(s.bytes, got) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		idle(c)
		if stats := c.Stats(); stats.Failures != 1 || stats.Bytes != 0 || stats.Entries != 0 {
			t.Errorf("%+v", stats)
		}
		mustRead(t, c, key, s)
	})
}

// panickingLeases are those of a library that panics.
type panickingLeases struct{}

func (panickingLeases) Take(context.Context, Key) (func(), error) { panic("an unexpected answer") }

// TestPanicOfALeaseFailsItsReaders has the search for another replica's build
// panic, before there are bytes.
func TestPanicOfALeaseFailsItsReaders(t *testing.T) {
	bucket := &cachetest.Bucket{}
	c := testCache(t, Options{Objects: NewObjects(bucket, nil), Leases: panickingLeases{}})
	s := &source{bytes: content(1, chunkBytes)}
	var panicked *panics.Error
	if got, err := read(t, c, KeyOf("x"), s.build); !errors.As(err, &panicked) || len(got) > 0 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	idle(c)
	if n := s.runs.Load(); n != 0 {
		t.Errorf("%d builds", n)
	}
}

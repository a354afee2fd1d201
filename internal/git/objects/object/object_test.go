package object

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/gittest"
)

func sumOf(t Type, content []byte) ID {
	return sha1.Sum(append(AppendHeader(nil, t, int64(len(content))), content...))
}

// streamed is a source that does not look as if it were in memory.
type streamed struct{ Source }

// newObject returns an object that is read from a source.
func newObject(content []byte, source Source) *Object {
	damage := func(err error) error { return Corrupt("here", err) }
	return New(new(Buffers), sumOf(Blob, content), Blob, int64(len(content)), source, damage)
}

// panicking is a source that panics after some reads.
type panicking struct {
	Source
	reads int
}

func (p *panicking) Read(b []byte) (int, error) {
	if p.reads--; p.reads < 0 {
		panic("a damaged stream")
	}
	return p.Source.Read(b)
}

// TestPanicWhileReadingAheadFailsTheObject has the goroutine that reads ahead
// panic, at once and while pieces are written.
func TestPanicWhileReadingAheadFailsTheObject(t *testing.T) {
	const size = 8 * pieceBytes
	content := []byte(gittest.Noise(size))
	for _, reads := range []int{0, 5} {
		object := newObject(content, &panicking{Bytes(content), reads})
		var out bytes.Buffer
		var panicked *panics.Error
		if n, err := object.WriteTo(&out); !errors.As(err, &panicked) || n >= size || int64(out.Len()) != n {
			t.Errorf("after %d reads: %d bytes, %v", reads, n, err)
		}
		if _, err := object.Read(make([]byte, 1)); !errors.As(err, &panicked) {
			t.Errorf("after %d reads: reading on gives %v", reads, err)
		}
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestProvingThatIsGivenUpLeavesNoProof ends with its context.
func TestProvingThatIsGivenUpLeavesNoProof(t *testing.T) {
	content := []byte(gittest.Noise(3 * pieceBytes))
	open := func() (*Object, error) { return newObject(content, streamed{Bytes(content)}), nil }
	p := NewProofs(1 << 20)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Sound(gone, open); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if kept, _ := p.byID.Size(); kept > 0 {
		t.Errorf("%d proofs are kept", kept)
	}
	object, err := p.Sound(t.Context(), open)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := object.AppendTo(nil); err != nil || !bytes.Equal(got, content) || object.Close() != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if kept, _ := p.byID.Size(); kept != 1 {
		t.Errorf("%d proofs are kept", kept)
	}
}

func TestProofsAreBounded(t *testing.T) {
	const limit = 100 * (proofOverhead + 80)
	p := NewProofs(limit)
	put := func(i int, known proof) { p.byID.Put(sumOf(Blob, fmt.Append(nil, i)), known, known.cost()) }
	for i := range 1000 {
		put(i, proof{pieces: make([]uint64, 10)})
	}
	put(5000, proof{pieces: make([]uint64, 1<<20)}) // larger than all may be
	if kept, bytes := p.byID.Size(); kept != 100 || bytes > limit {
		t.Errorf("%d bytes of %d, %d proofs", bytes, limit, kept)
	}
}

package unpack

import (
	"archive/tar"
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/repomcp/repomcp/internal/gittest"
)

// barren reads a beginning, and then a piece again and again.
type barren struct {
	left, piece []byte
	bytes       int
}

func (e *barren) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		e.left = bytes.Repeat(e.piece, 4096)
	}
	n := copy(p, e.left)
	e.left, e.bytes = e.left[n:], e.bytes+n
	if e.bytes > 256<<20 {
		return n, errors.New("all of it is read")
	}
	return n, nil
}

// TestCompressionThatMakesNothingEnds is about frames and members without content.
func TestCompressionThatMakesNothingEnds(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	var begun bytes.Buffer
	z := gzip.NewWriter(&begun)
	if err := errors.Join(tar.NewWriter(z).WriteHeader(&tar.Header{Name: "a", Size: 1 << 30, Mode: 0o644}),
		z.Close()); err != nil {
		t.Fatal(err)
	}
	var member bytes.Buffer
	if err := gzip.NewWriter(&member).Close(); err != nil {
		t.Fatal(err)
	}
	const emptyFrame, skipped = "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00", "\x50\x2a\x4d\x18\x00\x00\x00\x00"
	for name, archive := range map[string]*barren{
		"empty frames":          {piece: []byte(emptyFrame)},
		"frames to be skipped":  {left: []byte(emptyFrame), piece: []byte(skipped)},
		"empty members":         {piece: member.Bytes()},
		"members behind a file": {left: begun.Bytes(), piece: member.Bytes()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(newPlace(t).root, Options{}).Tar(t.Context(), archive)
			if limit, ok := errors.AsType[*LimitError](err); !ok || limit.Limit != "bytes that make nothing" {
				t.Errorf("after %d bytes: %v", archive.bytes, err)
			}
		})
	}
}

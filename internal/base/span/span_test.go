package span

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

const content = "0123456789"

// write writes the content in pieces of a size until an error.
func write(w io.Writer, piece int) (written int, err error) {
	for rest := content; rest != "" && err == nil; {
		n, failure := w.Write([]byte(rest[:min(piece, len(rest))]))
		written, rest, err = written+n, rest[n:], failure
	}
	return written, err
}

// TestWriter takes every span of a content that is written in pieces of every size.
func TestWriter(t *testing.T) {
	t.Parallel()
	compared := 0
	for piece := 1; piece <= len(content)+1; piece++ {
		for skip := 0; skip <= len(content)+1; skip++ {
			for length := -1; length <= len(content)+1; length++ {
				for _, last := range []bool{false, true} {
					compareSpan(t, piece, skip, length, last)
					compared++
				}
			}
		}
	}
	if want := 11 * 12 * 13 * 2; compared != want {
		t.Errorf("%d spans were compared, not %d", compared, want)
	}
}

func compareSpan(t *testing.T, piece, skip, length int, last bool) {
	t.Helper()
	start := min(skip, len(content))
	end := len(content)
	if length >= 0 {
		end = min(start+length, end)
	}
	var want error
	switch {
	case length == 0 && !last: // the first write completes it, wherever it is
		want = ErrEnd
	case length < 0 || skip+length > len(content):
	case !last:
		want = ErrEnd
	case skip+length < len(content):
		want = ErrLonger
	}
	var got bytes.Buffer
	w := &Writer{W: &got, Skip: int64(skip), Left: int64(length), Last: last}
	written, err := write(w, piece)
	whole := content[start:end]
	if !errors.Is(want, ErrLonger) && got.String() != whole || !bytes.HasPrefix([]byte(whole), got.Bytes()) {
		t.Errorf("bytes %d+%d in pieces of %d, last %v: %q passes, want %q", skip, length, piece, last, &got, whole)
	}
	empty := length == 0 && !last // the first write ends it
	if !empty && (w.Skip != int64(max(0, skip-written)) || length >= 0 && w.Left != int64(length-got.Len())) {
		t.Errorf("bytes %d+%d in pieces of %d, last %v: %d to skip and %d left after %d", skip, length, piece, last,
			w.Skip, w.Left, written)
	}
	if !errors.Is(err, want) {
		t.Errorf("bytes %d+%d in pieces of %d, last %v: %v, want %v", skip, length, piece, last, err, want)
	}
}

// short takes fewer bytes than it is given, with or without an error.
type short struct{ err error }

func (s short) Write(p []byte) (int, error) { return len(p) / 2, s.err }

// TestWriterCountsWhatItsWriterTook writes to one that fails.
func TestWriterCountsWhatItsWriterTook(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{nil, io.ErrClosedPipe} {
		want := failure
		if want == nil {
			want = io.ErrShortWrite
		}
		w := &Writer{W: short{failure}, Skip: 2, Left: 6}
		if n, err := w.Write([]byte(content)); n != 2+3 || !errors.Is(err, want) || w.Left != 3 {
			t.Errorf("%d bytes are counted, %d are left, %v; want 5, 3, %v", n, w.Left, err, want)
		}
	}
}

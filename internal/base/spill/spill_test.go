package spill_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/base/spill"
)

const memory = 1000

// fill writes size bytes in pieces, and returns them.
func fill(t *testing.T, f *spill.File, size, piece int) []byte {
	t.Helper()
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i % 251)
	}
	for rest := content; len(rest) > 0; {
		n := min(piece, len(rest))
		if m, err := f.Write(rest[:n]); m != n || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v", n, m, err)
		}
		rest = rest[n:]
	}
	return content
}

func TestBytesComeBack(t *testing.T) {
	t.Parallel()
	space := spill.NewSpace(t.TempDir(), 1<<20)
	for _, size := range []int{0, 1, memory - 1, memory, memory + 1, 5 * memory, 300_000} {
		for _, piece := range []int{1, memory / 3, memory, memory + 1, 100_000} {
			f := space.NewFile(memory)
			want := fill(t, f, size, piece)
			if f.Size() != int64(size) {
				t.Errorf("the size is %d, want %d", f.Size(), size)
			}
			if filed := space.Used() > 0; filed != (size > memory) {
				t.Errorf("%d bytes are in a file: %t", size, filed)
			}
			for range 2 {
				var got bytes.Buffer
				if n, err := f.WriteTo(&got); n != int64(size) || err != nil || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%d bytes in pieces of %d: %d came back, %v", size, piece, n, err)
				}
			}
			f.Close()
			f.Close()
			if space.Used() != 0 {
				t.Fatalf("%d bytes are used after Close", space.Used())
			}
		}
	}
}

func TestFilesAreReadAtAnyPosition(t *testing.T) {
	t.Parallel()
	f := spill.NewSpace(t.TempDir(), 1<<20).NewFile(0)
	defer f.Close()
	want := fill(t, f, 10_000, 700)
	part := make([]byte, 500)
	if _, err := f.ReadAt(part, 9_000); err != nil || !bytes.Equal(part, want[9_000:9_500]) {
		t.Errorf("other bytes, %v", err)
	}
	if _, err := f.ReadAt(part, 9_900); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("beyond the end: %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

func TestSpaceIsShared(t *testing.T) {
	t.Parallel()
	space := spill.NewSpace(t.TempDir(), 10_000)
	first, second := space.NewFile(0), space.NewFile(0)
	defer first.Close()
	defer second.Close()
	if err := first.Reserve(6_000); err != nil {
		t.Fatal(err)
	}
	fill(t, first, 6_000, 100) // it was reserved
	if err := second.Reserve(5_000); !errors.Is(err, spill.ErrFull) {
		t.Errorf("a reservation beyond the limit: %v, want %v", err, spill.ErrFull)
	}
	fill(t, second, 4_000, 100)
	if _, err := second.Write([]byte("x")); !errors.Is(err, spill.ErrFull) {
		t.Errorf("a byte beyond the limit: %v, want %v", err, spill.ErrFull)
	}
	first.Close()
	if _, err := second.Write([]byte("x")); err != nil {
		t.Errorf("a byte after another file was closed: %v", err)
	}
}

func TestFilesHaveNoNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := spill.NewSpace(dir, 1<<20).NewFile(0)
	defer f.Close()
	fill(t, f, 100, 100)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

func TestErrorsNameNoPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "missing")
	f := spill.NewSpace(dir, 1<<20).NewFile(0)
	defer f.Close()
	_, err := f.Write([]byte("x"))
	if err == nil || strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("a missing folder: %v", err)
	}
}

// failing is a writer.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestErrorsOfTheWriterStay(t *testing.T) {
	t.Parallel()
	f := spill.NewSpace(t.TempDir(), 1<<20).NewFile(0)
	defer f.Close()
	fill(t, f, 100, 100)
	if _, err := f.WriteTo(failing{io.ErrClosedPipe}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v, want %v", err, io.ErrClosedPipe)
	}
}

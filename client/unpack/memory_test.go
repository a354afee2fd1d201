package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/repomcp/repomcp/internal/gittest"
)

// mostHeap is what the package promises, of the heap as it is before a collection.
const mostHeap = 64 << 20

// TestMemoryIsBounded unpacks a large file and many small ones, which come from no
// memory either.
func TestMemoryIsBounded(t *testing.T) {
	gittest.Long(t)
	packers := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithWindowSize(maxWindow), zstd.WithEncoderConcurrency(1),
				zstd.WithLowerEncoderMem(true))
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	}
	for name, content := range map[string]func(*tar.Writer) error{
		"one large file": func(w *tar.Writer) error { return writeLarge(w, int64(gittest.Volume(64, 256))<<20) },
		"small files":    func(w *tar.Writer) error { return writeSmall(w, gittest.Volume(5_000, 100_000)) },
	} {
		for packer, pack := range packers {
			t.Run(name+" "+packer, func(t *testing.T) {
				r, w := io.Pipe()
				go func() {
					z := pack(w)
					out := tar.NewWriter(z)
					w.CloseWithError(errors.Join(content(out), out.Close(), z.Close()))
				}()
				p := newPlace(t)
				peak := peakHeap(t, func() {
					if _, err := New(p.root, Options{}).Tar(t.Context(), r); err != nil {
						t.Error(err)
					}
				})
				t.Logf("%d MiB", peak>>20)
				if peak > mostHeap {
					t.Errorf("%d MiB of the heap were in use", peak>>20)
				}
			})
		}
	}
}

// peakHeap is how far the heap grew meanwhile, with what was garbage already.
func peakHeap(t *testing.T, run func()) int64 {
	t.Helper()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, peak := make(chan bool), make(chan int64)
	go func() {
		most := int64(0)
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, int64(now.HeapAlloc)-int64(before.HeapAlloc))
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	run()
	close(stop)
	return <-peak
}

// writeLarge has blocks that a compressor makes a tenth of: no bomb.
func writeLarge(w *tar.Writer, size int64) error {
	err := w.WriteHeader(&tar.Header{Name: "large", Typeflag: tar.TypeReg, Size: size})
	noise, block := rand.NewChaCha8([32]byte{}), make([]byte, 1<<20)
	for left := size; left > 0 && err == nil; left -= int64(len(block)) {
		_, _ = noise.Read(block[:100_000]) // never fails
		_, err = w.Write(block)
	}
	return err
}

func writeSmall(w *tar.Writer, count int) error {
	for i := range count {
		content := strings.Repeat(fmt.Sprint(i, " "), 40)
		h := &tar.Header{Name: fmt.Sprintf("d%d/e/file %d.go", i/500, i), Typeflag: tar.TypeReg,
			Size: int64(len(content))}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.WriteString(w, content); err != nil {
			return err
		}
	}
	return nil
}

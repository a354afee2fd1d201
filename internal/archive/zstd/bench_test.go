package zstd

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/archive/workers"
)

// The benchmarks compress Go's own source tree, which whoever runs them has.

// sourceTar writes the source tree as a tar to a file, and returns its name.
func sourceTar(b *testing.B) string {
	b.Helper()
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), "src.tar")
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	tw := tar.NewWriter(f)
	if err := tw.AddFS(os.DirFS(filepath.Join(strings.TrimSpace(string(root)), "src"))); err != nil {
		b.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return name
}

// measure reports speed, memory and ratio of what compress does.
func measure(b *testing.B, data []byte, compress func(dst io.Writer, data []byte) error) {
	b.Helper()
	var size counter
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		if err := compress(&size, data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/float64(len(data)), "out/in")
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// pieces copies data in the sizes in which an archive arrives.
func pieces(dst io.WriteCloser, data []byte) error {
	if _, err := io.CopyBuffer(dst, onlyReader{bytes.NewReader(data)}, make([]byte, 32<<10)); err != nil {
		return err
	}
	return dst.Close()
}

type onlyReader struct{ io.Reader }

func BenchmarkCompress(b *testing.B) {
	data, err := os.ReadFile(sourceTar(b))
	if err != nil {
		b.Fatal(err)
	}
	for level := MinLevel; level <= 5; level++ {
		b.Run(fmt.Sprint(level), func(b *testing.B) {
			c := newCompressor(b, 0)
			measure(b, data, func(dst io.Writer, data []byte) error {
				zw, err := c.NewWriter(b.Context(), dst, level)
				if err != nil {
					return err
				}
				defer zw.Abort()
				return pieces(zw, data)
			})
		})
	}
}

// firstWrite notes when the first byte comes.
type firstWrite struct{ at time.Time }

func (f *firstWrite) Write(p []byte) (int, error) {
	if f.at.IsZero() {
		f.at = time.Now()
	}
	return len(p), nil
}

func BenchmarkFirstByte(b *testing.B) {
	c := newCompressor(b, 0)
	data := prose(1, ramp+BlockSize)
	var wait time.Duration
	for b.Loop() {
		var dst firstWrite
		start := time.Now()
		zw, err := c.NewWriter(b.Context(), &dst, DefaultLevel)
		if err != nil {
			b.Fatal(err)
		}
		if err := pieces(zw, data); err != nil {
			b.Fatal(err)
		}
		wait += dst.at.Sub(start)
	}
	b.ReportMetric(float64(wait.Microseconds())/float64(b.N), "µs/first-byte")
}

// BenchmarkMemory compresses the tree in many streams at once, from files and
// not from memory, and reports the most anonymous memory of the process.
func BenchmarkMemory(b *testing.B) {
	name := sourceTar(b)
	for _, streams := range []int{1, 50} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			s := workers.New(0)
			defer s.Close()
			c := New(s, Options{})
			var most int
			for b.Loop() {
				var all sync.WaitGroup
				for range streams {
					all.Go(func() {
						if err := compressFile(b.Context(), c, name); err != nil {
							b.Error(err)
						}
					})
				}
				done := make(chan struct{})
				go func() { all.Wait(); close(done) }()
				for running := true; running; {
					select {
					case <-done:
						running = false
					case <-time.After(10 * time.Millisecond):
						most = max(most, anonymous(b))
					}
				}
			}
			b.ReportMetric(float64(most)/1024, "MiB-anonymous")
		})
	}
}

func compressFile(ctx context.Context, c *Compressor, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	zw, err := c.NewWriter(ctx, io.Discard, DefaultLevel)
	if err != nil {
		return err
	}
	defer zw.Abort()
	if _, err := io.CopyBuffer(zw, onlyReader{f}, make([]byte, 32<<10)); err != nil {
		return err
	}
	return zw.Close()
}

// anonymous returns the process's anonymous memory in KiB, where Linux tells.
func anonymous(b *testing.B) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib
}

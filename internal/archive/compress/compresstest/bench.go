package compresstest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// SourceTar returns a tar of Go's own source tree, which every machine with benchmarks has.
func SourceTar(b *testing.B) []byte {
	b.Helper()
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	files := os.DirFS(filepath.Join(strings.TrimSpace(string(root)), "src"))
	if err := errors.Join(tw.AddFS(files), tw.Close()); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// MeasureSpeed reports speed, memory, ratio and the wait for the first byte of the streams that
// open starts.
func MeasureSpeed(b *testing.B, data []byte, open func(dst io.Writer) io.WriteCloser) {
	b.Helper()
	var dst sink
	var wait time.Duration
	piece := make([]byte, 32<<10) // as an archive arrives
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		dst = sink{}
		start := time.Now()
		zw := open(&dst)
		_, err := io.CopyBuffer(zw, struct{ io.Reader }{bytes.NewReader(data)}, piece)
		if err = errors.Join(err, zw.Close()); err != nil {
			b.Fatal(err)
		}
		wait += dst.first.Sub(start)
	}
	b.ReportMetric(float64(dst.bytes)/float64(len(data)), "out/in")
	b.ReportMetric(float64(wait.Microseconds())/float64(b.N), "µs/first-byte")
}

// sink counts the bytes, and notes when the first one arrives.
type sink struct {
	bytes int
	first time.Time
}

func (s *sink) Write(p []byte) (int, error) {
	if s.bytes == 0 {
		s.first = time.Now()
	}
	s.bytes += len(p)
	return len(p), nil
}

// BenchmarkLevels measures the speed at each level.
func (c *Codec) BenchmarkLevels(b *testing.B, data []byte) {
	for _, level := range c.Levels {
		b.Run(fmt.Sprint(level), func(b *testing.B) {
			compressor := c.Start(b, 0)
			MeasureSpeed(b, data, func(dst io.Writer) io.WriteCloser { return compressor.Open(dst, level) })
		})
	}
}

package compresstest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The benchmarks compress Go's own source tree, which whoever runs them has.

// SourceTar writes the source tree as a tar to a file, and returns its name.
func SourceTar(b *testing.B) string {
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

// MeasureSpeed reports speed, memory and ratio of the streams that open starts.
func MeasureSpeed(b *testing.B, data []byte, open func(dst io.Writer) io.WriteCloser) {
	b.Helper()
	var size counter
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		copyPieces(b, open(&size), bytes.NewReader(data))
	}
	b.ReportMetric(float64(size)/float64(len(data)), "out/in")
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// copyPieces copies in the sizes in which an archive arrives.
func copyPieces(b *testing.B, dst io.WriteCloser, src io.Reader) {
	if _, err := io.CopyBuffer(dst, struct{ io.Reader }{src}, make([]byte, 32<<10)); err != nil {
		b.Error(err)
	}
	if err := dst.Close(); err != nil {
		b.Error(err)
	}
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

// firstWrite notes when the first byte comes.
type firstWrite struct{ at time.Time }

func (f *firstWrite) Write(p []byte) (int, error) {
	if f.at.IsZero() {
		f.at = time.Now()
	}
	return len(p), nil
}

// BenchmarkFirstByte measures how long a stream's first byte takes.
func (c *Codec) BenchmarkFirstByte(b *testing.B) {
	compressor := c.Start(b, 0)
	data := Prose(1, c.Long)
	var wait time.Duration
	for b.Loop() {
		var dst firstWrite
		start := time.Now()
		copyPieces(b, compressor.Open(&dst, c.Default), bytes.NewReader(data))
		wait += dst.at.Sub(start)
	}
	b.ReportMetric(float64(wait.Microseconds())/float64(b.N), "µs/first-byte")
}

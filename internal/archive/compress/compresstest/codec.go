// Package compresstest has the tests that all compressors of archives must pass, and their inputs.
// It is imported by tests only.
//
// A compressor's package describes itself by a [Codec] and calls [Codec.Run]: content survives a
// round trip in any pieces and with any number of workers, the compressed bytes are always the
// same, and a failed stream never looks complete.
package compresstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/repomcp/repomcp/internal/base/workers"
)

// Writer is one stream of a compressor.
type Writer interface {
	io.WriteCloser
	// Store says whether the following input is compressed already.
	Store(stored bool) error
	Abort()
}

// Compressor starts streams at the levels of a [Codec].
type Compressor map[int]Start

// Start starts a stream to dst.
type Start func(ctx context.Context, dst io.Writer) Writer

// Command decodes its standard input, or only checks whether it is complete.
type Command struct {
	Name         string
	Decode, Test []string // arguments
}

// Codec is a compressor under test with its expected properties. Sizes are in bytes of input.
type Codec struct {
	// New makes a compressor of a level on a scheduler.
	New func(s *workers.Scheduler, level int) (Start, error)
	// Decode returns the content of one complete stream, and fails for any other input.
	Decode func(stream []byte) ([]byte, error)
	// Commands are the usual programs for the format, if they are installed.
	Commands []Command

	Levels  []int // with different output, in ascending order
	Default int   // level

	Sample     func(size int) []byte // returns size bytes at least
	Sizes      []int                 // around boundaries of blocks
	FirstBlock int
	Several    int // enough for a few blocks of different sizes, with some bytes in the last
	Long       int // the same for blocks of all sizes

	// Stores says that input which is compressed already stays as it is.
	Stores bool

	ErrClosed  error
	GoldenSize int
	// Golden are the digests of the sample of GoldenSize at each level: the
	// first half of SHA-256, in hex.
	Golden map[int]string
}

// Start returns the compressor on n workers, which end with the test.
func (c *Codec) Start(t testing.TB, n int) Compressor {
	t.Helper()
	s := workers.New(n)
	t.Cleanup(s.Close)
	all := make(Compressor)
	for _, level := range c.Levels {
		start, err := c.New(s, level)
		if err != nil {
			t.Fatal(err)
		}
		all[level] = start
	}
	return all
}

// Open starts a stream that cannot be cancelled.
func (c Compressor) Open(dst io.Writer, level int) Writer { return c[level](context.Background(), dst) }

// Compress returns the stream of data, written in pieces of at most step bytes.
func (c Compressor) Compress(t testing.TB, level, step int, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := c.Open(&out, level)
	defer zw.Abort()
	for len(data) > 0 {
		n := min(step, len(data))
		if m, err := zw.Write(data[:n]); m != n || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v", n, m, err)
		}
		data = data[n:]
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// MustDecode returns the content of a stream, and fails the test without one.
func (c *Codec) MustDecode(t testing.TB, stream []byte) []byte {
	t.Helper()
	data, err := c.Decode(stream)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// looksComplete names a reader that takes p for a complete stream; "" is none.
func (c *Codec) looksComplete(t testing.TB, p []byte) string {
	t.Helper()
	if _, err := c.Decode(p); err == nil {
		return "the library"
	}
	for _, command := range c.Commands {
		if command.missing() {
			continue
		}
		if _, err := command.filter(t, command.Test, p); err == nil {
			return command.Name
		}
	}
	return ""
}

// missing reports whether a command is not installed, or must not be used: under -short none is.
func (c *Command) missing() bool {
	_, err := exec.LookPath(c.Name)
	return err != nil || testing.Short()
}

// filter returns the command's output for an input, including errors.
func (c *Command) filter(t testing.TB, args []string, input []byte) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Name, args...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%v: %w: %.200s", cmd.Args, err, out)
	}
	return out, nil
}

package zstd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newCompressor returns one on n workers, which end with the test.
func newCompressor(t testing.TB, n int) *Compressor {
	t.Helper()
	s := workers.New(n)
	t.Cleanup(s.Close)
	return New(s, Options{})
}

// compress writes data in pieces of at most step bytes.
func compress(t testing.TB, c *Compressor, level, step int, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zw, err := c.NewWriter(context.Background(), &out, level)
	if err != nil {
		t.Fatal(err)
	}
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

func decompress(t testing.TB, p []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := d.DecodeAll(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// boundaries returns sizes around every kind of block boundary, of the library
// too.
func boundaries() []int {
	sizes := []int{0, 1, 15, 16, 255, 256, 257, 1023, 1024, 1025, 65535, 65536, 65791, 65792}
	for _, n := range []int{firstSize, 3 * firstSize, ramp, ramp + BlockSize} {
		sizes = append(sizes, n-1, n, n+1)
	}
	return sizes
}

func TestRoundTrip(t *testing.T) {
	c := newCompressor(t, 2)
	whole := mixture(ramp + BlockSize + 1)
	for _, level := range []int{MinLevel, DefaultLevel, MaxLevel} {
		for _, n := range boundaries() {
			if got := decompress(t, compress(t, c, level, 1<<20, whole[:n])); !bytes.Equal(got, whole[:n]) {
				t.Fatalf("level %d: %d bytes came back as %d others", level, n, len(got))
			}
		}
	}
}

// Every frame says its size and has a checksum, and the sizes are those of the
// blocks.
func TestFrames(t *testing.T) {
	c := newCompressor(t, 2)
	data := mixture(ramp + BlockSize + 100)[:ramp+BlockSize+100]
	out := compress(t, c, DefaultLevel, 1<<20, data)
	for number := 0; len(out) > 0; number++ {
		var h zstd.Header
		if err := h.Decode(out); err != nil {
			t.Fatal(err)
		}
		want := min(sizeAt(number), len(data))
		if !h.HasFCS || int(h.FrameContentSize) != want || !h.HasCheckSum || h.DictionaryID != 0 || h.WindowSize > BlockSize {
			t.Errorf("frame %d of %d bytes: %+v", number, want, h)
		}
		frame := frameLength(t, out, h.HeaderSize)
		if got := decompress(t, out[:frame]); !bytes.Equal(got, data[:want]) {
			t.Errorf("frame %d: other bytes", number)
		}
		data, out = data[want:], out[frame:]
	}
	if len(data) > 0 {
		t.Errorf("%d bytes have no frame", len(data))
	}
}

// frameLength walks a frame's blocks (RFC 8878, section 3.1.1.2).
func frameLength(t *testing.T, p []byte, at int) int {
	t.Helper()
	for {
		if at+3 > len(p) {
			t.Fatal("a frame without end")
		}
		h := int(p[at]) | int(p[at+1])<<8 | int(p[at+2])<<16
		at += 3
		if h>>1&3 == 1 { // one byte repeated
			at++
		} else {
			at += h >> 3
		}
		if h&1 == 1 {
			return at + 4
		}
	}
}

func TestNoiseGrowsLittle(t *testing.T) {
	c := newCompressor(t, 2)
	data := noise(1, ramp+BlockSize)
	for _, level := range []int{1, 2, 3, 9} {
		out := compress(t, c, level, 1<<20, data)
		if !bytes.Equal(decompress(t, out), data) {
			t.Fatalf("level %d: other bytes", level)
		}
		if limit := len(data) + len(data)/1000; len(out) > limit {
			t.Errorf("level %d: %d bytes of noise became %d", level, len(data), len(out))
		}
	}
	for effort := fast; effort < efforts; effort++ {
		frame, err := newEncoder(new(libraries)).frame(effort, data[:BlockSize])
		if err != nil || len(frame) > BlockSize+overhead {
			t.Errorf("%v: %d bytes do not fit into a block, %v", effort, len(frame), err)
		}
	}
}

func TestRealDecoder(t *testing.T) {
	path, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("no zstd on the PATH")
	}
	c := newCompressor(t, 2)
	for _, n := range []int{0, 1, firstSize, ramp, ramp + BlockSize + 1} {
		data := mixture(n)[:n]
		out := compress(t, c, DefaultLevel, 1<<20, data)
		cmd := exec.CommandContext(t.Context(), path, "-dcq", "--memory=8MB")
		cmd.Stdin = bytes.NewReader(out)
		if got, err := cmd.Output(); err != nil || !bytes.Equal(got, data) {
			t.Errorf("zstd -dc of %d bytes: %d bytes, %v", n, len(got), err)
		}
		test := exec.CommandContext(t.Context(), path, "-tq")
		test.Stdin = bytes.NewReader(out)
		if out, err := test.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("zstd -t of %d bytes: %s, %v", n, out, err)
		}
	}
}

// Wherever a stream that failed can end, no reader takes it for complete: it
// ends where a write ended.
func TestTruncatedAtEachWrite(t *testing.T) {
	path, lookErr := exec.LookPath("zstd")
	c := newCompressor(t, 2)
	data := prose(1, 5*firstSize)
	complete := compress(t, c, MinLevel, 1<<20, data)
	for left := 0; ; left++ {
		dst := &failing{left: left}
		zw, err := c.NewWriter(context.Background(), dst, MinLevel)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = zw.Write(data)
		if err := zw.Close(); err == nil {
			if !bytes.Equal(dst.Bytes(), complete) || left < 4 {
				t.Errorf("complete after %d writes", left)
			}
			return
		}
		if !truncated(dst.Bytes()) {
			t.Errorf("after %d writes the stream looks complete to the library", left)
		}
		if lookErr == nil {
			cmd := exec.CommandContext(t.Context(), path, "-tq")
			cmd.Stdin = bytes.NewReader(dst.Bytes())
			if err := cmd.Run(); err == nil {
				t.Errorf("after %d writes the stream looks complete to zstd", left)
			}
		}
	}
}

func TestLevelsOutsideAreRefused(t *testing.T) {
	c := newCompressor(t, 1)
	for _, level := range []int{-1, 0, 10} {
		if _, err := c.NewWriter(context.Background(), io.Discard, level); err == nil {
			t.Errorf("level %d was accepted", level)
		}
	}
}

func TestHigherLevelsAreSmaller(t *testing.T) {
	c := newCompressor(t, 2)
	data := prose(3, ramp+BlockSize)
	last := len(data)
	for _, level := range []int{1, 2, 3} {
		n := len(compress(t, c, level, 1<<20, data))
		if n >= last {
			t.Errorf("level %d: %d bytes, not below %d", level, n, last)
		}
		last = n
	}
}

// golden are the digests of mixture at EncoderVersion. Whoever changes them
// changes EncoderVersion too, or resumed downloads and caches mix two streams.
var golden = map[string]map[int]string{
	"zs3": {
		1: "1a62736bc83e65b28a042406ac585f91",
		2: "44de7ac40c2cb6d045b60ae6c09a7865",
		3: "e07a045b6e81c38a0cf2d34fd9c59a9e",
		4: "d94abc4f0267e9719c5b9fef8c266056",
		5: "f846cb7b856d25dfb62734d609a6df1a",
	},
}

func TestGolden(t *testing.T) {
	c := newCompressor(t, 2)
	data := mixture(ramp + 2*BlockSize + BlockSize/2) // blocks of both efforts
	for level := MinLevel; level <= MaxLevel; level++ {
		if level > 5 {
			if turns[level] != turns[5] {
				t.Errorf("level %d is not that of 5", level)
			}
			continue
		}
		sum := sha256.Sum256(compress(t, c, level, 1<<20, data))
		if got := hex.EncodeToString(sum[:16]); got != golden[EncoderVersion][level] {
			t.Errorf("%s: level %d: digest %q, want %q", EncoderVersion, level, got, golden[EncoderVersion][level])
		}
	}
}

func TestSameBytes_ForAnyWritesAndWorkers(t *testing.T) {
	data := mixture(ramp + BlockSize + 12345)
	want := compress(t, newCompressor(t, 1), DefaultLevel, len(data), data)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2} {
		runtime.GOMAXPROCS(procs)
		for _, n := range []int{1, 8} {
			c := newCompressor(t, n)
			for _, step := range []int{511, 65537} {
				if !bytes.Equal(compress(t, c, DefaultLevel, step, data), want) {
					t.Errorf("%d processors, %d workers, writes of %d: other bytes", procs, n, step)
				}
			}
		}
	}
}

// What an encoder did before, for another stream, must leave no trace.
func TestSameBytes_WhateverTheWorkerDidBefore(t *testing.T) {
	blocks := [][]byte{
		prose(1, 1_000_000), noise(2, 70_000), make([]byte, 100_000), prose(3, 65535), prose(4, 100), {},
		mixture(1)[100_000:300_000], mixture(BlockSize)[:BlockSize], prose(1, 900_000),
	}
	r := rand.New(rand.NewPCG(5, 5))
	for effort := fast; effort < efforts; effort++ {
		want := make([][]byte, len(blocks))
		for i, data := range blocks {
			frame, err := newEncoder(new(libraries)).frame(effort, data)
			if err != nil {
				t.Fatal(err)
			}
			want[i] = bytes.Clone(frame)
		}
		used := newEncoder(new(libraries))
		for range 40 {
			i := r.IntN(len(blocks))
			got, err := used.frame(effort, blocks[i])
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want[i]) {
				t.Fatalf("%v: a used encoder differs from a new one", effort)
			}
		}
	}
}

func TestSameBytes_AfterTheEncoderWasReplaced(t *testing.T) {
	data := prose(1, 300_000)
	frame, err := newEncoder(new(libraries)).frame(better, data)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(frame)
	e := newEncoder(new(libraries))
	for _, moved := range []int{0, maxMoved - 1, maxMoved} {
		var before *library
		if used := e.libs.free[better]; len(used) > 0 {
			before = used[0]
			before.moved = moved
		}
		got, err := e.frame(better, data)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes after %d bytes, %v", moved, err)
		}
		if replaced := e.libs.free[better][0] != before; replaced != (moved != maxMoved-1) {
			t.Errorf("after %d bytes the encoder was replaced: %v", moved, replaced)
		}
	}
}

func TestNothingIsAnEmptyFrame(t *testing.T) {
	out := compress(t, newCompressor(t, 1), DefaultLevel, 1, nil)
	if got, want := hex.EncodeToString(out), "28b52ffd"+"2000"+"010000"; got != want {
		t.Errorf("empty stream: %s", got)
	}
}

func FuzzRoundTrip(f *testing.F) {
	s := workers.New(2)
	f.Cleanup(s.Close)
	c := New(s, Options{})
	f.Add([]byte("hello"), uint64(1), uint8(1), uint16(3))
	f.Add(noise(1, 100), uint64(2), uint8(6), uint16(900))
	f.Add([]byte{}, uint64(3), uint8(9), uint16(0))
	f.Fuzz(func(t *testing.T, seed []byte, splits uint64, level uint8, repeat uint16) {
		effort := MinLevel + int(level)%MaxLevel
		data := bytes.Clone(seed)
		for i := 0; i < int(repeat) && len(data) < 4*firstSize; i++ { // into the third block
			data = append(data, seed...)
			data = fmt.Append(data, i)
		}
		want := compress(t, c, effort, max(len(data), 1), data)
		if !bytes.Equal(decompress(t, want), data) {
			t.Fatal("other bytes came back")
		}
		r := rand.New(rand.NewPCG(splits, 0))
		var out bytes.Buffer
		zw, err := c.NewWriter(t.Context(), &out, effort)
		if err != nil {
			t.Fatal(err)
		}
		defer zw.Abort()
		for len(data) > 0 {
			n := min(r.IntN(1<<r.IntN(18)), len(data))
			if _, err := zw.Write(data[:n]); err != nil {
				t.Fatal(err)
			}
			data = data[n:]
		}
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Fatal("the sizes of the writes show in the output")
		}
	})
}

package gzip

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"testing"

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

// decompress checks that p is exactly one member.
func decompress(t testing.TB, p []byte) []byte {
	t.Helper()
	in := bytes.NewReader(p)
	zr, err := stdgzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	zr.Multistream(false)
	data, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	if in.Len() != 0 {
		t.Fatalf("%d bytes after the member", in.Len())
	}
	return data
}

// boundaries returns sizes around every kind of block boundary.
func boundaries() []int {
	sizes := []int{0, 1, 2, 31, 33, 127, 128}
	for _, n := range []int{
		16 << 10, 16<<10 + libraryBlock, windowSize, ramp,
		ramp + BlockSize, ramp + 2*BlockSize, BlockSize, 2 * BlockSize,
	} {
		sizes = append(sizes, n-1, n, n+1)
	}
	return sizes
}

func TestRoundTrip(t *testing.T) {
	c := newCompressor(t, 2)
	whole := mixture(ramp + 2*BlockSize + 1)
	for _, level := range []int{MinLevel, DefaultLevel} {
		for _, n := range boundaries() {
			data := whole[:n]
			if got := decompress(t, compress(t, c, level, 1<<20, data)); !bytes.Equal(got, data) {
				t.Fatalf("level %d: %d bytes came back as %d others", level, n, len(got))
			}
		}
	}
}

func TestNoiseGrowsLittle(t *testing.T) {
	c := newCompressor(t, 2)
	data := noise(1, ramp+3*BlockSize)
	for level := MinLevel; level <= MaxLevel; level++ {
		out := compress(t, c, level, 1<<20, data)
		if !bytes.Equal(decompress(t, out), data) {
			t.Fatalf("level %d: other bytes", level)
		}
		// A stored block has 5 bytes of header for at most 64 KiB.
		if limit := len(data) + len(data)/1000; len(out) > limit {
			t.Errorf("level %d: %d bytes of noise became %d", level, len(data), len(out))
		}
	}
}

func TestRealDecoders(t *testing.T) {
	c := newCompressor(t, 2)
	for _, tool := range []string{"gzip", "pigz"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			if tool == "gzip" {
				t.Fatal(err)
			}
			t.Logf("no %s on the PATH", tool)
			continue
		}
		for _, n := range []int{0, 1, ramp, ramp + BlockSize + 1} {
			data := mixture(n)[:n]
			cmd := exec.CommandContext(t.Context(), path, "-dc")
			cmd.Stdin = bytes.NewReader(compress(t, c, DefaultLevel, 1<<20, data))
			got, err := cmd.Output()
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s -dc of %d bytes: %d bytes, %v", tool, n, len(got), err)
			}
			test := exec.CommandContext(t.Context(), path, "-t")
			test.Stdin = bytes.NewReader(compress(t, c, DefaultLevel, 1<<20, data))
			if out, err := test.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s -t of %d bytes: %s, %v", tool, n, out, err)
			}
		}
	}
}

func TestHeader(t *testing.T) {
	c := newCompressor(t, 1)
	for level, effort := range map[int]byte{1: 4, 2: 0, 6: 0, 8: 0, 9: 2} {
		want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, effort, 3}
		for _, n := range []int{0, 10} {
			if got := compress(t, c, level, 1, make([]byte, n)); !bytes.HasPrefix(got, want) {
				t.Errorf("level %d: header % x", level, got[:len(want)])
			}
		}
	}
	if got, want := hex.EncodeToString(compress(t, c, 6, 1, nil)), "1f8b0800000000000003"+"0300"+"0000000000000000"; got != want {
		t.Errorf("empty stream: %s", got)
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

// golden are the digests of mixture at EncoderVersion. Whoever changes them
// changes EncoderVersion too, or resumed downloads and caches mix two streams.
var golden = map[string]map[int]string{
	"gz1": {
		1: "f0eae2237c3422cf0772c40bcfd3a232",
		2: "fb7e6911f6cf2a98ee1cca9d5486302b",
		3: "53b01347b15681a8423d9bf12f65c513",
		4: "bcad40c995e8fbcaabe7cf63ef07683b",
		5: "241d2adf3e303868ff7c2360166647d1",
		6: "c26a44afc38edd69ef029f4479879216",
		7: "066a12bccc691843584ba70817823ab2",
		8: "1ba6681eba1be16bbba957a30fda9560",
		9: "c3c4fb2336c8feaa0256a955c16c549f",
	},
}

func TestGolden(t *testing.T) {
	c := newCompressor(t, 2)
	data := mixture(ramp + 2*BlockSize + BlockSize/2)
	for level := MinLevel; level <= MaxLevel; level++ {
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
		for _, n := range []int{1, 2, 8} {
			c := newCompressor(t, n)
			for _, step := range []int{511, 16 << 10, 65537, BlockSize} {
				if !bytes.Equal(compress(t, c, DefaultLevel, step, data), want) {
					t.Errorf("%d processors, %d workers, writes of %d: other bytes", procs, n, step)
				}
			}
		}
	}
}

// What a compressor did before, for another stream, must leave no trace.
func TestSameBytes_WhateverTheWorkerDidBefore(t *testing.T) {
	blocks := [][]byte{prose(1, 100_000), noise(2, 70_000), make([]byte, 100_000), prose(3, 65535), prose(4, 100), {}, mixture(1)[100_000:300_000]}
	r := rand.New(rand.NewPCG(5, 5))
	for _, level := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9} {
		used := newDeflater(level)
		for range 10 {
			data, before := blocks[r.IntN(len(blocks))], blocks[r.IntN(len(blocks))]
			dictionary := before[:min(len(before), windowSize)]
			want, err := newDeflater(level).deflate(dictionary, data)
			if err != nil {
				t.Fatal(err)
			}
			got, err := used.deflate(dictionary, data)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("level %d: a used compressor differs from a new one", level)
			}
		}
	}
}

func TestSameBytes_AfterTheCompressorWasReplaced(t *testing.T) {
	d := newDeflater(DefaultLevel)
	data := prose(1, 3000)
	want, err := newDeflater(DefaultLevel).deflate(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.Clone(want)
	for _, moved := range []int{0, maxMoved - 1, maxMoved} {
		before := d.fw
		d.moved = moved
		got, err := d.deflate(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("other bytes after %d bytes", moved)
		}
		if replaced := d.fw != before; replaced != (moved != maxMoved-1) {
			t.Errorf("after %d bytes the compressor was replaced: %v", moved, replaced)
		}
	}
}

// The dictionary must be in use at every level, or each block starts from
// nothing.
func TestBlocksReferToTheOneBefore(t *testing.T) {
	secret := noise(9, 16<<10)
	for level := MinLevel; level <= MaxLevel; level++ {
		d := newDeflater(level)
		out, err := d.deflate(secret, secret)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) > len(secret)/4 {
			t.Errorf("level %d: a repetition of the dictionary takes %d of %d bytes", level, len(out), len(secret))
		}
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
		for i := 0; i < int(repeat) && len(data) < ramp+libraryBlock; i++ { // past the small blocks
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

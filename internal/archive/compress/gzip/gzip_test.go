package gzip

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/archive/compress/compresstest"
	"github.com/repomcp/repomcp/internal/base/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ramp is where the first block of full size begins.
const ramp = 16<<10 + libraryBlock + 4*libraryBlock

// codec says what the tests of all compressors expect of this one.
var codec = compresstest.Codec{
	New: func(s *workers.Scheduler, level int) (compresstest.Start, error) {
		c, err := New(s, level)
		return starter(c), err
	},
	Decode: decode,
	Commands: []compresstest.Command{
		{Name: "gzip", Decode: []string{"-dc"}, Test: []string{"-t"}},
		{Name: "pigz", Decode: []string{"-dc"}, Test: []string{"-t"}},
	},
	Levels:     []int{1, 2, 3, 4, 5, 6, 7, 8, 9},
	Default:    DefaultLevel,
	Sample:     mixture,
	Sizes:      boundaries(),
	FirstBlock: 16 << 10,
	Several:    ramp + BlockSize + 12345,
	Long:       ramp + 2*BlockSize + 12345,
	ErrClosed:  blocks.ErrClosed,
	Stores:     true,
	GoldenSize: ramp + 2*BlockSize + BlockSize/2,
	Golden:     golden[EncoderVersion],
}

func TestCodec(t *testing.T)                         { codec.Run(t) }
func TestLevelsOutsideAreRefused(t *testing.T)       { codec.CheckRefused(t, -1, 10) }
func TestSteadyStream_AllocatesNothing(t *testing.T) { codec.CheckAllocations(t, BlockSize) }
func FuzzRoundTrip(f *testing.F)                     { codec.Fuzz(f, ramp+libraryBlock) } // past the small blocks

func TestWorkerPanics_StreamFails(t *testing.T) {
	c := newCompressor(t, 1)
	c.deflaters = workers.NewSlot(func() *deflater { panic("damaged") })
	compresstest.CheckPanic(t, starter(c))
}

func starter(c *Compressor) compresstest.Start {
	return func(ctx context.Context, dst io.Writer) compresstest.Writer { return c.NewWriter(ctx, dst) }
}

// newCompressor returns one of the default level on n workers, which end with the test.
func newCompressor(t testing.TB, n int) *Compressor {
	t.Helper()
	s := workers.New(n)
	t.Cleanup(s.Close)
	c, err := New(s, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mixture(n int) []byte { return compresstest.Mixture(n, windowSize) }

// decode returns the content of exactly one member.
func decode(p []byte) ([]byte, error) {
	in := bytes.NewReader(p)
	zr, err := stdgzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	zr.Multistream(false)
	data, err := io.ReadAll(zr)
	if err == nil && in.Len() != 0 {
		err = fmt.Errorf("%d bytes after the member", in.Len())
	}
	return data, err
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

func TestHeader(t *testing.T) {
	c := codec.Start(t, 1)
	for level, effort := range map[int]byte{1: 4, 2: 0, 6: 0, 8: 0, 9: 2} {
		want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, effort, 3}
		for _, n := range []int{0, 10} {
			if got := c.Compress(t, level, 1, make([]byte, n)); !bytes.HasPrefix(got, want) {
				t.Errorf("level %d: header % x", level, got[:len(want)])
			}
		}
	}
	if got, want := hex.EncodeToString(c.Compress(t, 6, 1, nil)), "1f8b0800000000000003"+"0300"+
		"0000000000000000"; got != want {
		t.Errorf("empty stream: %s", got)
	}
}

// golden are the digests of mixture at EncoderVersion. A change of them
// requires a new EncoderVersion: otherwise resumed downloads and caches mix two streams.
var golden = map[string]map[int]string{
	"gz2": {
		1: "7c8c888a116fa7a7d7e4a338f8548868",
		2: "bfc36a025b11161e7317ef8576c0352a",
		3: "c77fcf2ac8bcef7cc3dba9a7d9ff6651",
		4: "cb519ed4740d8136b57ebc5a97e34b1d",
		5: "9d6b68982a063bd6e4144f9f874a1eb8",
		6: "05103b52da278300532d47417cd8dad4",
		7: "1a9288ddd34c69b2302d0eaedb92affd",
		8: "db243a47fd44ebe262d68cf6e01c9607",
		9: "d06d1a7488d166e7e4a153a795ce464d",
	},
}

// What a compressor did before, for another stream, must leave no trace.
func TestSameBytes_WhateverTheWorkerDidBefore(t *testing.T) {
	blocks := [][]byte{compresstest.Prose(1, 100_000), compresstest.Noise(2, 70_000), make([]byte, 100_000),
		compresstest.Prose(3, 65535), compresstest.Prose(4, 100), {}, mixture(1)[100_000:300_000]}
	r := rand.New(rand.NewPCG(5, 5))
	for _, level := range []int{Stored, 1, 2, 3, 4, 5, 6, 7, 8, 9} {
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
	data := compresstest.Prose(1, 3000)
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
	secret := compresstest.Noise(9, 16<<10)
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

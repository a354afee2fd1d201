package zstd

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/archive/compress/compresstest"
	"github.com/repomcp/repomcp/internal/base/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ramp is where the first block of full size begins.
const ramp = BlockSize - firstSize

// codec says what the tests of all compressors expect of this one.
var codec = compresstest.Codec{
	New: func(s *workers.Scheduler, level int) (compresstest.Start, error) {
		c, err := New(s, level)
		return starter(c), err
	},
	Decode:     decode,
	Commands:   []compresstest.Command{{Name: "zstd", Decode: []string{"-dcq", "--memory=8MB"}, Test: []string{"-tq"}}},
	Levels:     []int{MinLevel, DefaultLevel, MaxLevel}, // the others are as one of these
	Default:    DefaultLevel,
	Sample:     mixture,
	Sizes:      boundaries(),
	FirstBlock: firstSize,
	Several:    (1+2+4+8)*firstSize + 12345,
	Long:       ramp + BlockSize + 12345,
	ErrClosed:  blocks.ErrClosed,
	Stores:     true,
	GoldenSize: ramp + 2*BlockSize + BlockSize/2,
	Golden:     golden[EncoderVersion],
}

func TestCodec(t *testing.T)                         { codec.Run(t) }
func TestLevelsOutsideAreRefused(t *testing.T)       { codec.CheckRefused(t, -1, 0, 10) }
func TestSteadyStream_AllocatesNothing(t *testing.T) { codec.CheckAllocations(t, BlockSize) }
func FuzzRoundTrip(f *testing.F)                     { codec.Fuzz(f, 4*firstSize) } // into the third block

func TestWorkerPanics_StreamFails(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c, err := New(s, MinLevel)
	if err != nil {
		t.Fatal(err)
	}
	c.encoders = workers.NewSlot(func() *encoder { panic("damaged") })
	compresstest.CheckPanic(t, starter(c))
}

func starter(c *Compressor) compresstest.Start {
	return func(ctx context.Context, dst io.Writer) compresstest.Writer { return c.NewWriter(ctx, dst) }
}

func mixture(n int) []byte { return compresstest.Mixture(n, 30_000) }

// decode returns the content of all frames. Nothing is no stream, as to the
// zstd command.
func decode(p []byte) ([]byte, error) {
	if len(p) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	d, err := zstd.NewReader(bytes.NewReader(p), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return io.ReadAll(d)
}

// boundaries returns sizes around every kind of block boundary, of the library
// too.
func boundaries() []int {
	sizes := []int{0, 1, 15, 16, 255, 256, 257, 1023, 1024, 1025, 65535, 65536, 65791, 65792}
	for _, n := range []int{firstSize, 3 * firstSize, ramp} {
		sizes = append(sizes, n-1, n, n+1)
	}
	return append(sizes, ramp+BlockSize, ramp+BlockSize+1)
}

// Every frame says its size and has a checksum, and the sizes are those of the
// blocks.
func TestFrames(t *testing.T) {
	c := codec.Start(t, 2)
	data := mixture(ramp + BlockSize + 100)[:ramp+BlockSize+100]
	out := c.Compress(t, DefaultLevel, 1<<20, data)
	for number := 0; len(out) > 0; number++ {
		var h zstd.Header
		if err := h.Decode(out); err != nil {
			t.Fatal(err)
		}
		want := min(sizeAt(number), len(data))
		if !h.HasFCS || int(h.FrameContentSize) != want || !h.HasCheckSum || h.DictionaryID != 0 ||
			h.WindowSize > BlockSize {
			t.Errorf("frame %d of %d bytes: %+v", number, want, h)
		}
		frame := frameLength(t, out, h.HeaderSize)
		if got := codec.MustDecode(t, out[:frame]); !bytes.Equal(got, data[:want]) {
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

func TestHigherLevelsAreSmaller(t *testing.T) {
	c := codec.Start(t, 2)
	data := compresstest.Prose(3, ramp+BlockSize)
	last := len(data)
	for _, level := range []int{MinLevel, DefaultLevel, MaxLevel} {
		n := len(c.Compress(t, level, 1<<20, data))
		if n >= last {
			t.Errorf("level %d: %d bytes, not below %d", level, n, last)
		}
		last = n
	}
}

// golden are the digests of mixture at EncoderVersion. A change of them
// requires a new EncoderVersion: otherwise resumed downloads and caches mix two streams.
var golden = map[string]map[int]string{
	"zs4": {
		MinLevel:     "60a24b2a63c542ca75f7b4eb4a077de5",
		DefaultLevel: "f645f039337a5bef0ac589e77776532c",
		MaxLevel:     "ed90c88b67db9e0b67db3422126de1fa",
	},
}

func TestLevelsAreThreeSteps(t *testing.T) {
	for level := MinLevel; level <= MaxLevel; level++ {
		same := DefaultLevel
		switch {
		case level < DefaultLevel:
			same = MinLevel
		case level > DefaultLevel:
			same = MaxLevel
		}
		if effortOf(level) != effortOf(same) {
			t.Errorf("level %d is %v, want that of %d, %v", level, effortOf(level), same, effortOf(same))
		}
	}
}

// allEfforts are those of all levels.
var allEfforts = []zstd.EncoderLevel{fast, plain, better}

func TestNoiseFitsIntoItsBlock(t *testing.T) {
	data := compresstest.Noise(1, BlockSize)
	for _, effort := range allEfforts {
		frame, err := newEncoder(effort).frame(data)
		if err != nil || len(frame) > BlockSize+overhead {
			t.Errorf("%v: %d bytes do not fit into a block, %v", effort, len(frame), err)
		}
	}
}

// What an encoder did before, for another stream, must leave no trace.
func TestSameBytes_WhateverTheWorkerDidBefore(t *testing.T) {
	blocks := [][]byte{
		compresstest.Prose(1, 1_000_000), compresstest.Noise(2, 70_000), make([]byte, 100_000),
		compresstest.Prose(3, 65535), compresstest.Prose(4, 100), {},
		mixture(1)[100_000:300_000], compresstest.Prose(1, 900_000), mixture(BlockSize)[:BlockSize],
	}
	r := rand.New(rand.NewPCG(5, 5))
	for _, effort := range allEfforts {
		want := make([][]byte, len(blocks))
		for i, data := range blocks {
			frame, err := newEncoder(effort).frame(data)
			if err != nil {
				t.Fatal(err)
			}
			want[i] = bytes.Clone(frame)
		}
		used := newEncoder(effort)
		for round := range 16 {
			i := r.IntN(len(blocks) - 1)
			if round%8 == 3 {
				i = len(blocks) - 1 // takes long
			}
			got, err := used.frame(blocks[i])
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
	data := compresstest.Prose(1, 300_000)
	frame, err := newEncoder(better).frame(data)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(frame)
	e := newEncoder(better)
	for _, moved := range []int{0, maxMoved - 1, maxMoved} {
		before := e.library
		e.moved = moved
		got, err := e.frame(data)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes after %d bytes, %v", moved, err)
		}
		if replaced := e.library != before; replaced != (moved != maxMoved-1) {
			t.Errorf("after %d bytes the encoder was replaced: %v", moved, replaced)
		}
	}
}

func TestNothingIsAnEmptyFrame(t *testing.T) {
	out := codec.Start(t, 1).Compress(t, DefaultLevel, 1, nil)
	if got, want := hex.EncodeToString(out), "28b52ffd"+"2000"+"010000"; got != want {
		t.Errorf("empty stream: %s", got)
	}
}

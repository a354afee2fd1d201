package compresstest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/base/workers"
)

// Run runs all tests of the package on a compressor.
func (c *Codec) Run(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"RoundTrip", c.testRoundTrip},
		{"NoiseGrowsLittle", c.testNoise},
		{"RealDecoders", c.testRealDecoders},
		{"Golden", c.testGolden},
		{"SameBytes", c.testSameBytes},
		{"Stored", c.testStored},
		{"DestinationFails", c.testDestinationFails},
		{"Abort", c.testAbort},
		{"Cancel", c.testCancel},
	} {
		t.Run(test.name, test.run)
	}
}

func (c *Codec) testRoundTrip(t *testing.T) {
	compressor := c.Start(t, 2)
	whole := c.Sample(slices.Max(c.Sizes))
	for _, level := range slices.Compact([]int{c.Levels[0], c.Default, c.Levels[len(c.Levels)-1]}) {
		for _, n := range c.Sizes {
			if n > c.Several && level != c.Default {
				continue // it takes long, and blocks of full size end like others
			}
			stream := compressor.Compress(t, level, 1<<20, whole[:n])
			if got := c.MustDecode(t, stream); !bytes.Equal(got, whole[:n]) {
				t.Fatalf("level %d: %d bytes came back as %d others", level, n, len(got))
			}
		}
	}
}

func (c *Codec) testNoise(t *testing.T) {
	compressor := c.Start(t, 2)
	whole := Noise(1, c.Long)
	for _, level := range c.Levels {
		data := whole
		if level != c.Default {
			data = whole[:c.Several]
		}
		stream := compressor.Compress(t, level, 1<<20, data)
		if !bytes.Equal(c.MustDecode(t, stream), data) {
			t.Fatalf("level %d: other bytes", level)
		}
		if limit := len(data) + len(data)/1000; len(stream) > limit {
			t.Errorf("level %d: %d bytes of noise became %d", level, len(data), len(stream))
		}
	}
}

func (c *Codec) testRealDecoders(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs other programs")
	}
	compressor := c.Start(t, 2)
	ran := 0
	for _, command := range c.Commands {
		if command.missing() {
			t.Logf("no %s on the PATH", command.Name)
			continue
		}
		ran++
		for _, n := range []int{0, 1, c.FirstBlock, c.Long} {
			data := c.Sample(n)[:n]
			stream := compressor.Compress(t, c.Default, 1<<20, data)
			if got, err := command.filter(t, command.Decode, stream); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes came back as %d, %v", command.Name, n, len(got), err)
			}
			if said, err := command.filter(t, command.Test, stream); err != nil || len(said) > 0 {
				t.Errorf("%s: a test of %d bytes: %s, %v", command.Name, n, said, err)
			}
		}
	}
	if ran == 0 {
		t.Skip("none of the programs is here")
	}
}

// CheckRefused checks that levels that do not exist are refused.
func (c *Codec) CheckRefused(t *testing.T, levels ...int) {
	t.Helper()
	s := workers.New(1)
	defer s.Close()
	for _, level := range levels {
		if _, err := c.New(s, level); err == nil {
			t.Errorf("level %d was accepted", level)
		}
	}
}

// testGolden checks the digests for any number of workers and any sizes of writes.
func (c *Codec) testGolden(t *testing.T) {
	compressors := []Compressor{c.Start(t, 1), c.Start(t, 2), c.Start(t, 8)}
	steps := []int{1 << 20, 65537}
	data := c.Sample(c.GoldenSize)
	for i, level := range c.Levels {
		sum := sha256.Sum256(compressors[i%len(compressors)].Compress(t, level, steps[i%len(steps)], data))
		if got := hex.EncodeToString(sum[:16]); got != c.Golden[level] {
			t.Errorf("level %d: digest %q, want %q", level, got, c.Golden[level])
		}
	}
}

func (c *Codec) testSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	data := c.Sample(c.Several)
	want := c.Start(t, 1).Compress(t, c.Default, len(data), data)
	for _, procs := range []int{1, 2} {
		runtime.GOMAXPROCS(procs)
		for _, n := range []int{1, 8} {
			compressor := c.Start(t, n)
			for _, step := range []int{511, c.FirstBlock, 65537} {
				if !bytes.Equal(compressor.Compress(t, c.Default, step, data), want) {
					t.Errorf("%d processors, %d workers, writes of %d: other bytes", procs, n, step)
				}
			}
		}
	}
}

// passages returns pieces of input, of which every second one is to be stored. Only that it stays as it
// is distinguishes it: it could be compressed well. Those between repeat a part of it.
func (c *Codec) passages() [][]byte {
	prose := Prose(3, c.Several)
	var list [][]byte
	for _, n := range []int{1, 1000, 65535, 65536, c.FirstBlock, 0, c.Several} {
		list = append(list, append(Noise(byte(n), 5000), prose[:min(n, 3000)]...), prose[:n])
	}
	return append(list, c.Sample(c.FirstBlock))
}

// storePassages returns the stream of the passages, and what it is made of.
func (c *Codec) storePassages(t *testing.T, compressor Compressor, step int) (stream, data []byte) {
	t.Helper()
	var out bytes.Buffer
	zw := compressor.Open(&out, c.Default)
	defer zw.Abort()
	for i, passage := range c.passages() {
		if err := zw.Store(i%2 == 1); err != nil {
			t.Fatal(err)
		}
		data = append(data, passage...)
		for piece := range slices.Chunk(passage, step) {
			if _, err := zw.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Store(true); !errors.Is(err, c.ErrClosed) {
		t.Errorf("Store after Close: %v", err)
	}
	return out.Bytes(), data
}

// testStored checks that input which is compressed already comes back, and that nothing after it
// suffers.
func (c *Codec) testStored(t *testing.T) {
	want, data := c.storePassages(t, c.Start(t, 1), 1<<20)
	if got := c.MustDecode(t, want); !bytes.Equal(got, data) {
		t.Fatalf("%d bytes came back as %d others", len(data), len(got))
	}
	if verbatim := bytes.Contains(want, Prose(3, c.Several)[:50_000]); verbatim != c.Stores {
		t.Errorf("the input is stored: %t, want %t", verbatim, c.Stores)
	}
	for _, command := range c.Commands {
		if testing.Short() || command.missing() {
			continue
		}
		if got, err := command.filter(t, command.Decode, want); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back as %d, %v", command.Name, len(data), len(got), err)
		}
	}
	for _, n := range []int{2, 8} {
		if stream, _ := c.storePassages(t, c.Start(t, n), 777); !bytes.Equal(stream, want) {
			t.Errorf("%d workers make other bytes", n)
		}
	}
	for _, n := range []int{1, 70_000, c.Several} {
		var out bytes.Buffer
		zw := c.Start(t, 2).Open(&out, c.Default)
		err := zw.Store(true)
		if _, writeErr := zw.Write(Noise(4, n)); err != nil || writeErr != nil || zw.Store(false) != nil {
			t.Fatal(err, writeErr)
		}
		zw.Abort()
		if reader := c.looksComplete(t, out.Bytes()); reader != "" {
			t.Errorf("an aborted stream of %d stored bytes looks complete to %s", n, reader)
		}
	}
}

// Fuzz searches for content that does not survive a round trip, or whose stream depends on the
// sizes of writes. The content is repeated up to some size.
func (c *Codec) Fuzz(f *testing.F, size int) {
	compressor := c.Start(f, 2)
	f.Add([]byte("hello"), uint64(1), uint8(1), uint16(3))
	f.Add(Noise(1, 100), uint64(2), uint8(6), uint16(900))
	f.Add([]byte{}, uint64(3), uint8(9), uint16(0))
	f.Fuzz(func(t *testing.T, seed []byte, splits uint64, number uint8, repeat uint16) {
		level := c.Levels[int(number)%len(c.Levels)]
		data := bytes.Clone(seed)
		for i := 0; i < int(repeat) && len(data) < size; i++ {
			data = append(data, seed...)
			data = fmt.Append(data, i)
		}
		want := compressor.Compress(t, level, max(len(data), 1), data)
		if !bytes.Equal(c.MustDecode(t, want), data) {
			t.Fatal("other bytes came back")
		}
		r := rand.New(rand.NewPCG(splits, 0))
		var out bytes.Buffer
		zw := compressor.Open(&out, level)
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

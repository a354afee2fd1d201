package gzip

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/compress/compresstest"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// inflate checks that p is exactly one deflate stream.
func inflate(t testing.TB, p []byte) []byte {
	t.Helper()
	in := bytes.NewReader(p)
	data, err := io.ReadAll(flate.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if in.Len() != 0 {
		t.Fatalf("%d bytes after the stream", in.Len())
	}
	return data
}

func compressRaw(t testing.TB, c *Compressor, data []byte) (out []byte, sum uint32) {
	t.Helper()
	var b bytes.Buffer
	zw := c.NewRawWriter(context.Background(), &b)
	defer zw.Abort()
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), zw.Checksum()
}

func TestRawStream_IsTheMemberWithoutItsEnds(t *testing.T) {
	c := newCompressor(t, 2)
	whole := mixture(ramp + 2*BlockSize + 1)
	for _, n := range codec.Sizes {
		if n > codec.Several {
			continue
		}
		data := whole[:n]
		raw, sum := compressRaw(t, c, data)
		if sum != crc32.ChecksumIEEE(data) {
			t.Errorf("%d bytes: checksum %08x", n, sum)
		}
		if !bytes.Equal(inflate(t, raw), data) {
			t.Fatalf("%d bytes came back as others", n)
		}
		member := compresstest.Compressor{DefaultLevel: starter(c)}.Compress(t, DefaultLevel, 1<<20, data)
		if !bytes.Equal(member[10:len(member)-8], raw) {
			t.Errorf("%d bytes: the raw stream is not what the member holds", n)
		}
	}
}

func TestRawStream_AbortedHasNoEnd(t *testing.T) {
	c := newCompressor(t, 2)
	for _, n := range []int{0, 1, ramp + BlockSize} {
		var out bytes.Buffer
		zw := c.NewRawWriter(context.Background(), &out)
		if _, err := zw.Write(mixture(n)[:n]); err != nil {
			t.Fatal(err)
		}
		zw.Abort()
		if _, err := io.ReadAll(flate.NewReader(&out)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("an aborted stream of %d bytes: %v", n, err)
		}
	}
}

// onWorkers calls f as a task, n times at once.
func onWorkers(t testing.TB, sched *workers.Scheduler, n int, f func(w *workers.Worker)) {
	t.Helper()
	q := sched.Queue()
	defer q.Close()
	var pending sync.WaitGroup
	for range n {
		pending.Add(1)
		if err := q.Submit(workers.Func(func(w *workers.Worker) { defer pending.Done(); f(w) })); err != nil {
			t.Fatal(err)
		}
	}
	pending.Wait()
}

func TestDeflate(t *testing.T) {
	sched := workers.New(2)
	defer sched.Close()
	whole := mixture(BlockSize + libraryBlock)
	inputs := [][]byte{nil, {0}, whole[:100], whole[:libraryBlock], whole, compresstest.Noise(1, 300_000),
		compresstest.Prose(2, 5000), make([]byte, 1<<18)}
	for level := Stored; level <= MaxLevel; level++ {
		c, err := New(sched, level)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range inputs {
			want, err := newDeflater(level).whole([]byte("before"), data)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(want, []byte("before")) || !bytes.Equal(inflate(t, want[6:]), data) {
				t.Fatalf("level %d: %d bytes came back as others", level, len(data))
			}
			if limit := 6 + len(data) + len(data)/1000 + 16; len(want) > limit {
				t.Errorf("level %d: %d bytes became %d", level, len(data), len(want))
			}
			// Workers that have compressed other data before write into their own memory.
			onWorkers(t, sched, 4, func(w *workers.Worker) {
				got, err := c.Deflate(w, []byte("before"), data)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("level %d: %d bytes: other bytes, %v", level, len(data), err)
				}
			})
		}
	}
}

// A worker's compressor serves blocks and whole streams by turns.
func TestDeflate_BetweenBlocks(t *testing.T) {
	data := mixture(1)[:250_000]
	for level := MinLevel; level <= MaxLevel; level++ {
		want, err := newDeflater(level).deflate(data[:windowSize], data)
		if err != nil {
			t.Fatal(err)
		}
		d := newDeflater(level)
		for range 3 {
			if _, err := d.whole(nil, data); err != nil {
				t.Fatal(err)
			}
			got, err := d.deflate(data[:windowSize], data)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("level %d: a block differs after a whole stream: %v", level, err)
			}
		}
	}
}

// goldenWhole are the digests of Deflate of mixture at EncoderVersion: see
// golden.
var goldenWhole = map[string]map[int]string{
	"gz2": {
		1: "e35f9121d57f806ca9de4f69675978d2",
		2: "c97bfd5c3db339bdcfb1cdc6b370f5ca",
		3: "5f4dca88cd9de149289aafc82eb070f1",
		4: "cf4343c6de3d0769dca07c690bda3a04",
		5: "4499edd887c00818b3a2195789dc486b",
		6: "a3e5d0b854b4914aecb4dfd04ef387c7",
		7: "dbbebc040ff4925223231d911a5e6ae5",
		8: "1f4454b9b810ebc2db3d1dafec99ec93",
		9: "7a9640b7d4c13dd776d05f1d0e86ece8",
	},
}

func TestGolden_Deflate(t *testing.T) {
	data := mixture(3 * BlockSize)
	for level := MinLevel; level <= MaxLevel; level++ {
		out, err := newDeflater(level).whole(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(out)
		if got := hex.EncodeToString(sum[:16]); got != goldenWhole[EncoderVersion][level] {
			t.Errorf("%s: level %d: digest %q, want %q", EncoderVersion, level, got, goldenWhole[EncoderVersion][level])
		}
	}
}

package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

const childFolder = "REPOMCP_TEST_CACHE_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		neverFinish(dir)
	}
	// It prints each refused connection.
	redis.SetLogger(mute{})
	goleak.VerifyTestMain(m)
}

type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

const media = "application/x-tar"

// unheard ignores the end of a build.
func unheard() {}

// content is the same for the same seed, and does not repeat.
func content(seed uint64, size int) []byte {
	var from [32]byte
	binary.BigEndian.PutUint64(from[:], seed)
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(from).Read(b) // never fails
	return b
}

// comparer takes bytes that are to be those wanted, without holding them.
type comparer struct {
	want  []byte
	got   int
	wrong bool
}

func (c *comparer) Write(p []byte) (int, error) {
	rest := c.want[min(c.got, len(c.want)):]
	c.wrong = c.wrong || !bytes.HasPrefix(rest, p)
	c.got += len(p)
	return len(p), nil
}

// whole reports whether all bytes came, and no others.
func (c *comparer) whole() bool { return !c.wrong && c.got == len(c.want) }

// source is a build that counts how often it ran.
type source struct {
	bytes []byte
	runs  atomic.Int64
	// before is called before each piece of 10000 bytes.
	before func(ctx context.Context, offset int) error
}

const pieceBytes = 10_000

func (s *source) build(ctx context.Context, w io.Writer) error {
	s.runs.Add(1)
	for offset := 0; offset < len(s.bytes); offset += pieceBytes {
		if s.before != nil {
			if err := s.before(ctx, offset); err != nil {
				return err
			}
		}
		if _, err := w.Write(s.bytes[offset:min(len(s.bytes), offset+pieceBytes)]); err != nil {
			return err
		}
	}
	return nil
}

func testDisk(t testing.TB, dir string, limit int64) *Disk {
	t.Helper()
	d, err := OpenDisk(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func testCache(t testing.TB, o Options) *Cache {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

// read gets the whole bytes of a key.
func read(t testing.TB, c *Cache, key Key, build Build) ([]byte, error) {
	t.Helper()
	e, err := c.Get(t.Context(), key, media, build, unheard)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var out bytes.Buffer
	err = e.WriteTo(t.Context(), &out)
	return out.Bytes(), err
}

func mustRead(t testing.TB, c *Cache, key Key, s *source) {
	t.Helper()
	e, err := c.Get(t.Context(), key, media, s.build, unheard)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out := comparer{want: s.bytes}
	if err := e.WriteTo(t.Context(), &out); err != nil || !out.whole() {
		t.Fatalf("%d bytes, not the %d that were built, and %v", out.got, len(s.bytes), err)
	}
}

// idle waits until the builds of a cache have ended and their files are kept.
func idle(c *Cache) { c.wg.Wait() }

// files gives the names in a folder with a suffix.
func files(t testing.TB, dir, suffix string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) {
			names = append(names, entry.Name())
		}
	}
	return names
}

package pack

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestWindowReadsEachPlace reads places of a pack in each direction and without any,
// those outside of it too.
func TestWindowReadsEachPlace(t *testing.T) {
	content := []byte(gittest.Noise(1 << 20))
	name := filepath.Join(t.TempDir(), "pack")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	p := &Pack{file: file, end: int64(len(content)) - 20}
	random := rand.New(rand.NewPCG(1, 2))
	for name, next := range map[string]func(at int64) int64{
		"onward":    func(at int64) int64 { return (at + random.Int64N(3000)) % p.end },
		"backward":  func(at int64) int64 { return (at + p.end - random.Int64N(3000)) % p.end },
		"to an end": func(at int64) int64 { return at % 100 },
		"anywhere":  func(int64) int64 { return random.Int64N(p.end+100) - 50 },
	} {
		w, at := window{}, p.end/2
		for range 1000 {
			n := random.Int64N(100_000)
			got, err := w.readAt(p, at, n)
			inside := at >= packHeader && at < p.end
			if !inside && err == nil || inside && (err != nil || int64(len(got)) < min(n, p.end-at) ||
				!bytes.Equal(got, content[at:at+int64(len(got))])) {
				t.Fatalf("%s: %d bytes from %d: %d bytes, %v", name, n, at, len(got), err)
			}
			at = next(at)
		}
	}
}

// TestWindowIsReadAheadBothWays counts reads of small objects that lie in a row.
func TestWindowIsReadAheadBothWays(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("noise", gittest.Noise(1<<20)))
	repo.Git("repack", "-adfq")
	p, err := openOnly(t, readerOf(t, repo), repo)
	if err != nil {
		t.Fatal(err)
	}
	const step, steps = 500, 1000
	for _, direction := range []int64{1, -1} {
		w, reads := window{}, 0
		for i := range int64(steps) {
			start := w.start
			if _, err := w.readAt(p, p.end/2+direction*i*step, 100); err != nil {
				t.Fatal(err)
			}
			if w.start != start {
				reads++
			}
		}
		if most := steps*step/(aheadRead-firstRead) + 3; reads > most {
			t.Errorf("direction %d: %d reads, %d expected", direction, reads, most)
		}
	}
}

// TestObjectsAreReadFromAnyWindow reads an object whose beginning an earlier read has left in
// the window, by any part of it: a window may have more of a stream than is expected of it, and
// not all.
func TestObjectsAreReadFromAnyWindow(t *testing.T) {
	const size = 300_000
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("noise", gittest.Noise(size)))
	repo.Git("repack", "-adfq")
	r := readerOf(t, repo)
	p, err := openOnly(t, r, repo)
	if err != nil {
		t.Fatal(err)
	}
	id, err := object.ParseID(repo.Git("rev-parse", "main:noise"))
	if err != nil {
		t.Fatal(err)
	}
	at, found, err := p.Find(&id)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	cases := 0
	for left := int64(0); left < size+1000; left += 1000 {
		s := r.take(nil)
		if _, err := s.window().readAt(p, at.off, left); err != nil {
			t.Fatal(err)
		}
		if _, data, err := s.resolve(at, size, nil); err != nil || len(data) != size {
			t.Errorf("with %d bytes in the window: %d bytes, %v", left, len(data), err)
		}
		cases++
	}
	if cases < 300 {
		t.Errorf("%d cases", cases)
	}
}

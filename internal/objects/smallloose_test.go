//go:build linux

package objects

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// readQuick is readSmallLoose with a scratch of its own.
func readQuick(snap *Snapshot, id ID, limit int64) (Type, []byte, bool) {
	sc := snap.db.store.takeScratch()
	defer snap.db.store.giveScratch(sc)
	return snap.view.Load().readSmallLoose(sc, id, limit, nil)
}

func TestSmallLooseObjectsAreReadQuickly(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("empty", ""), gittest.Regular("text", text(1, 500)),
		gittest.Regular("noise", noise(1, smallLoose-100)), gittest.Regular("beyond", noise(2, 2*smallLoose)),
		gittest.Regular("zeros", string(make([]byte, 1<<20))))
	repo.Git("tag", "-a", "-m", "tagged", "v1", "main")
	snap := snapshot(t, newStore(t, Options{}, repo), repo)
	quick, slow := 0, 0
	for _, f := range facts(t, repo) {
		kind, data, ok := readQuick(snap, f.id, int64(len(f.content)))
		if !ok {
			slow++
			continue
		}
		quick++
		if kind.String() != f.kind || !bytes.Equal(data, f.content) {
			t.Errorf("%v: %v and %d bytes, git has %s and %d", f.id, kind, len(data), f.kind, len(f.content))
		}
	}
	// The tag, the commit, the tree and three files; not the large file and not
	// the one that grows a thousandfold.
	if quick != 6 || slow != 2 {
		t.Errorf("%d were read quickly and %d not", quick, slow)
	}
}

// TestUnsoundLooseObjectsAreNotReadQuickly puts something else in the place of
// an object. What it is then called is for the tests of all readers.
func TestUnsoundLooseObjectsAreNotReadQuickly(t *testing.T) {
	const content = "content"
	id := sumOf(Blob, []byte(content))
	stored := func(object string) []byte { return deflated([]byte(object)) }
	sound := stored("blob 7\x00" + content)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(data []byte) func(testing.TB, string) {
		return func(t testing.TB, name string) {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		make  func(testing.TB, string)
		sound bool
	}{
		{"sound", file(sound), true},
		{"nothing", func(testing.TB, string) {}, false},
		{"empty", file(nil), false},
		{"truncated", file(sound[:len(sound)-1]), false},
		{"trailing byte", file(append(sound[:len(sound):len(sound)], 0)), false},
		{"other content", file(stored("blob 7\x00CONTENT")), false},
		{"other type", file(stored("tree 7\x00" + content)), false},
		{"wrong size", file(stored("blob 8\x00" + content)), false},
		{"no header", file(stored(content)), false},
		{"link out of the root", func(t testing.TB, name string) {
			if err := os.Symlink(outside, name); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"folder", func(t testing.TB, name string) {
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"pipe", makePipe, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := gittest.New(t)
			repo.Commit("main", gittest.Regular("f", content))
			name := filepath.Join(repo.Dir, loosePath("objects", id))
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			c.make(t, name)
			snap := snapshot(t, newStore(t, Options{}, repo), repo)
			kind, data, ok := readQuick(snap, id, 100)
			if ok != c.sound || ok && (kind != Blob || string(data) != content) {
				t.Errorf("%v %q %v", kind, data, ok)
			}
			if _, _, ok := readQuick(snap, id, int64(len(content)-1)); ok {
				t.Error("more than the limit was read")
			}
		})
	}
}

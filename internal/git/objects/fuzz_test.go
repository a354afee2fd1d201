package objects

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// FuzzAlternates: whatever the file contains, no path is outside of the root, and none is
// there twice.
func FuzzAlternates(f *testing.F) {
	f.Add([]byte("/srv/git/pool.git/objects\n../../pool.git/objects\n# comment\n\"/srv/git/a\\tb\"\n"),
		"group/a.git/objects")
	f.Fuzz(func(t *testing.T, text []byte, dir string) {
		if !filepath.IsLocal(dir) {
			return
		}
		links := (&Store{names: []string{"/srv/git", "/data"}}).parseAlternates(text, dir)
		seen := make(map[string]bool)
		for _, path := range links.paths {
			if !filepath.IsLocal(path) || filepath.Clean(path) != path || seen[path] {
				t.Fatalf("%q in %q leads to %q", text, dir, path)
			}
			seen[path] = true
		}
	})
}

// FuzzPack: an object that comes out of a pack is what its id says and as long as it
// said, or there is a typed error; and no memory is asked for that the limit forbids.
// The index is sound, and says of three ids where they are.
func FuzzPack(f *testing.F) {
	base := packtest.Whole("the base of deltas")
	delta := onOffset("x", int64(len(base.Head)+len(base.Data)), packtest.Delta(18, 3, 3, 'a', 'b', 'c'))
	other := onID("y", base.ID, packtest.Delta(18, 4, 0x90, 4))
	whole := func(entries ...packtest.Entry) (all []byte) {
		for _, e := range entries {
			all = append(append(all, e.Head...), e.Data...)
		}
		return all
	}
	f.Add(whole(base, delta, other), uint16(len(base.Head)+len(base.Data)), uint16(len(whole(base, delta))))
	f.Fuzz(func(t *testing.T, body []byte, second, third uint16) {
		if len(body) == 0 {
			return
		}
		repo := gittest.Repo{Dir: t.TempDir()}
		if err := os.MkdirAll(filepath.Join(repo.Dir, "objects", "pack"), 0o750); err != nil {
			t.Fatal(err)
		}
		const header = 12
		ids := []ID{base.ID, packtest.SumOf(Blob, []byte("abc")), packtest.SumOf(Blob, []byte("the "))}
		p := packtest.New(packtest.Entry{ID: ids[0], Data: body, Offset: header},
			packtest.Entry{ID: ids[1], Offset: header + int64(second)}, packtest.Entry{ID: ids[2], Offset: header +
				int64(third)})
		p.Write(t, &repo)
		store, err := New(repo.Dir, indexBytes)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		db, err := store.Open(".")
		if err != nil {
			t.Fatal(err)
		}
		snapshot, err := db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = snapshot.Close() }()
		for _, id := range ids {
			const limit = 64 << 10
			kind, content, err := snapshot.ReadVerified(id, limit, nil)
			switch {
			case err == nil && (len(content) > limit || packtest.SumOf(kind, content) != id):
				t.Fatalf("%v is %q", id, content)
			case err != nil && (errors.Is(err, io.EOF) || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) &&
				!errors.Is(err, ErrNotFound)):
				t.Fatalf("not a typed error: %v", err)
			}
			stated, size, err := stat(snapshot, id)
			if len(content) > 0 && (err != nil || stated != kind || size != int64(len(content))) {
				t.Fatalf("%v has %d bytes, then %d: %v", id, len(content), size, err)
			}
		}
	})
}

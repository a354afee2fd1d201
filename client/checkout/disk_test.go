package checkout

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/client/unpack"
)

// On exFAT all files are executable, and there are no links: a file is not edited for that.
func TestKindsThatTheFileSystemDoesNotHave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "run": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	kinds := []kind{plainFile, executable, link, directory}
	for name, c := range map[string]struct {
		able unpack.Abilities
		is   map[string][]kind // what each file can be
	}{
		"ext4": {unpack.Abilities{Modes: true, Links: true},
			map[string][]kind{"plain": {plainFile}, "run": {executable}, "link": {link}}},
		"exFAT": {unpack.Abilities{}, map[string][]kind{"plain": {plainFile, executable, link},
			"run": {plainFile, executable, link}, "link": {link}}},
		"only links": {unpack.Abilities{Links: true}, map[string][]kind{"plain": {plainFile, executable},
			"run": {plainFile, executable}, "link": {link}}},
		"only modes": {unpack.Abilities{Modes: true}, map[string][]kind{"plain": {plainFile, link}, "run": {executable, link},
			"link": {link}}},
	} {
		d := newDisk(dir)
		d.able = func() unpack.Abilities { return c.able }
		for file, can := range c.is {
			there, err := d.look(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range kinds {
				right, err := d.has(record{path: file, kind: k, flag: brought, size: 1, id: unpack.IDOf([]byte("a"))}, there, 0)
				if want := slices.Contains(can, k); err != nil || right != want {
					t.Errorf("%s: %s as %c: %v, %v, want %v", name, file, k, right, err, want)
				}
			}
		}
	}
}

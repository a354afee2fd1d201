package dotgit

import (
	"os"
	"path/filepath"
	"testing"
)

// What is in the way of any file of a pack leaves no index without its pack, and can be mended.
func TestMovedPacksAreWhole(t *testing.T) {
	t.Parallel()
	for _, extension := range packFiles {
		from, to := t.TempDir(), t.TempDir()
		for _, name := range []string{"pack-1", "pack-2"} {
			for _, e := range packFiles {
				if err := os.WriteFile(filepath.Join(from, name+e), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		inTheWay := filepath.Join(to, "pack-1"+extension)
		if err := os.MkdirAll(filepath.Join(inTheWay, "folder"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := movePacks(from, to); err == nil {
			t.Fatalf("%s: there was no fault", extension)
		}
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
		indexes, _ := filepath.Glob(filepath.Join(to, "*.idx"))
		for _, index := range indexes {
			if _, err := os.Stat(index[:len(index)-len(".idx")] + ".pack"); err != nil {
				t.Errorf("%s: an index has no pack: %v", extension, err)
			}
		}
		if err := movePacks(from, to); err != nil {
			t.Errorf("%s: %v", extension, err)
		}
		if all, _ := filepath.Glob(filepath.Join(to, "pack-*")); len(all) != 2*len(packFiles) {
			t.Errorf("%s: there are %q", extension, all)
		}
	}
}

package unpack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestArchiveCutAtEachBlock(t *testing.T) {
	large := strings.Repeat("large ", smallFile/6+1000)
	small := strings.Repeat("b", 700)
	full := archive(t, reg("a", "first"), dir("d/"), reg("d/b", small), reg("large", large), sym("s", "a"))
	complete := map[string]string{"a": "first", "d/b": small, "large": large}
	for _, cut := range cuts(len(full)) {
		p := newPlace(t)
		_, err := p.unpack(t, full[:cut])
		if !errors.Is(err, ErrCut) {
			t.Errorf("cut at %d: the error is %v", cut, err)
		}
		p.outside(t)
		err = filepath.WalkDir(p.dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			name, _ := filepath.Rel(p.dir, path)
			content, err := os.ReadFile(path)
			if want, ok := complete[filepath.ToSlash(name)]; !ok || want != string(content) {
				t.Errorf("cut at %d: %s has %d bytes", cut, name, len(content))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// cuts are at each block, and within the first ones and the last.
func cuts(size int) []int {
	var at []int
	for cut := 0; cut < size-512; cut += 512 {
		if cut < 6000 || cut > size-6000 || cut%16384 == 0 {
			at = append(at, cut, cut+1, cut+300)
		}
	}
	return at
}

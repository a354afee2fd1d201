package unpack

import (
	"errors"
	"path/filepath"
	"testing"
)

// removals are those of files, whatever they have.
func removals(paths ...string) (list []Removal) {
	for _, path := range paths {
		list = append(list, Removal{Path: path})
	}
	return list
}

func (p place) remove(t *testing.T, owns func(string) bool, paths ...string) {
	t.Helper()
	if stays, err := New(p.root, Options{}).Remove(removals(paths...), owns); err != nil || len(stays) > 0 {
		t.Fatal(stays, err)
	}
}

func TestRemove(t *testing.T) {
	p := newPlace(t)
	if _, err := p.unpack(t, archive(t,
		reg("a/b/c", ""), reg("a/b/d", ""), reg("a/e", ""), reg("k/l/m", ""), reg("o/p", ""), reg("z", ""),
		sym("zl", "a"),
	)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.dir, "k/l/mine"), "stays")
	p.remove(t, func(folder string) bool { return folder != "o" },
		"a/b/c", "a/b/d", "a/b/", "a/e", "gone/x", "z/x", "k/l/m", "o/p", "zl", "o")
	p.has(t, "k", "k/l", `k/l/mine "stays"`, "o", `z ""`)
	p.remove(t, nil, "z", "k/l")
	p.has(t, "k", "k/l", `k/l/mine "stays"`, "o")
	p.outside(t)
}

func TestRemoveRefuses(t *testing.T) {
	for path, reason := range map[string]Reason{
		"../x": Dots, "/etc/passwd": Absolute, ".git/config": GitFolder, ".repomcp/state": ReservedName, "": EmptyName,
		"l/file": ThroughLink, "a/../b": Dots,
	} {
		p := newPlace(t)
		linkToCanary(t, p)
		write(t, filepath.Join(p.dir, "f"), "")
		_, err := New(p.root, Options{}).Remove(removals(path, "f"), func(string) bool { return true })
		if refused := (*RefusedError)(nil); !errors.As(err, &refused) || refused.Reason != reason {
			t.Errorf("%q: %v", path, err)
		}
		p.has(t, `f ""`, "l -> ../../canary")
		p.outside(t)
	}
}

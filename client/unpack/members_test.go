package unpack

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTheCommentIsLookedAtFirst: an error about it ends the run before any member.
func TestTheCommentIsLookedAtFirst(t *testing.T) {
	stop := errors.New("stop")
	p := newPlace(t)
	_, err := p.unpack(t, archive(t, entry{name: "pax_global_header", kind: tar.TypeXGlobalHeader,
		pax: map[string]string{"comment": "a commit"}}, reg("a", "x")), Options{Comment: func(comment string) error {
		if comment != "a commit" {
			t.Errorf("the comment is %q", comment)
		}
		return stop
	}})
	if p.has(t); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestGlobalHeaders: git writes a time there that is too late for the header of a member. Other records are refused,
// in any order.
func TestGlobalHeaders(t *testing.T) {
	for range 20 { // the order of a map
		for _, c := range []struct {
			pax map[string]string
			ok  bool
		}{
			{map[string]string{"comment": "c", "mtime": "1000"}, true},
			{map[string]string{"comment": "c", "mtime": "9000000000"}, true},
			{map[string]string{"comment": "c", "mtime": "yesterday"}, false},
			{map[string]string{"comment": "c", "path": "b"}, false},
		} {
			p := newPlace(t)
			_, err := p.unpack(t, archive(t, entry{name: "pax_global_header", kind: tar.TypeXGlobalHeader, pax: c.pax},
				reg("a", "x")), Options{Comment: func(string) error { return nil }, Times: true})
			var refused *RefusedError
			if (err == nil) != c.ok || err != nil && !errors.As(err, &refused) {
				t.Fatalf("%v: %v", c.pax, err)
			}
			if !c.ok {
				continue
			}
			info, err := os.Stat(filepath.Join(p.dir, "a"))
			if err != nil || info.ModTime().Equal(time.Unix(1000, 0)) != (c.pax["mtime"] == "1000") ||
				info.ModTime().After(time.Now().Add(time.Hour)) {
				t.Fatalf("%v: %v, %v", c.pax, info.ModTime(), err)
			}
		}
	}
}

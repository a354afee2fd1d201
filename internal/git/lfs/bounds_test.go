package lfs_test

import (
	"testing"

	"github.com/repomcp/repomcp/internal/git/lfs"
)

func TestTheShortestPointerHasMinBytes(t *testing.T) {
	shortest := "version http://git-media.io/v/2\n" + oid + "size 0"
	if p, ok := lfs.Parse([]byte(shortest)); !ok || len(shortest) != lfs.MinBytes {
		t.Errorf("%d bytes, want %d; %+v, %v", len(shortest), lfs.MinBytes, p, ok)
	}
}

// FuzzMinBytes looks for a shorter one.
func FuzzMinBytes(f *testing.F) {
	f.Add([]byte("version http://git-media.io/v/2\n" + oid + "size 0"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if _, ok := lfs.Parse(content); ok && len(content) < lfs.MinBytes {
			t.Errorf("%q has %d bytes", content, len(content))
		}
	})
}

package stamp

import (
	"os"
	"path/filepath"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Head is a stamp of the files that decide which commit HEAD leads to. It takes a few microseconds.
type Head struct {
	at    time.Time // before they were examined
	files [4]file
}

// file distinguishes a file, or what a link leads to, from its predecessor, as [walk.entry] does.
type file struct {
	mode    uint32
	regular bool
	size    int64
	changed int64 // in nanoseconds since 1970
	inode   uint64
}

// OfHead computes the stamp of the repository in a folder. holder is the file that is replaced when HEAD leads to
// another commit, unless packed-refs is: see HolderOf of package git. A file that cannot be examined is like a missing
// one.
func OfHead(root *os.Root, dir, holder string) Head {
	h := Head{at: time.Now()}
	// A path of the host is looked up several times as fast as one of the root. Only metadata is compared, so a link
	// may lead anywhere.
	folder := filepath.Join(root.Name(), filepath.FromSlash(dir)) + string(filepath.Separator)
	const branch, packed = 2, 3
	for i, name := range [len(h.files)]string{"HEAD", "config", filepath.FromSlash(holder), "packed-refs"} {
		if i == packed && h.files[branch].regular {
			break // git does not look for the branch in packed-refs
		}
		h.files[i] = examine(folder + name)
	}
	return h
}

// IsStill reports whether no file has changed since. It may be false although none has: see [files.Seen.IsStill].
func (h *Head) IsStill(now *Head) bool {
	settled := h.at.Add(-files.TimestampGrain).UnixNano()
	for i := range h.files {
		if h.files[i] != now.files[i] || h.files[i].changed >= settled {
			return false
		}
	}
	return true
}

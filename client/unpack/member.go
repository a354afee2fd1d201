package unpack

import (
	"crypto/sha1"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"strconv"
	"time"
)

// Kind is what a member is.
type Kind uint8

// The kinds of members that are unpacked.
const (
	File Kind = iota
	Folder
	Symlink
	// Nothing is no member, but what becomes of a path that is removed.
	Nothing
)

// Member is one of the archive, as [Options].Choose sees it before anything of it
// is written. Its path was checked.
type Member struct {
	Path       string // with slashes, without one at the end
	Kind       Kind
	Size       int64 // of a file, or of the patch that is in its place
	Executable bool
	Target     string // of a symbolic link
	Outside    bool   // that can lead out of the folder, see [LinkStays]
	ModTime    time.Time
	Patch      *Patch // nil: the content is that of the file
}

// Choice is what becomes of a member. The zero value writes it as it is.
type Choice struct {
	// Skip leaves what is there. Choose may have read the content all the same.
	Skip bool
	// Yields, if not nil, is asked about what a file or a symbolic link takes the place
	// of, an empty folder excepted. Without it that is another file or link, whatever it
	// has, and never a folder.
	Yields Yields
	// Content is written instead of the member's own, such as what a [Patch] makes
	// of the present file; where the member is a patch there has to be one. It has
	// Size bytes; an io.Closer is closed.
	Content io.Reader
	Size    int64
	// ID is that which the written content must have. Zero: any.
	ID ID
}

// ID is git's name of a content: SHA-1 of "blob", its size, and itself.
type ID [20]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IDOf is the id of a content.
func IDOf(content []byte) ID {
	sum := NewHash(int64(len(content)))
	_, _ = sum.Write(content) // never fails
	return ID(sum.Sum(nil))
}

// NewHash makes the ID of a content of a size, which is written to it.
func NewHash(size int64) hash.Hash {
	sum := sha1.New()
	_, _ = io.WriteString(sum, "blob "+strconv.FormatInt(size, 10)+"\x00") // never fails
	return sum
}

// Written is what is on the disk now: a file or a symbolic link that was renamed
// into its place, or a folder that was not there before.
type Written struct {
	Path    string
	Kind    Kind
	Size    int64       // of the content, or the length of the target
	ID      ID          // of the content or the target
	Mode    fs.FileMode // as the file system has it
	ModTime time.Time   // as the file system has it
	// Aside, for [Options].Ready, is the path of the name from which it comes, and
	// under which what is there now lies while Yields is asked; "" without that.
	Aside string
}

// Report counts what a run did, also one that failed.
type Report struct {
	Files    int // written
	Folders  int // made
	Symlinks int // made
	Skipped  int // by Choose
	Bytes    int64
	// Comment is that of the global header: git puts the commit's id there.
	Comment string
	// Warnings are paths of files that editors and shells run by themselves, such
	// as .envrc; the first 100 of those that were written.
	Warnings []string
}

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

// Kind is the type of a member.
type Kind uint8

// The kinds of members that are unpacked.
const (
	File Kind = iota
	Folder
	Symlink
	// Nothing is no member, but the result of a removal.
	Nothing
)

// Member is a member of the archive, as [Options].Choose gets it before anything of it is written.
// Its path was checked.
type Member struct {
	Path       string // with slashes, without one at the end
	Kind       Kind
	Size       int64 // of a file, or of the patch in its place
	Executable bool
	Target     string // of a symbolic link
	Outside    bool   // the link may lead out of the folder, see [LinkStays]
	ModTime    time.Time
	Patch      *Patch // nil: the content is that of the file
}

// Choice decides about a member. The zero value writes it unchanged.
type Choice struct {
	// Skip keeps the present file. Choose may have read the content nevertheless.
	Skip bool
	// Yields, if not nil, decides about a file or a symbolic link that the member would replace, or
	// anything else but an empty folder. Without it the member replaces any file or link, and never
	// a folder.
	Yields Yields
	// Content replaces the member's own, for example by the result of a [Patch] on the present
	// file; it is required for a patch. It has Size bytes; an io.Closer is closed.
	Content io.Reader
	Size    int64
	// ID is the required id of the written content. Zero: any.
	ID ID
}

// ID is git's id of a content: SHA-1 of "blob", its size, and the content.
type ID [20]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IDOf returns the id of a content.
func IDOf(content []byte) ID {
	sum := NewHash(int64(len(content)))
	_, _ = sum.Write(content) // it never fails
	return ID(sum.Sum(nil))
}

// NewHash computes the ID of a content with a size, which has to be written to it.
func NewHash(size int64) hash.Hash {
	sum := sha1.New()
	_, _ = io.WriteString(sum, "blob "+strconv.FormatInt(size, 10)+"\x00") // it never fails
	return sum
}

// Written is now on the disk: a file or a symbolic link that was renamed into its place, or a new
// folder.
type Written struct {
	Path string
	Kind Kind
	Size int64       // of the content, or the length of the target
	ID   ID          // of the content or the target
	Info fs.FileInfo // as the file system had it before a rename; nil for Nothing
	// Aside, for [Options].Ready, is the path of the temporary name. The replaced file has that
	// name while Yields examines it; "" without Yields.
	Aside string
}

// Report counts what a run did, even a failed one.
type Report struct {
	Files    int // written
	Folders  int // made
	Symlinks int // made
	// TextLinks are those of them that are files with the target, because the file system has no symbolic links.
	TextLinks int
	Skipped   int // by Choose
	Bytes     int64
	// Comment is that of the global header: git puts the commit's id there.
	Comment string
	// Warnings are paths of written files that editors and shells run automatically, such as
	// .envrc; at most the first 100.
	Warnings []string
}

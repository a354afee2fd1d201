package tree

import (
	"context"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
)

// Source provides the objects of an archive. It is safe for concurrent use.
type Source interface {
	Tree(id git.ID) ([]git.TreeEntry, error)
	// Blob opens a file, verified against its id.
	Blob(ctx context.Context, id git.ID) (*git.Blob, error)
	// OpenProver opens a file to compare it with its id in parts, so that Blob need not.
	OpenProver(ctx context.Context, id git.ID) (*git.Prover, error)
	// Size returns the length of a blob, from headers only and without verification.
	Size(id git.ID) (int64, error)
	// ReadBlob appends a file to buf, unless it has more than limit bytes: git.ErrTooLarge.
	ReadBlob(id git.ID, limit int64, buf []byte) ([]byte, error)
	// MayLack reports whether objects may be missing without damage: git.ErrPartial,
	// git.ErrOutside.
	MayLack() bool
	// InfoAttributes returns the content of info/attributes, or nil.
	InfoAttributes() ([]byte, error)
	// StoredTree reads a tree as it is stored, and appends its content to buf.
	StoredTree(id git.ID, buf []byte) (git.StoredTree, error)
	// ResolveTreeish resolves a revision; it returns git.ErrNotFound for everything that is not
	// served.
	ResolveTreeish(ctx context.Context, revision string) (git.Treeish, error)
	// LFSObject opens a Git LFS object; it returns git.ErrNotFound if the object is not
	// available.
	LFSObject(oid string) (*git.LFSObject, error)
	pretty.Repository
}

// Folder is a tree with its repository.
type Folder struct {
	Source  Source
	ID      git.ID
	Entries []git.TreeEntry
}

// ReadFolder reads a tree that a commit, a tag or another tree names: its absence is damage.
func ReadFolder(source Source, id git.ID) (Folder, error) {
	entries, err := source.Tree(id)
	return Folder{source, id, entries}, git.MustExist(id, err)
}

func (f Folder) find(name string) (git.TreeEntry, bool) {
	return firstOf(f.Entries, func(e git.TreeEntry) bool { return e.Name == name })
}

func firstOf(entries []git.TreeEntry, is func(git.TreeEntry) bool) (git.TreeEntry, bool) {
	if at := slices.IndexFunc(entries, is); at >= 0 {
		return entries[at], true
	}
	return git.TreeEntry{}, false
}

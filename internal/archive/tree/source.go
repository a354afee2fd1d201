package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/repos"
)

// Source provides the objects of an archive. It is safe for concurrent use.
type Source interface {
	Tree(id repos.ID) ([]repos.TreeEntry, error)
	// Blob opens a file, verified against its id.
	Blob(ctx context.Context, id repos.ID) (*repos.Blob, error)
	// Size returns the length of a blob, from headers only and without verification.
	Size(id repos.ID) (int64, error)
	// ReadBlob appends a file to buf, unless it has more than limit bytes: repos.ErrTooLarge.
	ReadBlob(id repos.ID, limit int64, buf []byte) ([]byte, error)
	// MayLack reports whether objects may be missing without damage: repos.ErrPartial,
	// repos.ErrOutside.
	MayLack() bool
	// InfoAttributes returns the content of info/attributes, or nil.
	InfoAttributes() ([]byte, error)
	// ResolveTreeish resolves a revision; it returns repos.ErrNotFound for everything that is not
	// served.
	ResolveTreeish(ctx context.Context, revision string) (repos.Treeish, error)
	// LFSObject opens a Git LFS object; it returns repos.ErrNotFound if the object is not
	// available.
	LFSObject(oid string) (*repos.LFSObject, error)
	pretty.Repository
}

// Folder is a tree with its repository.
type Folder struct {
	Source  Source
	ID      repos.ID
	Entries []repos.TreeEntry
}

// ReadFolder reads a tree that a commit, a tag or another tree names: its absence is damage.
func ReadFolder(source Source, id repos.ID) (Folder, error) {
	entries, err := source.Tree(id)
	return Folder{source, id, entries}, Damaged(err)
}

func (f Folder) find(name string) (repos.TreeEntry, bool) {
	return firstOf(f.Entries, func(e repos.TreeEntry) bool { return e.Name == name })
}

func firstOf(entries []repos.TreeEntry, is func(repos.TreeEntry) bool) (repos.TreeEntry, bool) {
	if at := slices.IndexFunc(entries, is); at >= 0 {
		return entries[at], true
	}
	return repos.TreeEntry{}, false
}

// Damaged turns "not found" into damage: a tree names the object, so its absence does not answer
// the caller's question.
func Damaged(err error) error {
	if errors.Is(err, repos.ErrNotFound) {
		return fmt.Errorf("%w: a tree names a missing object", repos.ErrCorrupt)
	}
	return err
}

package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/repos"
)

// Source is where the objects of an archive come from. Several goroutines use
// it at the same time.
type Source interface {
	Tree(id repos.ID) ([]repos.TreeEntry, error)
	// Blob opens a file that was compared with its id.
	Blob(ctx context.Context, id repos.ID) (*repos.Blob, error)
	// OpenProver opens a file to compare it with its id in parts, so that Blob need not.
	OpenProver(ctx context.Context, id repos.ID) (*repos.Prover, error)
	// Size is the length of a blob, read from headers only and not compared.
	Size(id repos.ID) (int64, error)
	// ReadBlob appends a file to buf, unless it has more than limit bytes:
	// repos.ErrTooLarge.
	ReadBlob(id repos.ID, limit int64, buf []byte) ([]byte, error)
	// MayLack reports whether objects may be missing although nothing is damaged:
	// repos.ErrPartial, repos.ErrOutside.
	MayLack() bool
	// InfoAttributes is the content of info/attributes, or nil.
	InfoAttributes() ([]byte, error)
	// ResolveTreeish finds what a revision names; repos.ErrNotFound is for all that
	// is not served.
	ResolveTreeish(ctx context.Context, revision string) (repos.Treeish, error)
	// LFSObject opens an object of git-lfs; repos.ErrNotFound where it is not
	// at hand.
	LFSObject(oid string) (*repos.LFSObject, error)
	pretty.Repository
}

// Folder is a tree and the repository that it is of.
type Folder struct {
	Source  Source
	ID      repos.ID
	Entries []repos.TreeEntry
}

// ReadFolder reads a tree that a commit, a tag or another tree names: where it is
// missing that is damage.
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

// Damaged turns "not found" into damage: a tree named the object, so its
// absence is no answer to the caller's question.
func Damaged(err error) error {
	if errors.Is(err, repos.ErrNotFound) {
		return fmt.Errorf("%w: a tree names a missing object", repos.ErrCorrupt)
	}
	return err
}

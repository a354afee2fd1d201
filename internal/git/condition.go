package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Condition is what an operator may have to mend of a repository, as far as is known
// without reading objects other than those that refs name.
type Condition struct {
	objects.Condition
	// Refs is how many refs are not hidden, Damaged how many of them cannot be read, and
	// FirstDamaged one of these.
	Refs, Damaged int
	FirstDamaged  Ref
	// Unindexed are the packs that lack an index, by their paths in the repository's
	// folder: nothing is read from them.
	Unindexed []string
	// Head is nil, or says why nothing stands for the default branch: [ErrEmpty],
	// [ErrUnborn], or damage.
	Head error
	// Shallow says that older history was left out when it was cloned.
	Shallow bool
	// Graph says that there is a commit-graph file that is used.
	Graph bool
}

// Condition looks at the snapshot's refs and at the indexes of its packs. It fails
// where the refs cannot be listed.
func (s *Snapshot) Condition(ctx context.Context) (Condition, error) {
	stored, err := s.objects.Condition(ctx)
	if err != nil {
		return Condition{}, domainError(err)
	}
	for i, fault := range stored.Faults {
		stored.Faults[i] = domainError(fault)
	}
	refs, err := s.Refs()
	if err != nil {
		return Condition{}, err
	}
	c := Condition{Condition: stored, Refs: len(refs), Shallow: s.isCut(), Graph: s.CommitGraph() != nil}
	c.Damaged, c.FirstDamaged = damagedOf(refs)
	_, c.Head = s.Head()
	c.Unindexed = s.unindexed()
	return c, nil
}

// unindexed finds packs without an index. One that is being written gets its index
// last.
func (s *Snapshot) unindexed() (packs []string) {
	const folder = "objects/pack"
	entries, _ := files.ReadDir(s.refs.root, s.repository.dir+"/"+folder) // Denied says why not
	for _, entry := range entries {
		name, isPack := strings.CutSuffix(entry.Name(), ".pack")
		hasName := func(e fs.DirEntry) bool { return e.Name() == name+".idx" }
		if isPack && !slices.ContainsFunc(entries, hasName) {
			packs = append(packs, path.Join(folder, entry.Name()))
		}
	}
	return packs
}

// Verify compares all packs with their checksums, all loose objects with their ids,
// and a commit-graph with the commits. It returns all damage joined, or the error of
// ctx.
func (s *Snapshot) Verify(ctx context.Context) error {
	return errors.Join(s.VerifyPacks(ctx), domainError(s.objects.VerifyLoose(ctx)))
}

// VerifyPacks is Verify without loose objects, each of which is compared when it is read.
func (s *Snapshot) VerifyPacks(ctx context.Context) error {
	return errors.Join(domainError(s.objects.Verify(ctx)), s.verifyGraph(ctx))
}

// looked are the parts of a repository that are read from.
var looked = []string{"HEAD", "config", "packed-refs", "refs", "info", "objects"}

// Denied returns how many folders and files of the repository this process may not
// read, with the first of them, by its path in the repository's folder. It looks at no
// more than limit.
func (r *Repository) Denied(limit int) (count int, first string) {
	// One look at the names above for all of the files.
	root, err := r.store.root.OpenRoot(r.dir)
	if err != nil {
		return 0, "" // it has gone, or a snapshot fails with the reason
	}
	defer func() { _ = root.Close() }() // only read from
	var walk func(name string, mode fs.FileMode)
	walk = func(name string, mode fs.FileMode) {
		if limit--; limit < 0 {
			return
		}
		inner, err := list(root, name, mode)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, objects.ErrDenied) {
			if count++; count == 1 {
				first = name
			}
		}
		for _, entry := range inner {
			walk(path.Join(name, entry.Name()), entry.Type())
		}
	}
	for _, part := range looked {
		if info, err := root.Lstat(part); err == nil {
			walk(part, info.Mode().Type())
		}
	}
	return count, first
}

// list returns what is in a folder. A regular file is only opened.
func list(root *os.Root, name string, mode fs.FileMode) ([]fs.DirEntry, error) {
	switch {
	case mode.IsDir():
		return files.ReadDir(root, name)
	case !mode.IsRegular():
		return nil, nil
	}
	file, _, err := files.Open(root, name)
	if err != nil {
		return nil, err
	}
	return nil, file.Close()
}

// verifyGraph compares all of the commit-graph with the commits. What was pruned
// since it was written is no contradiction: nothing leads there.
func (s *Snapshot) verifyGraph(ctx context.Context) error {
	graph := s.CommitGraph()
	if graph == nil {
		return nil
	}
	for at := range graph.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if sure, err := s.confirmed(graph, []ID{graph.ID(at)}); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		} else if err == nil && !sure {
			return fmt.Errorf("the commit-graph: %w: %w", ErrCorrupt, errContradicted)
		}
	}
	return nil
}

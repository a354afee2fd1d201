package repos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/objects"
	"github.com/repomcp/repomcp/internal/objects/files"
)

// Condition is what an operator may have to mend of a repository, as far as is known
// without reading objects other than those that refs name.
type Condition struct {
	objects.Condition
	// Refs is how many refs are served, Damaged how many of them cannot be read, and
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
	entries, _ := readDir(s.refs.root, s.repository.dir+"/"+folder) // Denied says why not
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
	return errors.Join(s.verifyPacks(ctx), domainError(s.objects.VerifyLoose(ctx)))
}

// verifyPacks leaves loose objects out, each of which is compared when it is read.
func (s *Snapshot) verifyPacks(ctx context.Context) error {
	return errors.Join(domainError(s.objects.Verify(ctx)), s.verifyGraph(ctx))
}

// looked are the parts of a repository that are read from.
var looked = []string{"HEAD", "config", "packed-refs", "refs", "info", "objects"}

// Denied returns how many folders and files of the repository this process may not
// read, with the first of them, by its path in the repository's folder. It looks at no
// more than limit.
func (r *Repository) Denied(limit int) (count int, first string) {
	// One look at the names above for all of the files.
	root, err := r.catalogue.root.OpenRoot(r.dir)
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
		return readDir(root, name)
	case !mode.IsRegular():
		return nil, nil
	}
	file, _, err := files.Open(root, name)
	if err != nil {
		return nil, err
	}
	return nil, file.Close()
}

// Verify reads the packs of all repositories once, one after the other, and logs those
// that differ from their checksums, and commit-graphs that differ from the commits:
// before anybody asks for the object that is damaged.
func (c *Catalogue) Verify(ctx context.Context) {
	damaged := 0
	for _, name := range c.Names() {
		err := c.verify(ctx, name)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			damaged++
			c.logger.Error("a repository is damaged; run git fsck on the mirror", "repository", name, "error", err)
		}
	}
	c.logger.Info("all packs were compared with their checksums", "repositories", len(c.Names()), "damaged", damaged)
}

func (c *Catalogue) verify(ctx context.Context, name string) (err error) {
	snapshot, err := c.Snapshot(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return snapshot.verifyPacks(ctx)
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

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

// Condition is what an operator may have to repair in a repository, as far as it is visible without
// reading objects other than those that refs name.
type Condition struct {
	objects.Condition
	// Refs is the number of visible refs, Damaged that of unreadable ones among them, and
	// FirstDamaged one of these.
	Refs, Damaged int
	FirstDamaged  Ref
	// Unindexed are the packs without an index, by their paths in the repository's folder. They
	// cannot be read.
	Unindexed []string
	// Head is nil, or the reason why HEAD has no commit: [ErrEmpty], [ErrUnborn], or damage.
	Head error
	// Shallow says that the repository is a shallow clone without older history.
	Shallow bool
	// Graph says that a commit-graph file is in use.
	Graph bool
}

// Condition examines the snapshot's refs and the indexes of its packs. It fails if the refs cannot
// be listed.
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
	c := Condition{Condition: stored, Refs: len(refs), Graph: s.CommitGraph() != nil}
	if c.Shallow, err = s.isCut(); err != nil {
		return Condition{}, err
	}
	c.Damaged, c.FirstDamaged = damagedOf(refs)
	_, c.Head = s.Head()
	c.Unindexed = s.unindexed()
	return c, nil
}

// unindexed finds packs without an index. git writes the index of a pack last.
func (s *Snapshot) unindexed() (packs []string) {
	const folder = "objects/pack"
	entries, _ := files.ReadDir(s.repository.store.root, s.repository.dir+"/"+folder) // Denied reports the error
	for _, entry := range entries {
		name, isPack := strings.CutSuffix(entry.Name(), ".pack")
		hasName := func(e fs.DirEntry) bool { return e.Name() == name+".idx" }
		if isPack && !slices.ContainsFunc(entries, hasName) {
			packs = append(packs, path.Join(folder, entry.Name()))
		}
	}
	return packs
}

// Verify compares all packs with their checksums, all loose objects with their ids, and a
// commit-graph with the commits. It returns all damage joined, or the error of ctx.
func (s *Snapshot) Verify(ctx context.Context) error {
	return errors.Join(s.VerifyPacks(ctx), domainError(s.objects.VerifyLoose(ctx)))
}

// VerifyPacks is Verify without loose objects, which are compared whenever they are read.
func (s *Snapshot) VerifyPacks(ctx context.Context) error {
	return errors.Join(domainError(s.objects.Verify(ctx)), s.verifyGraph(ctx))
}

// looked are the parts of a repository that are read.
var looked = []string{"HEAD", "config", "packed-refs", "refs", "reftable", "info", "objects"}

// Denied returns how many folders and files of the repository this process may not read, and the
// first of them, by its path in the repository's folder. It examines at most limit files.
func (r *Repository) Denied(limit int) (count int, first string) {
	// One root spares the lookup of the parent folders for each file.
	root, err := r.store.root.OpenRoot(r.dir)
	if err != nil {
		return 0, "" // it was removed, or a snapshot fails with the reason
	}
	defer func() { _ = root.Close() }() // it was only read
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

// list returns the entries of a folder. For a regular file it only tries to open it.
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

// verifyGraph compares all of the commit-graph with the commits. A commit that was pruned since the
// graph was written is no contradiction: no ref leads to it.
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

// maxExamined is how many refs besides HEAD are examined before all are considered damaged.
const maxExamined = 32

// Examine returns nil if HEAD, or one of some refs spread over the list, leads to a commit whose
// root folder can be read, or if there is no ref.
func (s *Snapshot) Examine() (damaged error) {
	head, err := s.Head()
	if err == nil {
		err = s.examineRef(head)
	}
	if err == nil || errors.Is(err, ErrEmpty) && !errors.Is(err, ErrUnborn) {
		return nil
	}
	names, raws, listing := s.refs.below(allRefs)
	if listing != nil {
		return errors.Join(err, listing)
	}
	if errors.Is(err, ErrUnborn) {
		err = nil
	}
	step := max(len(names)/maxExamined, 1)
	for i := 0; i < len(names); i += step {
		raw, ok := s.refs.followIn(raws, names[i])
		if !ok || s.refs.hides(names[i]) {
			continue
		}
		ref, failure := s.ref(names[i], raw)
		if failure == nil {
			failure = s.examineRef(ref)
		}
		if failure == nil {
			return nil
		}
		if err == nil {
			err = failure
		}
	}
	return err
}

func (s *Snapshot) examineRef(ref Ref) error {
	if ref.Commit.IsZero() { // a tag of a tree or blob
		return nil
	}
	commit, err := s.Commit(ref.Commit)
	if err != nil {
		return MustExist(ref.Commit, err)
	}
	_, err = s.Tree(commit.Tree)
	return MustExist(commit.Tree, err)
}

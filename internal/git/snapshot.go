package git

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/repomcp/repomcp/internal/git/commitgraph"
	"github.com/repomcp/repomcp/internal/git/objects"
)

// Snapshot is a repository held open for one request. Its objects stay readable if other programs
// delete them. A ref that was found by its name stays as it was then, so that a request with several
// revisions, such as main~1 and main, is answered from one state of the branch. Lists of refs are those of the moment
// of each call. It may be used by any number of goroutines. Close it when done.
type Snapshot struct {
	repository *Repository
	refs       refSet
	objects    *objects.Snapshot

	naming sync.Mutex
	named  map[string]namedRef // the refs that were found by their names

	graphing sync.Mutex
	graphed  bool // the graph was searched
	graph    *commitgraph.Graph
}

// Close releases the descriptors. It may be called more than once.
func (s *Snapshot) Close() error { return s.objects.Close() }

// Folder is the repository's path on this machine.
func (s *Snapshot) Folder() string { return s.repository.Folder() }

// Head is the default branch with its commit, or the detached commit with the name HEAD. It is
// [ErrEmpty] if the repository has no ref yet, and [ErrUnborn] if it has others.
func (s *Snapshot) Head() (head Ref, err error) {
	defer s.repository.contain(&err)
	name, raw, ok, err := s.follow("HEAD")
	if err != nil {
		return Ref{}, err
	}
	if ok {
		return s.ref(name, raw)
	}
	names, _, err := s.refs.below(allRefs)
	if err != nil {
		return Ref{}, err
	}
	if slices.ContainsFunc(names, func(name string) bool { return !s.refs.hides(name) }) {
		return Ref{}, fmt.Errorf("HEAD: %w", ErrUnborn)
	}
	return Ref{}, fmt.Errorf("HEAD: %w", ErrEmpty)
}

// DefaultBranch is the short name of the branch that HEAD points to, even if the branch has no
// commit, and "" if HEAD is detached. A HEAD that cannot be read is [ErrCorrupt].
func (s *Snapshot) DefaultBranch() (string, error) {
	raw, ok, err := s.refs.lookup("HEAD")
	if err != nil || !ok {
		return "", err
	}
	return cutPrefix(raw.symbolic, BranchPrefix), raw.fault
}

// HolderOf is the file, by its path in the repository's folder, that is replaced when a ref of that full name changes,
// unless the ref is in packed-refs.
func (s *Snapshot) HolderOf(name string) string { return s.refs.holder(name) }

// Refs lists the visible refs in the order of their names. Unreadable refs are included and marked
// as such.
func (s *Snapshot) Refs() ([]Ref, error) { return s.listRefs(s.ref, allRefs) }

// RefsBelow is [Snapshot.Refs] for the names with one of the prefixes, such as [BranchPrefix]. A mirror of a large host
// has a ref for each pull request, and these are not read.
func (s *Snapshot) RefsBelow(prefixes ...string) ([]Ref, error) {
	return s.listRefs(s.ref, prefixes...)
}

// Tags is [Snapshot.Refs] for tags. It does not read their objects if packed-refs says what they
// lead to: for a tag of a folder or a file, Commit is then the id of that.
func (s *Snapshot) Tags() ([]Ref, error) {
	return s.listRefs(func(name string, raw rawRef) (Ref, error) {
		if raw.peeled.IsZero() || raw.fault != nil {
			return s.ref(name, raw)
		}
		return Ref{Name: name, Target: raw.id, Commit: raw.peeled}, nil
	}, TagPrefix)
}

func (s *Snapshot) listRefs(
	read func(name string, raw rawRef) (Ref, error), prefixes ...string,
) (list []Ref, err error) {
	defer s.repository.contain(&err)
	names, raws, err := s.refs.below(prefixes...)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, s.refs.hides)
	list, err = s.refsOf(names, raws, read)
	if err == nil {
		s.report(list, slices.Contains(prefixes, allRefs))
	}
	return list, err
}

// report tells the observer of a list. One of some refs does not say that the others can be read.
func (s *Snapshot) report(refs []Ref, all bool) {
	if damaged, first := damagedOf(refs); all || damaged > 0 {
		s.repository.options.Observer.RefsListed(len(refs), damaged, first)
	}
}

// refsOf reads refs of the given names.
func (s *Snapshot) refsOf(
	names []string, raws map[string]rawRef, read func(name string, raw rawRef) (Ref, error),
) ([]Ref, error) {
	refs := make([]Ref, 0, len(names))
	for _, name := range names {
		raw, ok := s.refs.followIn(raws, name)
		if !ok { // a symbolic ref to a missing ref has no value
			continue
		}
		ref, err := read(name, raw)
		if isDamage(err) {
			ref.Damage, err = err, nil
		}
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// Ref reads one visible ref by its full name.
func (s *Snapshot) Ref(name string) (ref Ref, err error) {
	defer s.repository.contain(&err)
	if !validRefName(name) || s.refs.hides(name) {
		return Ref{}, fmt.Errorf("ref: %w", ErrNotFound)
	}
	_, raw, ok, err := s.follow(name)
	if err != nil {
		return Ref{}, err
	}
	if !ok {
		return Ref{}, fmt.Errorf("ref: %w", ErrNotFound)
	}
	return s.ref(name, raw)
}

// namedRef is the end of a chain of symbolic refs.
type namedRef struct {
	name string
	raw  rawRef
}

// follow reads a ref through symbolic ones, or returns what it has found before.
func (s *Snapshot) follow(name string) (final string, ref rawRef, ok bool, err error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	if known, found := s.named[name]; found {
		return known.name, known.raw, true, nil
	}
	final, ref, ok, err = s.refs.follow(name)
	if !ok || err != nil {
		return final, ref, ok, err
	}
	found := namedRef{final, ref}
	if known, again := s.named[final]; again {
		found = known
	}
	if s.named == nil {
		s.named = make(map[string]namedRef)
	}
	s.named[name], s.named[final] = found, found
	return found.name, found.raw, true, nil
}

// ref follows annotated tags to their commit.
func (s *Snapshot) ref(name string, raw rawRef) (Ref, error) {
	ref := Ref{Name: name, Target: raw.id}
	if raw.fault != nil {
		return ref, raw.fault
	}
	from := raw.id
	if !raw.peeled.IsZero() { // it can be that of a folder or a file, too
		from = raw.peeled
	}
	commit, err := s.peel(from)
	ref.Commit = commit
	if errors.Is(err, errNotCommit) {
		return ref, nil
	}
	return ref, missingIs(raw.id, "a ref names it, but it is missing", err)
}

// errNotCommit says that an id leads to a tree or a blob.
var errNotCommit = fmt.Errorf("no commit: %w", ErrNotFound)

// maxTagDepth bounds tags of tags.
const maxTagDepth = 64

var errTagDepth = errors.New("too many tags of tags")

// peel follows annotated tags from id to a commit.
func (s *Snapshot) peel(id ID) (commit ID, err error) {
	defer s.repository.contain(&err)
	for range maxTagDepth {
		kind, err := s.objects.Type(id)
		if err != nil {
			return ID{}, domainError(err)
		}
		switch kind {
		case objects.Commit:
			return id, nil
		case objects.Tag:
			if id, err = s.tagTarget(id); err != nil {
				return ID{}, err
			}
		default:
			return ID{}, s.notCommit(id, kind)
		}
	}
	return ID{}, damage(id, errTagDepth)
}

// tagTarget is the object that an annotated tag names.
func (s *Snapshot) tagTarget(id ID) (ID, error) {
	content, err := s.read(id, objects.Tag, maxCommitBytes)
	if err != nil {
		return ID{}, err
	}
	return ParseTagTarget(id, content)
}

// notCommit is the error for a tree or a blob in place of a commit. The object is compared with its
// id if that is cheap, since one flipped bit can change an object's kind.
func (s *Snapshot) notCommit(id ID, kind objects.Type) error {
	_, _, err := s.objects.ReadVerified(id, maxCommitBytes, nil)
	if err != nil && !errors.Is(err, objects.ErrTooLarge) {
		return domainError(err)
	}
	return &KindError{ID: id, Tree: kind == objects.Tree}
}

// Commit reads a commit.
func (s *Snapshot) Commit(id ID) (commit Commit, err error) {
	defer s.repository.contain(&err)
	content, err := s.read(id, objects.Commit, maxCommitBytes)
	if err != nil {
		return Commit{}, err
	}
	return parseCommit(id, content)
}

// LongestRef splits a path after the longest leading part that is a ref below the given prefix,
// such as refs/heads/. The rest is empty, or begins with the marker as a whole segment:
// "/contents".
func (r *Repository) LongestRef(prefix, p, marker string) (name, rest string, err error) {
	defer r.contain(&err)
	var candidates []string
	for _, end := range slices.Backward(refEnds(p, marker)) {
		candidates = append(candidates, prefix+p[:end])
	}
	refs, err := r.refs()
	if err != nil {
		return "", "", err
	}
	name, err = refs.first(candidates)
	if err != nil {
		return "", "", err
	}
	return name, p[len(name)-len(prefix):], nil
}

// damagedOf counts the unreadable refs, and returns the first of them.
func damagedOf(refs []Ref) (count int, first Ref) {
	for _, ref := range slices.Backward(refs) {
		if ref.Damage != nil {
			count, first = count+1, ref
		}
	}
	return count, first
}

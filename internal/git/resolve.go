package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects"
)

// Resolve finds the commit that a revision names: see [Snapshot.ResolveObject]. A tag stands for
// its commit; a revision without a commit is [ErrNotFound].
func (s *Snapshot) Resolve(ctx context.Context, revision string) (commit Commit, err error) {
	defer func() { s.repository.options.Observer.Resolved(err) }()
	object, err := s.ResolveObject(ctx, revision)
	if err != nil {
		return Commit{}, err
	}
	id, err := s.peel(object)
	if errors.Is(err, errNotCommit) {
		return Commit{}, err
	}
	if err != nil {
		return Commit{}, MustExist(object, err)
	}
	commit, err = s.Commit(id)
	return commit, MustExist(id, err)
}

// ResolveObject finds the object that a revision names, as gitrevisions(7) defines it: HEAD or @, a
// ref in full or in part, an object id in full or abbreviated, or the output of git describe, and
// after it any of ~, ~N, ^, ^N, ^{} and ^{kind}. If several match, a full id comes first, then refs
// in the order of [RefPrefixes], and abbreviations last.
//
// The errors are [ErrNotFound] for missing and hidden objects, an [AmbiguousError] for an
// abbreviation of several visible commits, and a [RevisionError] for unsupported forms.
func (s *Snapshot) ResolveObject(ctx context.Context, revision string) (ID, error) {
	_, object, _, err := s.resolveSteps(ctx, revision)
	return object, err
}

// resolveSteps returns the object of the name in a revision, and the object to which the suffixes
// lead from there.
func (s *Snapshot) resolveSteps(ctx context.Context, revision string) (named, object ID, suffixes string, err error) {
	name, steps, err := splitRevision(revision)
	if err != nil {
		return ID{}, ID{}, "", err
	}
	if named, err = s.resolveName(ctx, name); err != nil {
		return ID{}, ID{}, "", err
	}
	object, err = s.climb(ctx, named, steps)
	return named, object, revision[len(name):], err
}

// RefPrefixes are the prefixes that may be left out of a ref's full name, in the order in which
// gitrevisions(7) tries them.
func RefPrefixes() []string {
	return []string{"", "refs/", TagPrefix, BranchPrefix, remotePrefix}
}

func (s *Snapshot) resolveName(ctx context.Context, name string) (ID, error) {
	if name == "HEAD" || name == "@" {
		head, err := s.Head()
		return head.Target, err
	}
	digits := strings.ToLower(name) // git accepts capitals, too
	if isFullID(digits) {
		return s.resolveID(ctx, digits)
	}
	ref, err := s.findRef(name)
	if !errors.Is(err, ErrNotFound) {
		return ref.Target, err
	}
	if abbreviation := describedID(digits); isAbbreviation(abbreviation) {
		return s.resolveAbbreviation(ctx, abbreviation)
	}
	return ID{}, fmt.Errorf("revision: %w", ErrNotFound)
}

// findRef finds the ref that a name means, in the order of [RefPrefixes].
func (s *Snapshot) findRef(name string) (Ref, error) {
	for _, prefix := range RefPrefixes() {
		if ref, err := s.Ref(prefix + name); !errors.Is(err, ErrNotFound) {
			return ref, err
		}
	}
	return s.Ref(remotePrefix + name + "/HEAD")
}

// NamedRef finds the ref that a revision is the name of: see [Snapshot.ResolveObject]. HEAD is the
// default branch. Other forms of a revision, such as ids, are [ErrNotFound].
func (s *Snapshot) NamedRef(revision string) (Ref, error) {
	switch {
	case revision == "HEAD" || revision == "@":
		return s.Head()
	case isFullID(strings.ToLower(revision)):
		return Ref{}, fmt.Errorf("ref: %w", ErrNotFound)
	default:
		return s.findRef(revision)
	}
}

// describedID reduces the output of git describe ("v1.0-14-g2414721") to the abbreviated id at its
// end, which alone counts: <describeOutput> of gitrevisions(7). It returns other revisions
// unchanged.
func describedID(revision string) string {
	if at := strings.LastIndex(revision, "-g"); at > 0 {
		return revision[at+len("-g"):]
	}
	return revision
}

// resolveID accepts the id of a commit, or of an annotated tag that leads to one; other objects
// only if a visible ref holds them.
func (s *Snapshot) resolveID(ctx context.Context, hex string) (ID, error) {
	id, err := ParseID(hex)
	if err != nil {
		return ID{}, err
	}
	commit, err := s.peel(id)
	if errors.Is(err, ErrNotFound) && !errors.Is(err, errNotCommit) {
		if err = s.doubt(id, err); err == nil {
			commit, err = s.peel(id)
		}
	}
	switch {
	case errors.Is(err, ErrPartial): // every commit is here, so a missing object is none
		return ID{}, fmt.Errorf("revision: %w", ErrNotFound)
	case errors.Is(err, errNotCommit):
		held, err := s.holds(id)
		if err == nil && !held { // hidden objects must look like missing ones
			err = fmt.Errorf("revision: %w", ErrNotFound)
		}
		return id, err
	case err != nil:
		return ID{}, err
	}
	found, err := s.visible(ctx, []ID{commit})
	if err == nil && len(found) == 0 { // the error of a missing object
		err = fmt.Errorf("revision: %w", ErrNotFound)
	}
	return id, err
}

// doubt examines why an object was not found. It returns nil if a push has brought the object meanwhile, an error if it
// may exist, as a ref that cannot be read may lead to it or the history does, and otherwise notFound.
func (s *Snapshot) doubt(id ID, notFound error) error {
	reach, damaged, err := s.reach()
	if err = errors.Join(err, damaged); err != nil {
		return err
	}
	if known, _ := reach.look([]ID{id}); len(known) > 0 {
		_, err := s.objects.Type(id) // git writes objects before refs, so it is here now, or damaged
		return missingIs(id, "a ref leads to it, but it is missing", domainError(err))
	}
	// The reach may be cached from a time when the refs could be read.
	if _, err = s.Head(); errors.Is(err, ErrCorrupt) {
		return err
	}
	return notFound
}

// maxCandidates bounds the objects that one abbreviation is compared with. Four
// digits, the shortest, fit one in 65536: sixty million objects.
const maxCandidates = 1000

// resolveAbbreviation looks only at visible commits: a hidden object must not make an abbreviation
// ambiguous, nor be listed.
func (s *Snapshot) resolveAbbreviation(ctx context.Context, prefix string) (ID, error) {
	ids, err := s.objects.Prefix(prefix, maxCandidates)
	if err != nil {
		return ID{}, domainError(err)
	}
	var commits []ID
	for _, id := range ids {
		if kind, err := s.objects.Type(id); err == nil && kind == objects.Commit {
			commits = append(commits, id)
		}
	}
	if len(commits) == 0 {
		commits = []ID{{}} // no object has this id, and the answer takes as long as for a hidden commit
	}
	if commits, err = s.visible(ctx, commits); err != nil {
		return ID{}, err
	}
	if len(commits) == 1 && commits[0].IsZero() { // all are visible
		commits = nil
	}
	switch len(commits) {
	case 0:
		return ID{}, fmt.Errorf("revision: %w", ErrNotFound)
	case 1:
		return commits[0], nil
	default:
		return ID{}, &AmbiguousError{Prefix: prefix, Candidates: commits}
	}
}

// Treeish is an object that an archive can be made of: <tree-ish> of gitrevisions(7). It is a
// commit, or a tree to which a tag or the suffix ^{tree} leads.
type Treeish struct {
	// Revision always names the same object, for [Snapshot.ResolveTreeish]. For a commit it is the
	// id.
	Revision string
	// ID is that of the commit, or else of the tag or tree that the revision names.
	ID   ID
	Tree ID
	// Commit is zero for a tree without one.
	Commit ID
	// When is the date of the committer, or of the tagger. A tree alone has none: When is the
	// beginning of 1970. Date is the same, as in [Commit].
	When time.Time
	Date uint64
}

// Treeish returns the commit with its tree.
func (c Commit) Treeish() Treeish {
	return Treeish{
		Revision: c.ID.String(), ID: c.ID, Tree: c.Tree, Commit: c.ID, When: c.Committer.When(), Date: c.Date,
	}
}

// ResolveTreeish finds the commit that a revision names, like [Snapshot.Resolve], or a tree. A file
// is a [KindError].
func (s *Snapshot) ResolveTreeish(ctx context.Context, revision string) (Treeish, error) {
	commit, err := s.Resolve(ctx, revision)
	if err == nil {
		return commit.Treeish(), nil
	}
	if found := (*KindError)(nil); !errors.As(err, &found) || !found.Tree {
		return Treeish{}, err
	}
	named, id, suffixes, err := s.resolveSteps(ctx, revision)
	if err != nil {
		return Treeish{}, err
	}
	t := Treeish{Revision: named.String() + suffixes, ID: id, When: time.Unix(0, 0).UTC()}
	c := climb{Snapshot: s}
	if t.Tree, err = c.peelTo(id, objects.Tree.String()); err != nil {
		return Treeish{}, err
	}
	return t, s.dateTag(&t)
}

// dateTag sets the date of the tag that leads to a tree.
func (s *Snapshot) dateTag(t *Treeish) error {
	if t.ID == t.Tree {
		return nil
	}
	content, err := s.read(t.ID, objects.Tag, maxCommitBytes)
	if err != nil {
		return err
	}
	header, _, _ := strings.Cut(string(content), "\n\n")
	if _, line, ok := strings.Cut(header, "\ntagger "); ok {
		line, _, _ = strings.Cut(line, "\n")
		tagger, _ := ParsePerson(line)
		t.When, t.Date = tagger.When(), tagger.Seconds
	}
	return nil
}

// Has reports whether an object of any kind exists, hidden or not.
func (s *Snapshot) Has(id ID) (bool, error) {
	_, err := s.objects.Type(id)
	if err = domainError(err); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// MayLack reports whether objects may be missing without damage: [ErrPartial], [ErrOutside].
func (s *Snapshot) MayLack() bool { return s.objects.MayLack() }

// holds reports whether a visible ref, or HEAD, points to the object itself.
func (s *Snapshot) holds(id ID) (bool, error) {
	tips, _, err := s.refs.tips()
	if err != nil {
		return false, err
	}
	for _, held := range tips.ids {
		if held == id {
			return true, nil
		}
	}
	return false, nil
}

package repos

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/objects"
)

// Treeish is what an archive can be made of: <tree-ish> of gitrevisions(7). It is
// a commit, or a tree to which a tag or the suffix ^{tree} leads.
type Treeish struct {
	// Revision names the same for ever, for [Snapshot.ResolveTreeish]. Of a commit it
	// is the id.
	Revision string
	// ID is that of the commit, or else of the tag or tree that the revision names.
	ID   ID
	Tree ID
	// Commit is zero for a tree without one.
	Commit ID
	// When is the date of the committer, or of the tagger. A tree alone has none: it
	// is the beginning of 1970. Date is the same, as in [Commit].
	When time.Time
	Date uint64
}

// Treeish is the commit with its tree.
func (c Commit) Treeish() Treeish {
	return Treeish{Revision: c.ID.String(), ID: c.ID, Tree: c.Tree, Commit: c.ID, When: c.Committer.When(), Date: c.Date}
}

// ResolveTreeish finds the commit that a revision names, as [Snapshot.Resolve]
// does, or a tree where it leads to no commit.
func (s *Snapshot) ResolveTreeish(ctx context.Context, revision string) (Treeish, error) {
	commit, err := s.Resolve(ctx, revision)
	if err == nil {
		return commit.Treeish(), nil
	}
	if !errors.Is(err, errNotCommit) {
		return Treeish{}, err
	}
	name, steps, err := splitRevision(revision)
	if err != nil {
		return Treeish{}, err
	}
	named, err := s.resolveName(ctx, name)
	if err != nil {
		return Treeish{}, err
	}
	id, err := s.climb(ctx, named, steps)
	if err != nil {
		return Treeish{}, err
	}
	t := Treeish{Revision: named.String() + revision[len(name):], ID: id, When: time.Unix(0, 0).UTC()}
	if t.Tree, err = s.treeOf(id); err != nil {
		return Treeish{}, err
	}
	return t, s.dateTag(&t)
}

// treeOf follows tags from an object to a tree.
func (s *Snapshot) treeOf(id ID) (ID, error) {
	c := climb{Snapshot: s}
	tree, err := c.peelTo(id, objects.Tree.String())
	return tree, mustExist(id, err)
}

// dateTag notes when somebody made the tag that a tree is had by.
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

// Has reports whether an object of any kind is here, served or not.
func (s *Snapshot) Has(id ID) (bool, error) {
	_, _, err := s.objects.Stat(id)
	if err = domainError(err); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// holds reports whether a served ref, or HEAD, is of the object itself.
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

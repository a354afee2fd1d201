package subst

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/repos"
)

// source reads commits as git does: without parents where a shallow history
// ends. The lists are read once for the archive.
type source struct {
	Repository
	refs    []repos.Ref
	shallow map[repos.ID]bool
}

// open reads what is needed to read a commit.
func (s *source) open() error {
	if s.shallow != nil {
		return nil
	}
	shallow, err := s.Shallow()
	if err != nil {
		return err
	}
	s.shallow = make(map[repos.ID]bool, len(shallow))
	for _, id := range shallow {
		s.shallow[id] = true
	}
	return nil
}

// allRefs are more work than the rest: what each leads to has to be found. One
// that cannot be read may lead to anything, so that no answer would be right.
func (s *source) allRefs() ([]repos.Ref, error) {
	if s.refs == nil {
		refs, err := readable(s.Refs())
		if err != nil {
			return nil, err
		}
		s.refs = refs
	}
	return s.refs, nil
}

// readable refuses refs of which one cannot be read.
func readable(refs []repos.Ref, err error) ([]repos.Ref, error) {
	for _, ref := range refs {
		if ref.Damage != nil {
			return nil, fmt.Errorf("%s: %w", ref.Name, ref.Damage)
		}
	}
	return refs, err
}

// tags are those of allRefs, without what others lead to where nobody has asked.
func (s *source) tags() ([]repos.Ref, error) {
	if s.refs == nil {
		return readable(s.Tags())
	}
	return slices.DeleteFunc(slices.Clone(s.refs), func(r repos.Ref) bool { return r.Tag() == "" }), nil
}

func (s *source) commit(id repos.ID) (*commit, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	raw, err := s.RawCommit(id)
	if err != nil {
		return nil, err
	}
	return parseCommit(raw, s.shallow[id]), nil
}

// links is what a walk needs of a commit: its date and its parents. A commit
// that is missing has neither, as for git.
func (s *source) links(id repos.ID) (date uint64, parents []repos.ID, err error) {
	if err := s.open(); err != nil {
		return 0, nil, err
	}
	raw, err := s.RawCommit(id)
	if errors.Is(err, repos.ErrNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	header := headerOf(string(withoutMessage(raw)))
	if !s.shallow[id] {
		parents = header.parents
	}
	return header.date(), parents, nil
}

// withoutMessage leaves out most of a commit, which a walk does not look at.
func withoutMessage(raw []byte) []byte {
	if end := bytes.Index(raw, []byte("\n\n")); end >= 0 {
		return raw[:end+1]
	}
	return raw
}

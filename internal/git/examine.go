package git

import "errors"

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
		return mustExist(ref.Commit, err)
	}
	_, err = s.Tree(commit.Tree)
	return mustExist(commit.Tree, err)
}

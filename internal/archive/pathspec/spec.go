package pathspec

import "strings"

// Spec is a list of pathspecs. It does not change, and its methods may run at
// the same time.
type Spec struct {
	include, exclude []item
	checks           []Check
}

// New reads pathspecs. Those of excludes take paths away, as if they began with
// ":(exclude)", and may have other magic. Without any, everything is selected.
// It fails with [ErrSyntax].
func New(paths, excludes []string) (*Spec, error) {
	s := &Spec{}
	for i, text := range append(paths[:len(paths):len(paths)], excludes...) {
		it, err := parse(text)
		if err != nil {
			return nil, err
		}
		if i >= len(paths) {
			it.magic |= exclude
		}
		s.add(it)
		var check Check
		check.alone.add(it)
		check.alone.complete()
		s.checks = append(s.checks, check)
	}
	s.complete()
	return s, nil
}

func (s *Spec) add(i item) {
	if i.magic&exclude != 0 {
		s.exclude = append(s.exclude, i)
		return
	}
	s.include = append(s.include, i)
}

// complete lets a list that only excludes select from everything.
func (s *Spec) complete() {
	if len(s.include) == 0 {
		s.include = append(s.include, everything)
	}
}

// Match reports whether a file or gitlink is selected, or whether something in
// a folder may be. path is the whole path, without a slash at the end, and not
// empty. The folders above must have matched.
func (s *Spec) Match(path []byte, kind Kind) bool {
	e := newEntry(path, kind)
	if strongest(s.include, &e) == not {
		return false
	}
	switch strongest(s.exclude, &e) {
	case not:
		return true
	case one: // of a folder something may be left
		return kind == Folder
	default:
		return false
	}
}

// strongest is the highest interest of the items. git stops at the first that
// has any; that selects the same, since a folder that it enters for the less
// has only entries that it then leaves out.
func strongest(items []item, e *entry) interest {
	best := not
	for i := range items {
		best = max(best, items[i].selects(e))
		if best == whole {
			break
		}
	}
	return best
}

// Checks are the conditions on the tree, one for each pathspec in the order of
// paths and then excludes: git makes no archive unless each of them, taken by
// itself, matches something. One that excludes fails when nothing is left.
func (s *Spec) Checks() []Check { return s.checks }

// Check asks whether a pathspec matches anything in a tree, as git archive does
// before it writes the first byte. Attributes and the other pathspecs have no
// part in it.
//
// For most, [Check.Path] gives the one path to look up. For others a walk calls
// [Check.Match] until something is found.
type Check struct{ alone Spec }

// Path is the path that must be there, if the pathspec is just that; it must be
// a folder or a gitlink if folder is true.
func (c *Check) Path() (path string, folder, ok bool) {
	i := &c.alone.include[0]
	if len(c.alone.exclude) > 0 || i.magic&icase != 0 || i.literal < len(i.match) {
		return "", false, false
	}
	path, folder = strings.CutSuffix(i.match, "/")
	if clean, inside := normalise(path); !inside || clean != path || path == "" || strings.HasSuffix(path, "/") {
		return "", false, false
	}
	return path, folder, true
}

// Match reports whether the entry shows that the pathspec matches something,
// and if it does not, whether one below it could. The folders above must have
// been entered.
func (c *Check) Match(path []byte, kind Kind) (found, enter bool) {
	if !c.alone.Match(path, kind) {
		return false, false
	}
	if kind != Folder || c.alone.selectsFolder(path) {
		return true, false
	}
	return false, true
}

func (s *Spec) selectsFolder(path []byte) bool {
	for i := range s.exclude {
		if s.exclude[i].selectsFolder(path) {
			return false
		}
	}
	return s.include[0].selectsFolder(path)
}

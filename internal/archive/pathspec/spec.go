package pathspec

import "strings"

// Spec is a list of pathspecs. It is immutable and safe for concurrent use.
type Spec struct {
	include, exclude []item
	checks           []Check
}

// New parses pathspecs. Those of excludes exclude paths, as if they began with ":(exclude)", and
// may have other magic. Without any, everything is selected. The error is [ErrSyntax].
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

// complete makes a list that only excludes select from everything.
func (s *Spec) complete() {
	if len(s.include) == 0 {
		s.include = append(s.include, everything)
	}
}

// Match reports whether a file or gitlink is selected, or whether something in a folder may be.
// path is the whole path, without a final slash, and not empty. The parent folders must have
// matched.
func (s *Spec) Match(path []byte, kind Kind) bool {
	e := newEntry(path, kind)
	if strongest(s.include, &e) == not {
		return false
	}
	switch strongest(s.exclude, &e) {
	case not:
		return true
	case one: // part of a folder may remain
		return kind == Folder
	default:
		return false
	}
}

// strongest returns the highest interest of the items. git stops at the first item with any; that
// selects the same, because a folder entered for the lesser interest contains only entries that are
// then excluded.
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

// Checks returns the conditions on the tree, one for each pathspec in the order of paths and then
// excludes: git makes no archive unless each of them, on its own, matches something. An excluding
// pathspec fails if nothing remains.
func (s *Spec) Checks() []Check { return s.checks }

// Check tests whether a pathspec matches anything in a tree, as git archive does before it writes
// the first byte. Attributes and the other pathspecs do not affect it.
//
// [Check.Path] returns the one path to look up for most pathspecs. For others a walk calls
// [Check.Match] until it finds something.
type Check struct{ alone Spec }

// Path returns the path that must exist, if the pathspec is a plain path; it must be a folder or a
// gitlink if folder is true.
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

// Match reports whether the entry proves that the pathspec matches something, and if not, whether
// an entry below it could. The parent folders must have been entered.
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

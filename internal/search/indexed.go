package search

import (
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/index"
)

// mayTakeLong reports whether the expressions of a query could take seconds for a file of a size.
func (c *compiled) mayTakeLong(bytes int64) bool {
	return c.pattern != nil && bytes*int64(c.pattern.Cost()) > maxSteps
}

// forIndex returns what the index is asked for.
func (c *compiled) forIndex() index.Query {
	q := index.Query{Words: c.ranking}
	if c.pattern != nil {
		q.Need = index.NeedOf(c.pattern)
	}
	return q
}

// lookUp takes the outcome of a file from the index, unless its path deselects it, and adds it to the
// sum of its folder.
func (w *walk) lookUp(s *step, l *level) {
	if w.search.indexed == nil || s.outcome != unknown && !l.gathers {
		return
	}
	verdict, counted := w.search.indexed.File(s.id, s.path, &l.sum)
	if verdict == index.Absent {
		w.target.unindexed = true
	}
	if s.outcome != unknown {
		return
	}
	switch verdict {
	case index.None:
		s.outcome = none
	case index.Binary:
		s.outcome = isBinary
	case index.Large:
		s.outcome = isLarge
	case index.Counted:
		s.outcome, s.found = matches, &tally{counted}
	}
}

// lacks reports whether nothing below a folder can match, and its counts are known.
func (w *walk) lacks(known *index.Folder) bool {
	return known != nil && w.search.query.filterKey == "" && w.search.indexed.Lacks(known)
}

// skips takes the counts of a folder from the index if nothing in it can match.
func (w *walk) skips(s *step, known *index.Folder) bool {
	if s.resumed || !w.lacks(known) {
		return false
	}
	s.kind = skipped
	s.whole = Counts{Files: known.Texts, Binary: known.Binary, Large: known.Large}
	return true
}

// answersAgain reports whether the index answers as fast as a cache of folders would, which takes as much memory.
func (w *walk) answersAgain() bool { return w.search.indexed != nil && w.search.indexed.Counts() }

// known returns what is below a folder, or nil.
func (w *walk) known(tree git.ID) *index.Folder {
	if w.search.indexed == nil {
		return nil
	}
	return w.search.indexed.Folder(tree)
}

// leaveLevel leaves the innermost folder, and adds it to the sum of the one above. The level of root was never entered.
func (w *walk) leaveLevel() {
	last := len(w.levels) - 1
	l := &w.levels[last]
	if l.gathers {
		l.known = w.search.indexed.Remember(l.tree, &l.sum)
	}
	known := l.known
	w.levels[last] = level{}
	w.levels = w.levels[:last]
	if last > 0 {
		w.levels[last-1].sum.AddFolder(known)
	}
}

// want asks for the files that are not in the index.
func (s *search) want(t *target) {
	if t.unindexed {
		s.options.Index.Want(t.name, t.tree)
	}
}

// knownHead returns what HEAD leads to, if the index knows.
func (s *search) knownHead(name string) (index.Head, bool) {
	repository, err := s.view.Known(name)
	if err != nil {
		return index.Head{}, false
	}
	return s.options.Index.Head(repository)
}

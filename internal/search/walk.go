package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/search/language"
)

// maxDepth bounds nested folders, as for archives: git itself refuses trees that are deeper than
// some thousands (core.maxTreeDepth), and real trees stay below hundreds.
const maxDepth = 1024

// ErrDepth ends the search of a repository with deeper folders.
var ErrDepth = errors.New("folders are nested too deep to be searched")

// step is an element of the walk, in the order of the results.
type step struct {
	kind   kind
	before Counts // of files before this step that have no match, and make no step
	whole  Counts // of a skipped folder
	path   string
	name   string // the last part of path
	id     git.ID
	target *target // the repository, for steps begin and end

	unsure   bool // of a file: the content decides about the selection
	skip     int  // of a file: lines that an earlier call returned
	resumed  bool // of a folder: an earlier call stopped in it
	remember bool // of a folder: its answer is stored
	outcome  outcome
	found    finding
	err      error
}

// kind of a step.
type kind uint8

const (
	begin   kind = iota // a repository
	enter               // a folder
	file                // to be searched, or with a known outcome
	skipped             // a folder without matches: only its counts
	leave               // the last entered folder
	problem             // the rest of the repository cannot be walked
	end                 // of the repository
)

// target is a repository at a commit.
type target struct {
	name     string
	snapshot *git.Snapshot // nil until something is read: see [search.openTarget]
	commit   git.ID
	tree     git.ID

	unindexed bool // a file is not in the index
}

// walk goes through repositories and their trees ahead of the search. It is not a [git.WalkTree]:
// for a folder with a known answer it walks the answer, and reads no tree.
type walk struct {
	search   *search
	names    []string // remaining repositories
	heads    *heads   // of these; nil if others are searched
	single   bool     // one repository was requested: its errors are the caller's
	from     position // start position; empty after the first repository
	target   *target
	levels   []level
	refError error // the reason why the last repository lacks the ref
}

// level is a folder on the walk's current path.
type level struct {
	path    string
	entries []git.TreeEntry // if it is walked
	answer  *treeAnswer     // if it is known
	next    int
	resume  []string // remaining parts of the path to resume at, or nil
	gap     Counts   // since the last step

	tree    git.ID
	known   *index.Folder // what the index has of it, or nil
	sum     index.Sum     // of the entries so far
	gathers bool          // the sum will be that of the whole folder, and is not known
}

func (w *walk) next(ctx context.Context) (s step, ok bool, err error) {
	for {
		if ctx.Err() != nil {
			return step{}, false, context.Cause(ctx)
		}
		switch {
		case w.target == nil:
			s, ok, err := w.repository(ctx)
			if ok || err != nil {
				return s, ok, err
			}
			if len(w.names) == 0 {
				return step{}, false, nil
			}
		case len(w.levels) == 0:
			s = step{kind: end, target: w.target}
			w.search.want(w.target)
			w.target = nil
			return s, true, nil
		default:
			s, ok, err := w.entry()
			if ok || err != nil {
				return s, ok, err
			}
		}
	}
}

// repository starts the next repository; ok is false if there is nothing to search in it.
func (w *walk) repository(ctx context.Context) (s step, ok bool, err error) {
	if len(w.names) == 0 {
		return step{}, false, nil
	}
	name := w.names[0]
	w.names = w.names[1:]
	from := w.from
	w.from = position{}
	t, tree, err := w.open(ctx, name, from)
	if err == nil {
		w.target = t
		w.levels = append(w.levels[:0], w.root(tree, from))
		return step{kind: begin, target: t, resumed: !from.commit.IsZero()}, true, nil
	}
	if ctx.Err() != nil {
		return step{}, false, context.Cause(ctx)
	}
	absent := errors.Is(err, git.ErrEmpty) || errors.Is(err, git.ErrNotFound)
	switch {
	case !from.commit.IsZero() && absent:
		return step{}, false, ErrCursor
	case w.single && !errors.Is(err, git.ErrEmpty):
		return step{}, false, err
	case absent:
		w.refError = err
		return step{}, false, nil
	}
	return step{kind: problem, target: &target{name: name}, err: err}, true, nil
}

// root returns a level whose only entry is the tree of the commit, so that this tree is an entry
// like others.
func (w *walk) root(tree git.ID, from position) level {
	l := level{entries: []git.TreeEntry{{Mode: git.ModeDir, ID: tree}}}
	if from.path != "" {
		l.resume = append([]string{""}, strings.Split(from.path, "/")...)
		w.search.skipLines = from.lines
	}
	return l
}

func (t *target) close() {
	if t.snapshot != nil {
		_ = t.snapshot.Close() // never fails
	}
}

// open finds the commit to search. There is no snapshot yet if the commit of HEAD is known.
func (w *walk) open(ctx context.Context, name string, from position) (*target, git.ID, error) {
	head, err := w.heads.take()
	if err != nil {
		return nil, git.ID{}, err
	}
	isHead := w.heads != nil && w.pinned(name, from).IsZero()
	if isHead && head != (index.Head{}) {
		return &target{name: name, commit: head.Commit, tree: head.Tree}, head.Tree, nil
	}
	snapshot, err := w.search.view.Snapshot(name)
	if err != nil {
		return nil, git.ID{}, err
	}
	commit, err := snapshot.Resolve(ctx, cmp.Or(w.search.request.Ref, "HEAD"))
	if at := w.pinned(name, from); !at.IsZero() && (err != nil || commit.ID != at) {
		commit, err = snapshot.Resolve(ctx, at.String())
	}
	if err != nil {
		return nil, git.ID{}, errors.Join(fmt.Errorf("repository %s: %w", name, err), snapshot.Close())
	}
	if repository, err := w.search.view.Known(name); isHead && err == nil {
		w.search.options.Index.RememberHead(repository, snapshot, commit)
	}
	return &target{name: name, snapshot: snapshot, commit: commit.ID, tree: commit.Tree}, commit.Tree, nil
}

// openTarget takes the snapshot of a repository whose commit was known without. HEAD led to the commit when the search
// came to the repository, so that it need not be reachable any more.
func (s *search) openTarget(t *target) error {
	if t.snapshot != nil {
		return nil
	}
	snapshot, err := s.view.Snapshot(t.name)
	if err != nil {
		return err
	}
	if _, err := snapshot.Commit(t.commit); err != nil {
		return errors.Join(fmt.Errorf("repository %s: %w", t.name, err), snapshot.Close())
	}
	t.snapshot = snapshot
	s.open = append(s.open, t)
	return nil
}

// pinned returns the commit of an earlier page, or zero.
func (w *walk) pinned(name string, from position) git.ID {
	if from.commit.IsZero() && w.search.ranked != nil {
		return w.search.ranked.pinned[name]
	}
	return from.commit
}

// entry returns the step of the next entry of the innermost folder; ok is false if the entry makes
// none.
func (w *walk) entry() (s step, ok bool, err error) {
	l := &w.levels[len(w.levels)-1]
	if l.answer != nil {
		s, err = w.cachedEntry(l)
		return s, true, err
	}
	if l.next == len(l.entries) {
		if len(l.resume) > 0 {
			return step{}, false, ErrCursor // the folder has no such entry
		}
		gap := l.gap
		w.leaveLevel()
		return step{kind: leave, before: gap}, len(w.levels) > 0, nil
	}
	e := l.entries[l.next]
	l.next++
	resume := l.resume
	if len(resume) > 0 {
		if e.Name != resume[0] {
			return step{}, false, nil
		}
		l.resume, resume = nil, resume[1:]
	}
	s = step{path: join(l.path, e.Name), name: e.Name, id: e.ID, resumed: len(resume) > 0}
	switch {
	case e.Mode.IsDir():
		gap := l.gap
		l.gap = Counts{}
		s, err = w.folder(s, resume)
		s.before = gap
		return s, true, err
	case e.Mode.IsRegular() && !s.resumed:
		return w.file(s, l)
	case s.resumed:
		return step{}, false, ErrCursor
	}
	return step{}, false, nil
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// file returns the step of a file, unless its path deselects it or it is known to have no match.
func (w *walk) file(s step, l *level) (step, bool, error) {
	selected := w.search.query.files.byPath(s.path)
	if selected == language.No {
		s.outcome = excluded
		w.lookUp(&s, l)
		return step{}, false, nil
	}
	s.kind, s.unsure = file, selected == language.Unsure
	w.lookUp(&s, l)
	if s.outcome == unknown {
		s.outcome, s.found = w.search.files.file(w.search.fileKey(&s))
	}
	s.skip, w.search.skipLines = w.search.skipLines, 0
	if counts, ok := s.outcome.counts(); ok && !s.unsure {
		l.gap.add(counts)
		return step{}, false, nil
	}
	s.before, l.gap = l.gap, Counts{}
	return s, true, nil
}

// folder enters a folder, or skips one that is known to have no match.
func (w *walk) folder(s step, resume []string) (step, error) {
	s.remember = !s.resumed && !w.answersAgain()
	above, known := &w.levels[len(w.levels)-1], w.known(s.id)
	if s.remember {
		if answer := w.search.trees.tree(w.search.treeKey(s.id, s.path)); answer != nil {
			if len(answer.children) == 0 {
				s.kind, s.whole = skipped, answer.tail
				above.sum.AddFolder(known)
				return s, nil
			}
			s.kind, s.remember = enter, false
			w.levels = append(w.levels, level{path: s.path, answer: answer, known: known})
			return s, nil
		}
	}
	if w.skips(&s, known) {
		above.sum.AddFolder(known)
		return s, nil
	}
	if len(w.levels) > maxDepth {
		return w.endRepository(fmt.Errorf("more than %d: %w", maxDepth, ErrDepth)), nil
	}
	entries, err := w.search.tree(w.target, s.id)
	if err != nil {
		return w.endRepository(err), nil
	}
	s.kind = enter
	w.levels = append(w.levels, level{
		path: s.path, entries: entries, resume: resume, tree: s.id, known: known,
		gathers: w.search.indexed != nil && known == nil && !s.resumed,
	})
	return s, nil
}

func (w *walk) endRepository(err error) step {
	w.levels = w.levels[:0]
	return step{kind: problem, target: w.target, err: err}
}

// cachedEntry returns the next step of a folder with a known answer.
func (w *walk) cachedEntry(l *level) (step, error) {
	if l.next == len(l.answer.children) {
		tail := l.answer.tail
		w.leaveLevel()
		return step{kind: leave, before: tail}, nil
	}
	c := &l.answer.children[l.next]
	l.next++
	s := step{before: c.before, path: join(l.path, c.name), name: c.name, id: c.id}
	if !c.folder {
		s.kind = file
		s.outcome, s.found = w.search.files.file(w.search.fileKey(&s))
		return s, nil
	}
	return w.folder(s, nil)
}

package checkout

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// Files selects the files that go into a pack.
type Files uint8

// The selections.
const (
	AllFiles       Files = iota
	NoFiles              // git fetches them from the origin
	ConvertedFiles       // those that may differ from the file in the working tree
)

// Seen are the objects that a pack has, or that the client has.
type Seen map[git.ID]struct{}

// Add marks objects as seen.
func (s Seen) Add(ids ...git.ID) {
	for _, id := range ids {
		s[id] = struct{}{}
	}
}

// add reports whether an object was not seen before.
func (s Seen) add(id git.ID) bool {
	before := len(s)
	s[id] = struct{}{}
	return len(s) > before
}

// Mark marks those entries of a batch that are packed: the first one with each content.
func (s Seen) Mark(b *tree.Batch, files Files) {
	if files == NoFiles {
		return
	}
	for i := range b.Len() {
		e := b.Entry(i)
		if !e.Mode.IsRegular() && !e.Mode.IsSymlink() || e.Treatment.IsGenerated() || !s.add(e.ID) {
			continue
		}
		if files == AllFiles || e.Treatment.Changes() || e.Treatment.MayBePointer() {
			b.Pack(i)
		}
	}
}

// modeTag is the mode of an entry that is an annotated tag. That of a commit is a submodule's.
const modeTag git.Mode = 0

// Walk yields the objects of a history that are no files of its working tree: tags, commits,
// folders, and the files of earlier commits. What a folder of the base has is left out of the folders
// at the same path; equal ones are not read. An object that has only moved to another folder is
// yielded again, as git does (pack.useSparse of git-config(1)).
type Walk struct {
	ctx     context.Context
	source  tree.Source
	limits  tree.Limits
	files   Files
	seen    Seen
	heads   []tree.Entry     // tags and commits
	base    git.StoredEntry  // the root folder of the base
	roots   []git.ID         // of the commits
	levels  [][]git.TreePair // folders, and those of the base, the outermost first
	entries int64
}

// NewWalk returns a walk before the first object. What was seen is not yielded.
func NewWalk(ctx context.Context, source tree.Source, h History, files Files, seen Seen, limits tree.Limits) *Walk {
	w := &Walk{ctx: ctx, source: source, limits: limits, files: files, seen: seen}
	if !h.Base.IsZero() {
		w.base = git.StoredEntry{Mode: git.ModeDir, ID: h.Base}
		seen.Add(h.Base)
	}
	for _, id := range h.Tags {
		w.heads = append(w.heads, tree.Entry{Mode: modeTag, ID: id})
	}
	for _, commit := range h.Commits {
		w.heads = append(w.heads, tree.Entry{Mode: git.ModeGitlink, ID: commit.ID})
		w.roots = append(w.roots, commit.Tree)
	}
	return w
}

// Counts returns the number of objects so far.
func (w *Walk) Counts() (entries, ignored int64) { return w.entries, 0 }

// Fill adds objects to a batch until it is full, and reports whether there are more.
func (w *Walk) Fill(b *tree.Batch) (more bool, err error) {
	for !b.Full() {
		e, ok, err := w.next()
		if !ok || err != nil {
			return false, err
		}
		if w.entries++; w.entries > w.limits.Entries {
			return false, w.limits.EntriesExceeded()
		}
		b.Add("", e)
	}
	return true, nil
}

// next returns the next object; ok is false after the last.
func (w *Walk) next() (e tree.Entry, ok bool, err error) {
	for err == nil && !ok {
		switch {
		case len(w.heads) > 0:
			e, w.heads = w.heads[0], w.heads[1:]
			return e, true, nil
		case len(w.levels) > 0:
			e, ok, err = w.nextBelow()
		case len(w.roots) > 0:
			root := w.roots[0]
			w.roots = w.roots[1:]
			e, ok, err = w.take(git.TreePair{{Mode: git.ModeDir, ID: root}, w.base})
		default:
			return e, false, nil
		}
	}
	return e, ok, err
}

// nextBelow takes the next entry of the innermost folder, or leaves the folder.
func (w *Walk) nextBelow() (e tree.Entry, ok bool, err error) {
	last := len(w.levels) - 1
	inner := w.levels[last]
	if len(inner) == 0 {
		w.levels = w.levels[:last]
		return e, false, nil
	}
	w.levels[last] = inner[1:]
	return w.take(inner[0])
}

// take returns an object that was not seen before, and enters a folder.
func (w *Walk) take(pair git.TreePair) (e tree.Entry, ok bool, err error) {
	mode, id := pair[0].Mode, pair[0].ID
	if mode.IsGitlink() || !mode.IsDir() && w.files == NoFiles || !w.seen.add(id) {
		return e, false, nil
	}
	if !mode.IsDir() {
		// The target of a link may have any length, as a file.
		return tree.Entry{Mode: git.ModeRegular, ID: id}, true, nil
	}
	if err := context.Cause(w.ctx); err != nil {
		return e, false, err
	}
	if len(w.levels) >= w.limits.Depth {
		return e, false, w.limits.DepthExceeded()
	}
	entries, err := w.list(pair)
	w.levels = append(w.levels, entries)
	return tree.Entry{Mode: git.ModeDir, ID: id}, true, err
}

// list reads a folder as it is stored: history has folders that could not be unpacked. What the base
// has there counts as seen.
func (w *Walk) list(folder git.TreePair) (entries []git.TreePair, err error) {
	var stored [2]git.StoredTree
	for i, e := range folder {
		if !e.Mode.IsDir() {
			continue
		}
		if stored[i], err = w.source.StoredTree(e.ID, nil); err != nil {
			return nil, git.MustExist(e.ID, err)
		}
	}
	for pair, err := range git.PairTrees(stored[0], stored[1]) {
		if err != nil {
			return nil, err
		}
		if pair[1].Mode != 0 {
			w.seen.Add(pair[1].ID)
		}
		if pair[0].Mode != 0 {
			entries = append(entries, pair)
		}
	}
	return entries, nil
}

// Read returns the content of an object that is no file.
func Read(source tree.Source, e tree.Entry, buf []byte) (kind Kind, content []byte, err error) {
	switch {
	case e.Mode.IsDir():
		stored, err := source.StoredTree(e.ID, buf)
		return Tree, stored.Content, git.MustExist(e.ID, err)
	case e.Mode == modeTag:
		content, err = source.RawTag(e.ID)
		return Tag, content, git.MustExist(e.ID, err)
	default:
		content, err = source.RawCommit(e.ID)
		return Commit, content, git.MustExist(e.ID, err)
	}
}

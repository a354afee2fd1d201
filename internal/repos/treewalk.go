package repos

import "iter"

// TreeWalk goes through a tree in git's order, each folder before what is in it. It
// reads nothing and bounds nothing: whoever walks says what is in the folders that
// are entered. Those who stop on the way, and go on when there is room, use its
// methods; all others range over All.
type TreeWalk struct {
	levels []treeLevel
	path   []byte
}

// treeLevel is a folder that the walk is in.
type treeLevel struct {
	rest   []TreeEntry
	length int // of the path of the folder, with its final slash
}

// WalkTree stands before the first entry of a folder, whose path all paths begin
// with; "" is the root.
func WalkTree(folder string, entries []TreeEntry) *TreeWalk {
	w := &TreeWalk{path: []byte(folder)}
	if folder != "" {
		w.path = append(w.path, '/')
	}
	w.levels = append(w.levels, treeLevel{entries, len(w.path)})
	return w
}

// Depth is how many folders the walk is in, the first one included; 0 is the end.
func (w *TreeWalk) Depth() int { return len(w.levels) }

// Path is that of the entry which Next returned last. It changes with the walk.
func (w *TreeWalk) Path() []byte { return w.path }

// Next returns the next entry of the innermost folder. It is not ok at the end of
// that: then the walk is to leave it.
func (w *TreeWalk) Next() (e TreeEntry, ok bool) {
	inner := &w.levels[len(w.levels)-1]
	if len(inner.rest) == 0 {
		return TreeEntry{}, false
	}
	e, inner.rest = inner.rest[0], inner.rest[1:]
	w.path = append(w.path[:inner.length], e.Name...)
	return e, true
}

// Enter goes into the entry that Next returned last, which has these in it.
func (w *TreeWalk) Enter(entries []TreeEntry) {
	w.path = append(w.path, '/')
	w.levels = append(w.levels, treeLevel{entries, len(w.path)})
}

// Leave goes out of the innermost folder.
func (w *TreeWalk) Leave() { w.levels = w.levels[:len(w.levels)-1] }

// All yields the entries that are left. After each, unless the loop has ended,
// enter says what is in it: nothing for what is not to be entered. Its error is
// yielded in the place of an entry, and ends the walk.
func (w *TreeWalk) All(enter func(TreeEntry) ([]TreeEntry, error)) iter.Seq2[TreeEntry, error] {
	return func(yield func(TreeEntry, error) bool) {
		for w.Depth() > 0 {
			e, ok := w.Next()
			if !ok {
				w.Leave()
				continue
			}
			if !yield(e, nil) {
				return
			}
			entries, err := enter(e)
			if err != nil {
				yield(TreeEntry{}, err)
				return
			}
			if len(entries) > 0 {
				w.Enter(entries)
			}
		}
	}
}

package repos

import "iter"

// WalkedEntry is an entry with its place in the tree that is walked.
type WalkedEntry struct {
	TreeEntry
	// Path begins with that of the folder in which the walk began. It changes with
	// the next entry.
	Path []byte
	// Depth is how many folders it is in, counted from that one: 1 or more.
	Depth int
}

// WalkTree yields the entries of a folder in git's order, and after each what is in
// it. The folder's path is "" for the root. While the loop goes on, enter is asked
// what is in an entry: nothing for what is not to be entered. Its error is yielded
// in the place of an entry, and ends the walk.
//
// It reads nothing and bounds nothing itself.
func WalkTree(
	folder string, entries []TreeEntry, enter func(WalkedEntry) ([]TreeEntry, error),
) iter.Seq2[WalkedEntry, error] {
	type level struct {
		rest   []TreeEntry
		length int // of the folder's path, with its final slash
	}
	return func(yield func(WalkedEntry, error) bool) {
		path := []byte(folder)
		if folder != "" {
			path = append(path, '/')
		}
		for levels := []level{{entries, len(path)}}; len(levels) > 0; {
			inner := &levels[len(levels)-1]
			if len(inner.rest) == 0 {
				levels = levels[:len(levels)-1]
				continue
			}
			path = append(path[:inner.length], inner.rest[0].Name...)
			e := WalkedEntry{inner.rest[0], path, len(levels)}
			inner.rest = inner.rest[1:]
			if !yield(e, nil) {
				return
			}
			below, err := enter(e)
			if err != nil {
				yield(WalkedEntry{}, err)
				return
			}
			if len(below) > 0 {
				path = append(path, '/')
				levels = append(levels, level{below, len(path)})
			}
		}
	}
}

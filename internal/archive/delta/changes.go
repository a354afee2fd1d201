package delta

import (
	"bytes"
	"iter"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// Status is the status of an entry.
type Status uint8

// The statuses correspond to the lists of a delta's manifest.
const (
	Unchanged Status = iota // a folder above others
	TypeChanged
	ModeChanged
	Added
	Modified
	Deleted // not sent
)

// Changes turn one archive into another: the entries to send, in archive order, and the paths to
// delete before, where contents precede their folder.
type Changes struct {
	entries  tree.Batch
	statuses []Status // of entries
	replaced []git.ID // the base's files at the paths of entries
}

func (c *Changes) add(l tree.Limits, prefix string, e tree.Entry, status Status) error {
	c.entries.Add(prefix, e)
	c.statuses = append(c.statuses, status)
	if int64(len(c.statuses)) > l.Entries {
		return l.EntriesExceeded()
	}
	return nil
}

// Paths yields the paths with a status.
func (c *Changes) Paths(status Status) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i, s := range c.statuses {
			if s == status && !yield(c.entries.Entry(i).Path) {
				return
			}
		}
	}
}

// Bases yields the entries that may be patched.
func (c *Changes) Bases() iter.Seq[tree.Entry] {
	return func(yield func(tree.Entry) bool) {
		for e := range c.entries.All() {
			if !e.Base.IsZero() && !yield(e) {
				return
			}
		}
	}
}

// Len returns the number of entries and paths.
func (c *Changes) Len() int { return len(c.statuses) }

// Replaced returns the files that the base has at the paths that change.
func (c *Changes) Replaced() []git.ID { return c.replaced }

// nextSent returns the index of the first entry to send at or after from.
func (c *Changes) nextSent(from int) int {
	for from < len(c.statuses) && c.statuses[from] == Deleted {
		from++
	}
	return from
}

// LeftOut returns a function that takes the paths of the head's archive in order, and reports
// whether the delta omits them.
func (c *Changes) LeftOut() func(path []byte) bool {
	next := c.nextSent(0)
	return func(path []byte) bool {
		if next == len(c.statuses) || !bytes.Equal(path, c.entries.Entry(next).Path) {
			return true
		}
		next = c.nextSent(next + 1)
		return false
	}
}

// Walk yields the entries of a delta.
type Walk struct {
	changes *Changes
	first   *tree.Entry // precedes them, unless nil
	next    int
	entries int64
}

// Walk returns a walk before first, or if that is nil, before the first entry to send.
func (c *Changes) Walk(first *tree.Entry) *Walk {
	return &Walk{changes: c, first: first, next: c.nextSent(0)}
}

// Fill adds entries to a batch until it is full, and reports whether there are more.
func (w *Walk) Fill(b *tree.Batch) (more bool, err error) {
	if w.first != nil && !b.Full() {
		b.Add("", *w.first)
		w.first = nil
		w.entries++
	}
	end := len(w.changes.statuses)
	for ; !b.Full() && w.next < end; w.next = w.changes.nextSent(w.next + 1) {
		b.Add("", w.changes.entries.Entry(w.next))
		w.entries++
	}
	return w.next < end, nil
}

// Counts returns no ignored entries, because they are no difference.
func (w *Walk) Counts() (entries, ignored int64) { return w.entries, 0 }

package delta

import (
	"bytes"
	"iter"

	"github.com/repomcp/repomcp/internal/archive/tree"
)

// Status says why an entry is in a delta.
type Status uint8

// The statuses, by the lists of a delta's manifest.
const (
	Unchanged Status = iota // a folder above others
	TypeChanged
	ModeChanged
	Added
	Modified
)

// Changes are what turns one archive into another: the entries to send, in
// archive order, and the paths to delete before that, those in a folder before
// the folder.
type Changes struct {
	sent     tree.Batch
	statuses []Status // of sent
	deleted  []byte   // paths, one after another
	ends     []int    // of each in deleted
}

func (c *Changes) send(l tree.Limits, prefix string, e tree.Entry, status Status) error {
	c.sent.Add(prefix, e)
	c.statuses = append(c.statuses, status)
	return c.bounded(l)
}

func (c *Changes) remove(l tree.Limits, prefix string, path []byte) error {
	c.deleted = append(append(c.deleted, prefix...), path...)
	c.ends = append(c.ends, len(c.deleted))
	return c.bounded(l)
}

func (c *Changes) bounded(l tree.Limits) error {
	if int64(len(c.statuses)+len(c.ends)) > l.Entries {
		return l.EntriesExceeded()
	}
	return nil
}

// Deleted goes over the paths to delete.
func (c *Changes) Deleted() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for _, end := range c.ends {
			if !yield(c.deleted[start:end]) {
				return
			}
			start = end
		}
	}
}

// Sent goes over the paths of the entries of a status.
func (c *Changes) Sent(status Status) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i, s := range c.statuses {
			if s == status && !yield(c.sent.Entry(i).Path) {
				return
			}
		}
	}
}

// LeftOut tells of entries of the head's archive, which come in its order,
// whether the delta does not have them.
func (c *Changes) LeftOut() func(path []byte) bool {
	next := 0
	return func(path []byte) bool {
		if next < c.sent.Len() && bytes.Equal(path, c.sent.Entry(next).Path) {
			next++
			return false
		}
		return true
	}
}

// Walk hands out the entries of a delta.
type Walk struct {
	sent    *tree.Batch
	first   *tree.Entry // before them, unless nil
	next    int
	entries int64
}

// Walk stands before the first entry, or before another that comes first.
func (c *Changes) Walk(first *tree.Entry) *Walk { return &Walk{sent: &c.sent, first: first} }

// Fill adds entries to a batch until it is full, and reports whether there are
// more.
func (w *Walk) Fill(b *tree.Batch) (more bool, err error) {
	if w.first != nil && !b.Full() {
		b.Add("", *w.first)
		w.first = nil
		w.entries++
	}
	for ; !b.Full() && w.next < w.sent.Len(); w.next++ {
		b.Add("", w.sent.Entry(w.next))
		w.entries++
	}
	return w.next < w.sent.Len(), nil
}

// Counts knows of no ignored entries: they are no difference.
func (w *Walk) Counts() (entries, ignored int64) { return w.entries, 0 }

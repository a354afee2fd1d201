package archive

import (
	"github.com/repomcp/repomcp/internal/repos"
)

// status says why an entry is in a delta.
type status uint8

// The statuses, by the lists of a delta's manifest.
const (
	unchanged status = iota // a folder above others
	typeChanged
	modeChanged
	added
	modified
)

// changes is what turns one archive into another: the entries to write, in
// archive order, and the paths to delete before that, those in a folder before
// the folder.
type changes struct {
	sent    []sentEntry
	paths   []byte // of sent, one after another
	deleted []byte // paths, one after another
	ends    []int  // of each in deleted
}

// sentEntry is an entry with the reason for it.
type sentEntry struct {
	runEntry
	status status
}

func (c *changes) send(l Limits, prefix string, path []byte, e sentEntry) error {
	c.paths = append(append(c.paths, prefix...), path...)
	e.end = len(c.paths)
	c.sent = append(c.sent, e)
	return c.bounded(l)
}

func (c *changes) remove(l Limits, prefix string, path []byte) error {
	c.deleted = append(append(c.deleted, prefix...), path...)
	c.ends = append(c.ends, len(c.deleted))
	return c.bounded(l)
}

func (c *changes) bounded(l Limits) error {
	if int64(len(c.sent)+len(c.ends)) > l.Entries {
		return limitEntries(l)
	}
	return nil
}

func (c *changes) path(i int) []byte {
	start := 0
	if i > 0 {
		start = c.sent[i-1].end
	}
	return c.paths[start:c.sent[i].end]
}

// listed supplies the entries of a delta.
type listed struct {
	changes *changes
	first   *entry // before them, unless nil
	next    int
	entries int64
}

func (l *listed) fill(r *run) (more bool, err error) {
	if l.first != nil && !r.full() {
		r.add("", l.first.path, runEntry{mode: l.first.mode, id: l.first.id, treatment: l.first.treatment})
		l.first = nil
		l.entries++
	}
	for ; !r.full() && l.next < len(l.changes.sent); l.next++ {
		r.add("", l.changes.path(l.next), l.changes.sent[l.next].runEntry)
		l.entries++
	}
	return l.next < len(l.changes.sent), nil
}

// counts knows of no ignored entries: they are no difference.
func (l *listed) counts() (entries, ignored int64) { return l.entries, 0 }

// shape is what unpacking makes of a mode: entries of two shapes cannot take
// each other's place without one being removed.
func shape(mode repos.Mode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode.IsGitlink():
		return "submodule"
	case mode.IsSymlink():
		return "symlink"
	default:
		return "file"
	}
}

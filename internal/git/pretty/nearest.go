package pretty

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/newest"
)

// maxCandidates is the default of git describe --candidates.
const maxCandidates = 10

// node is a visited commit.
type node struct {
	date    uint64
	parents []git.ID
	id      git.ID
	within  uint32 // bit i: reachable from candidate i
	queued  bool
}

// candidate is a tag that may describe the commit. Its depth is the number of commits that the
// commit reaches and the tag does not.
type candidate struct {
	name  *tagName
	depth int
	bit   uint32
}

// walk visits history from the commit backwards.
type walk struct {
	*describer
	ends    map[git.ID]bool // ends of a shallow history
	nodes   map[git.ID]*node
	queue   newest.Queue[*node]
	visited int
	found   []*candidate
}

// search finds the tag with the least depth among the first ones found, nil for none:
// git-describe(1), SEARCH STRATEGY.
func (d *describer) search() (*candidate, error) {
	ends, err := d.shallow()
	if err != nil {
		return nil, err
	}
	w := &walk{describer: d, ends: ends, nodes: make(map[git.ID]*node)}
	start, err := w.read(d.id)
	if err != nil {
		return nil, err
	}
	w.push(start)
	for w.queue.Len() > 0 {
		n := w.pop()
		if full := w.consider(n); full {
			w.push(n)
			break
		}
		if w.settled(n) {
			break
		}
		if _, err := w.follow(n); err != nil {
			return nil, err
		}
	}
	if len(w.found) == 0 {
		return nil, nil
	}
	best := slices.MinFunc(w.found, func(a, b *candidate) int { return cmp.Compare(a.depth, b.depth) })
	return best, w.finish(best)
}

// read reads a commit's data for the walk. A missing commit has neither parents nor a date, as in
// git.
func (w *walk) read(id git.ID) (*node, error) {
	if len(w.nodes) >= w.history {
		return nil, &LimitError{What: "commits visited", Limit: int64(w.history)}
	}
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	raw, err := w.repository.RawCommit(id)
	var links git.CommitLinks
	if err == nil {
		links, err = git.ParseCommitLinks(id, raw)
	}
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return nil, err
	}
	n := &node{id: id, date: links.Date, parents: links.Parents}
	if w.ends[id] {
		n.parents = nil
	}
	w.nodes[id] = n
	return n, nil
}

func (w *walk) push(n *node) {
	n.queued = true
	w.queue.Push(n.date, n)
}

func (w *walk) pop() *node {
	n := w.queue.Pop()
	n.queued = false
	return n
}

// consider counts a commit, and adds its tag to the candidates. It reports whether there are too
// many candidates.
func (w *walk) consider(n *node) (full bool) {
	w.visited++
	if name := w.names[n.id]; name != nil && w.takesPart(name) {
		if len(w.found) == maxCandidates {
			return true
		}
		bit := uint32(1) << len(w.found)
		w.found = append(w.found, &candidate{name: name, depth: w.visited - 1, bit: bit})
		n.within |= bit
	}
	for _, c := range w.found {
		if n.within&c.bit == 0 {
			c.depth++
		}
	}
	return false
}

// settled reports whether all of the best candidates reach the last commit to visit, so that the
// rest of history changes nothing. git checks that only if one of them is annotated.
func (w *walk) settled(n *node) bool {
	if w.queue.Len() > 0 || !slices.ContainsFunc(w.found, func(c *candidate) bool { return c.name.annotated }) {
		return false
	}
	least := slices.MinFunc(w.found, func(a, b *candidate) int { return cmp.Compare(a.depth, b.depth) }).depth
	return !slices.ContainsFunc(w.found, func(c *candidate) bool { return c.depth == least && n.within&c.bit == 0 })
}

// follow queues new parents of a commit, and returns all of its parents. Candidates that reach the
// commit reach its parents too.
func (w *walk) follow(n *node) (parents []*node, err error) {
	for _, id := range n.parents {
		p := w.nodes[id]
		if p == nil {
			if p, err = w.read(id); err != nil {
				return nil, err
			}
			w.push(p)
		}
		p.within |= n.within
		parents = append(parents, p)
	}
	n.parents = nil // follows each commit once
	return parents, nil
}

// finish counts the unvisited commits that the best candidate does not reach. It ends once the
// candidate reaches all queued commits.
func (w *walk) finish(best *candidate) error {
	outside := make(map[*node]bool)
	note := func(nodes iter.Seq[*node]) {
		for n := range nodes {
			if n.queued && n.within&best.bit == 0 {
				outside[n] = true
			} else {
				delete(outside, n)
			}
		}
	}
	for note(w.queue.All()); len(outside) > 0; {
		n := w.pop()
		if outside[n] {
			delete(outside, n)
			best.depth++
		}
		parents, err := w.follow(n)
		if err != nil {
			return err
		}
		note(slices.Values(parents))
	}
	return nil
}

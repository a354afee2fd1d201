package pretty

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/repomcp/repomcp/internal/repos"
)

// maxCandidates is the default of git describe --candidates.
const maxCandidates = 10

// node is a commit that was met.
type node struct {
	date    uint64
	parents []repos.ID
	id      repos.ID
	within  uint32 // bit i: the i-th candidate has this commit in its history
	queued  bool
	order   int // of those with the same date the first to come is the first to go
}

// queue has the commits to visit, the latest first.
type queue []*node

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].date, q[i].date), cmp.Compare(q[i].order, q[j].order)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements [heap.Interface].
func (q *queue) Push(x any) { *q = append(*q, x.(*node)) }

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	last := len(*q) - 1
	n := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return n
}

// candidate is a tag that may describe the commit. Its depth is the number of
// commits that the commit has in its history and the tag does not.
type candidate struct {
	name  *tagName
	depth int
	bit   uint32
}

// walk goes through history from the commit backwards.
type walk struct {
	*describer
	nodes   map[repos.ID]*node
	queue   queue
	pushed  int
	visited int
	found   []*candidate
}

// search finds the tag with the least depth among those that are met first, nil
// for none: git-describe(1), SEARCH STRATEGY.
func (d *describer) search() (*candidate, error) {
	w := &walk{describer: d, nodes: make(map[repos.ID]*node)}
	start, _, err := w.node(d.id)
	if err != nil {
		return nil, err
	}
	w.push(start)
	for len(w.queue) > 0 {
		n := w.pop()
		if full := w.consider(n); full {
			w.push(n)
			break
		}
		if w.settled(n) {
			break
		}
		if err := w.follow(n, nil); err != nil {
			return nil, err
		}
	}
	if len(w.found) == 0 {
		return nil, nil
	}
	best := slices.MinFunc(w.found, func(a, b *candidate) int { return cmp.Compare(a.depth, b.depth) })
	return best, w.finish(best)
}

// node returns the commit, and whether it is met for the first time.
func (w *walk) node(id repos.ID) (n *node, fresh bool, err error) {
	if n := w.nodes[id]; n != nil {
		return n, false, nil
	}
	if len(w.nodes) >= w.history {
		return nil, false, &LimitError{What: "commits visited", Limit: int64(w.history)}
	}
	links, err := w.parentsOf(w.ctx, id)
	if err != nil {
		return nil, false, err
	}
	n = &node{id: id, date: links.Date, parents: links.Parents}
	w.nodes[id] = n
	return n, true, nil
}

func (w *walk) push(n *node) {
	n.queued = true
	n.order = w.pushed
	w.pushed++
	heap.Push(&w.queue, n)
}

func (w *walk) pop() *node {
	n := heap.Pop(&w.queue).(*node)
	n.queued = false
	return n
}

// consider counts a commit, and takes its tag as a candidate. It reports whether
// there are too many of them.
func (w *walk) consider(n *node) (full bool) {
	w.visited++
	if name := w.names[n.id]; name != nil && w.counts(name) {
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

// settled reports whether the last commit to visit belongs to all of the best
// candidates, so that the rest of history changes nothing. git asks that only
// when one of them is annotated.
func (w *walk) settled(n *node) bool {
	if len(w.queue) > 0 || !slices.ContainsFunc(w.found, func(c *candidate) bool { return c.name.annotated }) {
		return false
	}
	least := slices.MinFunc(w.found, func(a, b *candidate) int { return cmp.Compare(a.depth, b.depth) }).depth
	return !slices.ContainsFunc(w.found, func(c *candidate) bool { return c.depth == least && n.within&c.bit == 0 })
}

// follow queues the parents of a commit. What has the commit in its history has
// them too; joined is called for each that gets there while it is queued.
func (w *walk) follow(n *node, joined func(p *node, before uint32, fresh bool)) error {
	for _, id := range n.parents {
		p, fresh, err := w.node(id)
		if err != nil {
			return err
		}
		if fresh {
			w.push(p)
		}
		before := p.within
		p.within |= n.within
		if joined != nil && p.queued {
			joined(p, before, fresh)
		}
	}
	n.parents = nil // each commit is followed once
	return nil
}

// finish counts the commits that the best candidate does not have and that were
// not visited. It ends when all that are queued belong to it; the number of the
// others is kept, so that they are not looked through for every commit.
func (w *walk) finish(best *candidate) error {
	outside := 0
	for _, n := range w.queue {
		if n.within&best.bit == 0 {
			outside++
		}
	}
	count := func(p *node, before uint32, fresh bool) {
		was := !fresh && before&best.bit == 0
		is := p.within&best.bit == 0
		if was && !is {
			outside--
		}
		if fresh && is {
			outside++
		}
	}
	for len(w.queue) > 0 {
		n := w.pop()
		if n.within&best.bit == 0 {
			outside--
			best.depth++
		} else if outside == 0 {
			break
		}
		if err := w.follow(n, count); err != nil {
			return err
		}
	}
	return nil
}

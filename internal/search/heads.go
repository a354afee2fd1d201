package search

import (
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/search/index"
)

const (
	// partHeads is the number of repositories whose HEAD one task looks at: a millisecond.
	partHeads = 64
	// fewHeads are looked at at once: a task would take longer.
	fewHeads = 8
	// aheadParts bounds the tasks ahead of the walk, for each worker.
	aheadParts = 4
)

// heads are what HEAD of the repositories of a walk leads to, in the order of the walk. The workers look ahead: in a
// search that finds little in thousands of repositories this takes longer than everything else.
type heads struct {
	search *search
	names  []string // that were not submitted
	parts  []*headsPart
}

// headsPart are the heads of some repositories, as far as the index knows them.
type headsPart struct {
	names []string
	known []index.Head // zero: it is not known
	next  int
	done  chan struct{}
}

// newHeads returns the heads of repositories, or nil if other commits are searched, or all files are read.
func (s *search) newHeads(names []string) *heads {
	if s.indexed == nil || s.request.Ref != "" || s.ranked != nil && s.ranked.pinned != nil {
		return nil
	}
	return &heads{search: s, names: names}
}

// run looks them up.
func (p *headsPart) run(s *search) {
	defer close(p.done)
	for i, name := range p.names {
		if head, ok := s.knownHead(name); ok {
			p.known[i] = head
		}
	}
}

// take returns the head of the next repository; it is zero if the index does not know it.
func (h *heads) take() (head index.Head, err error) {
	if h == nil {
		return index.Head{}, nil
	}
	for len(h.names) > 0 && len(h.parts) <= aheadParts*h.search.scheduler.Workers() {
		if err := h.submit(); err != nil {
			return index.Head{}, err
		}
	}
	part := h.parts[0]
	if err := h.search.wait(part.done); err != nil {
		return index.Head{}, err
	}
	head = part.known[part.next]
	if part.next++; part.next == len(part.known) {
		h.parts = h.parts[1:]
	}
	return head, nil
}

// submit makes a task of the next repositories.
func (h *heads) submit() error {
	n := min(len(h.names), partHeads)
	part := &headsPart{names: h.names[:n], known: make([]index.Head, n), done: make(chan struct{})}
	h.names, h.parts = h.names[n:], append(h.parts, part)
	if n <= fewHeads {
		part.run(h.search)
		return nil
	}
	return h.search.queue.Submit(workers.Func(func(*workers.Worker) { part.run(h.search) }))
}

package repos

import (
	"context"
	"sync"

	"github.com/repomcp/repomcp/internal/commitgraph"
)

const (
	// reachedCost is what a commit outside of a graph takes: its place in a map, of
	// which up to half are free, and one in a queue.
	reachedCost = 60
	// stepsAtOnce is how many commits are gone through before others who wait get
	// their turn.
	stepsAtOnce = 1000
)

// reach is the commits that some tips lead to, as far as anybody has asked: the
// walk goes on where it stopped, so that no commit is walked twice. Of a graph
// it is a bitmap. It may be used by any number of goroutines.
type reach struct {
	state string // of the tips
	graph *commitgraph.Graph

	mu        sync.Mutex
	positions []uint64 // a bit for each commit of the graph
	others    map[ID]struct{}
	inside    []uint32 // whose parents are still to come
	outside   []ID
}

func newReach(state string, graph *commitgraph.Graph, tips []ID) *reach {
	r := &reach{state: state, graph: graph, others: make(map[ID]struct{}, len(tips))}
	if graph != nil {
		r.positions = make([]uint64, (graph.Len()+63)/64)
	}
	for _, id := range tips {
		r.add(id)
	}
	return r
}

// add notes a commit, whose parents are then to come.
func (r *reach) add(id ID) {
	if at, ok := r.find(id); ok {
		r.addPosition(at)
		return
	}
	if _, known := r.others[id]; !known {
		r.others[id] = struct{}{}
		r.outside = append(r.outside, id)
	}
}

func (r *reach) addPosition(at uint32) {
	if bit := uint64(1) << (at % 64); r.positions[at/64]&bit == 0 {
		r.positions[at/64] |= bit
		r.inside = append(r.inside, at)
	}
}

func (r *reach) find(id ID) (at uint32, ok bool) {
	if r.graph == nil {
		return 0, false
	}
	return r.graph.Find(id)
}

func (r *reach) has(id ID) bool {
	if at, ok := r.find(id); ok {
		return r.positions[at/64]>>(at%64)&1 == 1
	}
	_, known := r.others[id]
	return known
}

// size is about how many bytes it takes.
func (r *reach) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(8*len(r.positions) + 4*cap(r.inside) + reachedCost*len(r.others))
}

// among returns those of the commits, in their order, that the tips lead to. It
// walks until all are found or history ends.
func (r *reach) among(ctx context.Context, wanted []ID, parents func(ID) ([]ID, error)) ([]ID, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, ended := r.look(wanted)
		if ended || len(found) == len(wanted) {
			return found, nil
		}
		if err := r.walk(parents); err != nil {
			return nil, err
		}
	}
}

func (r *reach) look(wanted []ID) (found []ID, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range wanted {
		if r.has(id) {
			found = append(found, id)
		}
	}
	return found, len(r.inside)+len(r.outside) == 0
}

// walk takes some steps.
func (r *reach) walk(parents func(ID) ([]ID, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range stepsAtOnce {
		if err := r.step(parents); err != nil {
			return err
		}
	}
	return nil
}

// step adds the parents of a commit: outside of the graph breadth first from the
// tips, where the wanted commit mostly is.
func (r *reach) step(parents func(ID) ([]ID, error)) error {
	switch {
	case len(r.outside) > 0:
		found, err := parents(r.outside[0])
		if err != nil {
			return err
		}
		r.outside = r.outside[1:]
		for _, id := range found {
			r.add(id)
		}
	case len(r.inside) > 0:
		at := r.inside[len(r.inside)-1]
		r.inside = r.inside[:len(r.inside)-1]
		for parent := range r.graph.Parents(at) {
			r.addPosition(parent)
		}
	}
	return nil
}

package limits

import (
	"container/list"
	"context"
	"maps"
	"sync"
	"time"
)

// bounds of a gate. All are positive.
type bounds struct {
	memory                     int64
	running, queue             int
	clientMemory               int64
	clientRunning, clientQueue int
	perRepository              int
	patience                   time.Duration
}

// work is what a request wants to reserve.
type work struct {
	client, repository string
	memory             int64
}

// gate admits requests as long as their sum keeps the bounds.
type gate struct {
	bounds
	whenFull func() // may be nil

	mu           sync.Mutex
	used         usage
	clients      map[string]*client // those with running or waiting requests
	repositories map[string]int     // number of running requests
	waiting      int
	arrived      uint64
	refused      map[Reason]int64
}

// usage is the sum of running requests.
type usage struct {
	memory  int64
	running int
}

func (u *usage) add(memory int64)  { u.memory, u.running = u.memory+memory, u.running+1 }
func (u *usage) take(memory int64) { u.memory, u.running = u.memory-memory, u.running-1 }

// client is one of the clients that share the gate.
type client struct {
	used  usage
	queue list.List // of *ticket, in order of arrival
}

// ticket is a waiting request.
type ticket struct {
	work
	number uint64
	place  *list.Element // in the queue of its client
	let    chan struct{} // closed when the request is admitted
}

// passed reports whether the request was admitted.
func (t *ticket) passed() bool {
	select {
	case <-t.let:
		return true
	default:
		return false
	}
}

// Grant is a reservation. A nil grant reserves nothing.
type Grant struct {
	gate *gate
	work work
	with *Grant // released together with this one
	once sync.Once
}

// Release gives the reservation back. Repeating it is harmless.
func (g *Grant) Release() {
	if g == nil {
		return
	}
	g.once.Do(func() {
		g.gate.leave(g.work)
		g.with.Release()
	})
}

// Shrink gives back memory that a request turned out not to need: the request keeps memory bytes
// and its place among the running ones. A grant never grows. Only its owner calls it, before
// Release.
func (g *Grant) Shrink(memory int64) {
	if g == nil || memory >= g.work.memory {
		return
	}
	g.gate.mu.Lock()
	defer g.gate.mu.Unlock()
	rest := g.work.memory - memory
	g.work.memory = memory
	g.gate.used.memory -= rest
	g.gate.clients[g.work.client].used.memory -= rest
	g.gate.dispatch()
}

func newGate(b bounds) *gate {
	return &gate{
		bounds: b, clients: make(map[string]*client), repositories: make(map[string]int),
		refused: map[Reason]int64{Client: 0, Repository: 0, Server: 0}, // every reason appears in a [State]
	}
}

// pass waits until a request is admitted. A request that needs more memory than a client may have
// runs when its client has nothing else running. A nil gate, that of a nil [Limiter], admits
// everything.
func (g *gate) pass(ctx context.Context, w work) (_ *Grant, err error) {
	if g == nil {
		return nil, nil
	}
	w.memory = min(w.memory, g.clientMemory)
	t, refusal := g.arrive(w)
	if refusal != nil {
		return nil, refusal
	}
	grant := &Grant{gate: g, work: w}
	if t.passed() {
		return grant, nil
	}
	g.tell(t)
	patience := time.NewTimer(g.patience)
	defer patience.Stop()
	select {
	case <-t.let:
	case <-ctx.Done():
		err = g.abandon(t, context.Cause(ctx))
	case <-patience.C:
		err = g.abandon(t, nil)
	}
	if err != nil {
		return nil, err
	}
	return grant, nil
}

// arrive queues a request, and admits every request that fits. It refuses a request that would have
// to wait if the queue is full.
func (g *gate) arrive(w work) (*ticket, *Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.clients[w.client]
	if c == nil {
		c = new(client)
		g.clients[w.client] = c
	}
	g.arrived++
	t := &ticket{work: w, number: g.arrived, let: make(chan struct{})}
	t.place = c.queue.PushBack(t)
	g.waiting++
	g.dispatch()
	switch {
	case t.passed():
		return t, nil
	case c.queue.Len() > g.clientQueue:
		return nil, g.refuse(t, Client)
	case g.waiting > g.queue:
		return nil, g.refuse(t, g.obstacle(t))
	default:
		return t, nil
	}
}

// abandon removes a request from the queue because of cause or, if that is nil, because it has
// waited too long: then it is refused. It returns nil if the request was admitted meanwhile.
func (g *gate) abandon(t *ticket, cause error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.passed() {
		return nil
	}
	if cause == nil {
		return g.refuse(t, g.obstacle(t))
	}
	g.drop(t)
	return cause
}

// refuse counts a refusal. The caller holds mu.
func (g *gate) refuse(t *ticket, why Reason) *Refusal {
	g.drop(t)
	g.refused[why]++
	return &Refusal{Reason: why, RetryAfter: retryAfter}
}

// drop removes a request from its client's queue; later ones may fit. The caller holds mu.
func (g *gate) drop(t *ticket) {
	g.remove(t)
	g.forget(t.client)
	g.dispatch()
}

func (g *gate) remove(t *ticket) {
	g.clients[t.client].queue.Remove(t.place)
	g.waiting--
}

// forget removes a client without requests. The caller holds mu.
func (g *gate) forget(name string) {
	if c := g.clients[name]; c.used.running == 0 && c.queue.Len() == 0 {
		delete(g.clients, name)
	}
}

// leave gives back what a request had.
func (g *gate) leave(w work) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used.take(w.memory)
	g.clients[w.client].used.take(w.memory)
	if g.repositories[w.repository]--; g.repositories[w.repository] == 0 {
		delete(g.repositories, w.repository)
	}
	g.forget(w.client)
	g.dispatch()
}

// dispatch admits requests in turn, as long as they fit. It does not skip a request that needs more
// than is left: smaller ones would keep it waiting for ever. The caller holds mu.
func (g *gate) dispatch() {
	for g.used.running < g.running {
		t := g.next()
		if t == nil || g.used.memory+t.memory > g.memory {
			return
		}
		g.remove(t)
		g.used.add(t.memory)
		g.clients[t.client].used.add(t.memory)
		g.repositories[t.repository]++
		close(t.let)
	}
}

// next is the first request with room for its client and repository, of the client that has least
// running. The caller holds mu.
func (g *gate) next() (best *ticket) {
	var least usage
	for _, c := range g.clients {
		if c.used.running >= g.clientRunning {
			continue // nothing of it fits, and the queue may be long
		}
		t := g.firstFree(c)
		if t != nil && (best == nil || c.used.less(least) || c.used == least && t.number < best.number) {
			best, least = t, c.used
		}
	}
	return best
}

// firstFree is the client's first request with room for the client and its repository, or nil. Only
// bounds of memory and repositories can make it skip requests, and those queues are short.
func (g *gate) firstFree(c *client) *ticket {
	for at := c.queue.Front(); at != nil; at = at.Next() {
		if t := at.Value.(*ticket); g.obstacle(t) == Server {
			return t
		}
	}
	return nil
}

func (u usage) less(v usage) bool {
	return u.memory < v.memory || u.memory == v.memory && u.running < v.running
}

// obstacle is why a request is not admitted, apart from earlier requests of other clients. The
// caller holds mu.
func (g *gate) obstacle(t *ticket) Reason {
	used := g.clients[t.client].used
	switch {
	case used.running >= g.clientRunning || used.memory+t.memory > g.clientMemory:
		return Client
	case t.repository != "" && g.repositories[t.repository] >= g.perRepository:
		return Repository
	default:
		return Server
	}
}

// tell reports that a request waits although its client has not used up its share.
func (g *gate) tell(t *ticket) {
	g.mu.Lock()
	full := g.clients[t.client] != nil && g.obstacle(t) == Server
	g.mu.Unlock()
	if full && g.whenFull != nil {
		g.whenFull()
	}
}

func (g *gate) state(name string) State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return State{
		Gate: name, Running: g.used.running, Waiting: g.waiting, Memory: g.used.memory, Limit: g.memory,
		RefusedByReason: maps.Clone(g.refused),
	}
}

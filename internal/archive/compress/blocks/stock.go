package blocks

import (
	"context"
	"slices"
	"sync"
)

// stock lends blocks to streams and keeps them for the next.
//
// A stream gets its own Format.Own blocks at any time, unless the pool is bounded. Then a stream
// without a block waits for its turn, and the streams of one client leave a block for other
// clients, which would otherwise wait behind all of its streams. A stream never waits for the
// destination of another, since a block is returned as soon as it was encoded. Requests for shared
// blocks, or for more than one block of a bounded pool, are decided at once.
type stock struct {
	format *Format
	most   int // lent at a time; 0: as many as streams have of their own

	mu      sync.Mutex
	free    []*block
	jobs    []*job // without blocks
	waiting []*waiter
	clients map[string]int // number of blocks lent to each
	lent    int
	streams int
	shared  int // number of shared blocks
	spare   int // number of shared blocks that are not lent
}

// account is a stream's part of the stock; guarded by its lock.
type account struct {
	client    string // of the stream
	own, held int
}

// waiter is a stream that waits for its first block.
type waiter struct {
	account *account
	block   chan *block // with a capacity of one
}

func newStock(f *Format, shared int) *stock {
	return &stock{format: f, shared: shared, spare: shared, clients: make(map[string]int)}
}

// join adds a stream, for which its own blocks are set aside.
func (s *stock) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
}

// leave removes a stream that has returned its blocks. As many blocks as one stream can use are
// kept; the rest is garbage.
func (s *stock) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
	keep := max(s.streams, 1)*s.format.Own + s.shared - s.lent
	if s.most > 0 {
		keep = min(keep, s.most-s.lent)
	}
	s.free = trim(s.free, keep)
	s.jobs = trim(s.jobs, s.format.Own+s.shared)
}

// trim drops the elements beyond most.
func trim[T any](list []*T, most int) []*T {
	if len(list) > max(most, 0) {
		clear(list[max(most, 0):])
		list = list[:max(most, 0)]
	}
	return list
}

// take lends a block. If none is available, it returns nil to a stream with blocks, and makes a
// stream without blocks wait.
func (s *stock) take(ctx context.Context, a *account) (*block, error) {
	b, w := s.reserve(a)
	switch {
	case w != nil:
		return s.await(ctx, w)
	case b != nil && b.memory == nil:
		b.memory = make([]byte, s.format.History+s.format.Largest) // outside the lock: it may clear megabytes
	}
	return b, nil
}

// reserve counts a block as lent: a free one, or one without memory yet. Otherwise it returns a
// waiter if the stream has to wait, or nothing.
func (s *stock) reserve(a *account) (*block, *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.own >= s.format.Own && s.spare == 0 {
		return nil, nil
	}
	if s.most > 0 && (s.lent >= s.most || !s.mayHave(a)) {
		if a.held > 0 {
			return nil, nil
		}
		w := &waiter{account: a, block: make(chan *block, 1)}
		s.waiting = append(s.waiting, w)
		return nil, w
	}
	s.lent++
	var b *block
	if last := len(s.free) - 1; last >= 0 {
		b, s.free[last] = s.free[last], nil
		s.free = s.free[:last]
	} else {
		b = new(block)
	}
	s.lend(b, a)
	return b, nil
}

// mayHave reports whether a stream's client may have another block of a bounded pool: the last one
// is for another client. The caller holds mu.
func (s *stock) mayHave(a *account) bool { return s.clients[a.client] < max(s.most-1, 1) }

// lend records the borrower of a block. The caller holds mu.
func (s *stock) lend(b *block, a *account) {
	b.lentTo, b.shared = a, a.own >= s.format.Own
	a.held++
	s.clients[a.client]++
	if b.shared {
		s.spare--
	} else {
		a.own++
	}
}

// await waits for a block.
func (s *stock) await(ctx context.Context, w *waiter) (*block, error) {
	select {
	case b := <-w.block:
		return b, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	waited := s.forget(w)
	s.mu.Unlock()
	if !waited {
		s.put(<-w.block)
	}
	return nil, context.Cause(ctx)
}

// put takes a block back, and gives it to the stream whose client has fewest, among several to the
// one that has waited longest.
func (s *stock) put(b *block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.lentTo.held--
	client := b.lentTo.client
	if s.clients[client]--; s.clients[client] == 0 {
		delete(s.clients, client)
	}
	if b.shared {
		s.spare++
	} else {
		b.lentTo.own--
	}
	if next := s.next(); next != nil {
		s.lend(b, next.account)
		next.block <- b
		return
	}
	s.lent--
	b.lentTo = nil
	s.free = append(s.free, b)
}

// next removes the first waiter whose client has fewest blocks, or returns nil if no client may
// have one. The caller holds mu.
func (s *stock) next() (next *waiter) {
	for _, w := range s.waiting {
		if s.mayHave(w.account) && (next == nil || s.clients[w.account.client] < s.clients[next.account.client]) {
			next = w
		}
	}
	s.forget(next)
	return next
}

// forget removes a waiter, and reports whether it was there. The caller holds mu.
func (s *stock) forget(w *waiter) bool {
	at := slices.Index(s.waiting, w)
	if at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	return at >= 0
}

// job returns a job for a block.
func (p *Pool) job(encoder Encoder, stored bool, number int, b *block) *job {
	s := p.stock
	s.mu.Lock()
	var j *job
	if last := len(s.jobs) - 1; last >= 0 {
		j, s.jobs[last] = s.jobs[last], nil
		s.jobs = s.jobs[:last]
	}
	s.mu.Unlock()
	if j == nil {
		j = newJob(p)
	}
	j.encoder, j.stored, j.number, j.block, j.err = encoder, stored, number, b, nil
	return j
}

// recycle keeps a job whose output was written.
func (s *stock) recycle(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.encoder, j.err = nil, nil
	s.jobs = append(s.jobs, j)
}

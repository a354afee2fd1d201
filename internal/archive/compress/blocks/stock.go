package blocks

import (
	"context"
	"slices"
	"sync"
)

// stock lends blocks to streams and keeps them for the next.
//
// A stream gets its own Format.Own at any time, unless there is a bound for all: then
// one that has none waits until it is its turn. It is never waited for a destination,
// for a block is back as soon as it was encoded. Whether a stream gets one of the
// shared ones, or more than one where there is a bound, is decided at once.
type stock struct {
	format *Format
	most   int // that are lent at a time; 0: as many as streams have of their own

	mu      sync.Mutex
	free    []*block
	jobs    []*job // without blocks
	waiting []*waiter
	lent    int
	streams int
	shared  int // how many there are
	spare   int // how many of them are not lent
}

// account is what a stream has of the stock; guarded by its lock.
type account struct{ own, held int }

// waiter is a stream that waits for its first block.
type waiter struct {
	account *account
	block   chan *block // has room for it
}

func newStock(f *Format, shared int) *stock {
	return &stock{format: f, shared: shared, spare: shared}
}

// join counts a stream in, for which its own blocks are set aside.
func (s *stock) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
}

// leave counts a stream out that has given its blocks back. What one stream
// alone can use is kept; the rest is garbage.
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

// trim drops what is beyond so many.
func trim[T any](list []*T, most int) []*T {
	if len(list) > max(most, 0) {
		clear(list[max(most, 0):])
		list = list[:max(most, 0)]
	}
	return list
}

// take lends a block. It returns nil if the stream has blocks that it can go on with
// and there is none to spare, and waits if it has none.
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

// reserve counts a block as lent: a free one, or one that has no memory yet. Or else it
// has the stream wait, or is nothing.
func (s *stock) reserve(a *account) (*block, *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.own >= s.format.Own && s.spare == 0 {
		return nil, nil
	}
	if s.most > 0 && (s.lent >= s.most || len(s.waiting) > 0) {
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

// lend notes who has a block. The caller holds mu.
func (s *stock) lend(b *block, a *account) {
	b.lentTo, b.shared = a, a.own >= s.format.Own
	a.held++
	if b.shared {
		s.spare--
	} else {
		a.own++
	}
}

// await waits for a turn.
func (s *stock) await(ctx context.Context, w *waiter) (*block, error) {
	select {
	case b := <-w.block:
		return b, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	at := slices.Index(s.waiting, w)
	if at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 {
		s.put(<-w.block)
	}
	return nil, context.Cause(ctx)
}

// put takes a block back, and gives it to who has waited longest.
func (s *stock) put(b *block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.lentTo.held--
	if b.shared {
		s.spare++
	} else {
		b.lentTo.own--
	}
	if len(s.waiting) > 0 {
		next := s.waiting[0]
		s.waiting = slices.Delete(s.waiting, 0, 1)
		s.lend(b, next.account)
		next.block <- b
		return
	}
	s.lent--
	b.lentTo = nil
	s.free = append(s.free, b)
}

// job returns one for a block.
func (p *Pool) job(encoder Encoder, number int, b *block) *job {
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
	j.encoder, j.number, j.block, j.err = encoder, number, b, nil
	return j
}

// recycle keeps a job whose output was written.
func (s *stock) recycle(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.encoder, j.err = nil, nil
	s.jobs = append(s.jobs, j)
}

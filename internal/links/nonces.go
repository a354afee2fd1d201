package links

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"
)

// Mark is what a used nonce is remembered with.
type Mark struct {
	Secret [32]byte  // SHA-256: who reads the record cannot resume a download
	Until  time.Time // the download can be resumed until then, whole milliseconds
}

// Claim is the first use of a nonce.
type Claim struct {
	Nonce Nonce
	Mark  Mark
	// Issued is when the link was made.
	Issued time.Time
	// Forget is when the nonce may be forgotten, not earlier.
	Forget time.Time
}

// Nonces remembers the nonces of used links. Several goroutines may use one.
type Nonces interface {
	// Claim remembers a nonce and reports true, or reports false when it is
	// remembered already. Of any number of claims of a nonce at most one is
	// told true. After an error the nonce may or may not be remembered.
	Claim(ctx context.Context, c Claim) (first bool, err error)
	// Find returns the mark that a nonce is remembered with.
	Find(ctx context.Context, nonce Nonce) (m Mark, found bool, err error)
}

// defaultMemoryNonces is 25 MiB or so.
const defaultMemoryNonces = 100_000

// errMemoryFull says that there are too many live nonces.
var errMemoryFull = errors.New("too many links were used lately; raise the limit or use Redis")

// Memory is [Nonces] in this process. What it has not seen it cannot know:
// links that were made before it, by a process with the same keys, are taken
// for used. Replicas need [Redis] instead.
type Memory struct {
	now   func() time.Time
	limit int
	since time.Time

	mu    sync.Mutex
	known map[Nonce]Mark
	queue expiries
}

// NewMemory makes an empty record of at most limit nonces; 0 means 100,000. When
// all of them are still needed further claims are refused: forgetting one would
// make its link good again. now is the clock; nil means the machine's.
func NewMemory(limit int, now func() time.Time) *Memory {
	if limit <= 0 {
		limit = defaultMemoryNonces
	}
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, limit: limit, since: now().UTC().Truncate(time.Millisecond), known: map[Nonce]Mark{}}
}

// Claim implements [Nonces].
func (m *Memory) Claim(_ context.Context, c Claim) (bool, error) {
	if c.Issued.Before(m.since) {
		return false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	if _, used := m.known[c.Nonce]; used {
		return false, nil
	}
	if len(m.known) >= m.limit {
		return false, errMemoryFull
	}
	m.known[c.Nonce] = c.Mark
	heap.Push(&m.queue, expiry{c.Nonce, c.Forget})
	return true, nil
}

// Find implements [Nonces].
func (m *Memory) Find(_ context.Context, nonce Nonce) (Mark, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	mark, ok := m.known[nonce]
	return mark, ok, nil
}

// expire forgets what may be forgotten. The caller holds m.mu.
func (m *Memory) expire() {
	now := m.now()
	for len(m.queue) > 0 && !now.Before(m.queue[0].at) {
		delete(m.known, m.queue[0].nonce)
		heap.Pop(&m.queue)
	}
}

type expiry struct {
	nonce Nonce
	at    time.Time
}

// expiries is a heap, the earliest first.
type expiries []expiry

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e expiries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push implements [heap.Interface].
func (e *expiries) Push(x any) { *e = append(*e, x.(expiry)) }

// Pop implements [heap.Interface].
func (e *expiries) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

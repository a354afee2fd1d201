package links

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// Place is where the maker of a single-use link counts its uses. It is zero if uses are counted by
// nonce.
type Place struct {
	Maker  uint64 // random, of one [Memory]
	Serial uint64 // counts the links of the maker
}

// Claim identifies a link whose uses are counted.
type Claim struct {
	Nonce Nonce
	Place Place
	// Forget is the time from which the link may be forgotten.
	Forget time.Time
}

// Nonces remembers the uses of single-use links. Several goroutines may use one.
type Nonces interface {
	// Reserve makes room for a link that is being made.
	Reserve(forget time.Time) (Place, error)
	// Claim uses a link and reports true, or reports false if it has been used. At most one of any
	// number of claims of a link reports true. After an error the link may or may not be used.
	Claim(ctx context.Context, c Claim) (first bool, err error)
	// Charge adds units, at least 1, to the cost of resuming a used link, and returns the sum. The
	// sum is 0 for an unused link, which is left unchanged.
	Charge(ctx context.Context, c Claim, units int) (sum int, err error)
	// Used reports whether a link has been used, and changes nothing.
	Used(ctx context.Context, c Claim) (bool, error)
}

const (
	// pageLinks is how many links share a page of a [Memory]. A page is dropped when all its links
	// may be forgotten.
	pageLinks = 4096
	// maxPages is 16 MiB: filling it within five minutes would take 50,000 links per second.
	maxPages = 4096
)

// errMemoryFull says that there are too many live links.
var errMemoryFull = errors.New("too many links were made lately; use Redis, or links of a shorter life")

// Memory is [Nonces] in this process. It numbers the links that it reserves, and keeps one byte for
// each. Links that it has not reserved, such as those of an earlier process with the same keys,
// count as used. Replicas need [Redis] instead.
type Memory struct {
	now   func() time.Time
	limit int // in pages; tests have fewer
	maker uint64

	mu    sync.Mutex
	next  uint64 // the number of the next link
	pages map[uint64]*page
}

// page has the uses of consecutive links.
type page struct {
	// counts are 0 for an unused link, else 1 and the cost of its resumes, as far as a byte can
	// hold it.
	counts [pageLinks]uint8
	forget time.Time // the latest Forget of its links
}

// NewMemory makes an empty record of at most 16 million live links. A full record accepts no
// further links: forgetting one would make it valid again.
func NewMemory(now func() time.Time) *Memory {
	var maker [8]byte
	_, _ = rand.Read(maker[:]) // it does not fail (crypto/rand)
	return &Memory{
		now: now, limit: maxPages, maker: binary.BigEndian.Uint64(maker[:]), pages: make(map[uint64]*page),
	}
}

// Reserve implements [Nonces].
func (m *Memory) Reserve(forget time.Time) (Place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	number := m.next / pageLinks
	p := m.pages[number]
	if p == nil {
		m.expire()
		if len(m.pages) >= m.limit {
			return Place{}, errMemoryFull
		}
		p = &page{}
		m.pages[number] = p
	}
	if forget.After(p.forget) {
		p.forget = forget
	}
	place := Place{Maker: m.maker, Serial: m.next}
	m.next++
	return place, nil
}

// expire drops the pages whose links may all be forgotten. The caller holds m.mu.
func (m *Memory) expire() {
	now := m.now()
	for number, p := range m.pages {
		if !now.Before(p.forget) {
			delete(m.pages, number)
		}
	}
}

// count returns the byte of a link, or nil if its uses are unknown. The caller holds m.mu.
func (m *Memory) count(c Claim) *uint8 {
	p := m.pages[c.Place.Serial/pageLinks]
	if c.Place.Maker != m.maker || c.Place.Serial >= m.next || p == nil {
		return nil
	}
	return &p.counts[c.Place.Serial%pageLinks]
}

// Claim implements [Nonces].
func (m *Memory) Claim(_ context.Context, c Claim) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := m.count(c)
	if count == nil || *count > 0 {
		return false, nil
	}
	*count = 1
	return true, nil
}

// Charge implements [Nonces].
func (m *Memory) Charge(_ context.Context, c Claim, units int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := m.count(c)
	if count == nil || *count == 0 {
		return 0, nil
	}
	*count = uint8(min(int(*count)+units, 255))
	return int(*count) - 1, nil
}

// Used implements [Nonces].
func (m *Memory) Used(_ context.Context, c Claim) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := m.count(c)
	return count == nil || *count > 0, nil
}

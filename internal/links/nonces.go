package links

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// Place is where the maker of a single-use link counts its uses. It is zero
// where uses are found by the nonce.
type Place struct {
	Maker  uint64 // random, of one [Memory]
	Serial uint64 // counts the links of the maker
}

// Claim names a link to those who count its uses.
type Claim struct {
	Nonce Nonce
	Place Place
	// Forget is when the link may be forgotten, not earlier.
	Forget time.Time
}

// Nonces remembers the uses of single-use links. Several goroutines may use one.
type Nonces interface {
	// Reserve makes room for a link that is being made.
	Reserve(forget time.Time) (Place, error)
	// Claim uses a link and reports true, or reports false when it is used
	// already. At most one of any number of claims of a link reports true. After
	// an error the link may or may not be used.
	Claim(ctx context.Context, c Claim) (first bool, err error)
	// Charge adds units, 1 at least, to what the resumes of a used link have
	// cost, and returns the sum. It is 0 when the link is not used, to which
	// nothing is added.
	Charge(ctx context.Context, c Claim, units int) (sum int, err error)
	// Used reports whether a link is used, and changes nothing.
	Used(ctx context.Context, c Claim) (bool, error)
}

const (
	// pageLinks is how many links share a page of a [Memory], which is dropped
	// when the last of them may be forgotten.
	pageLinks = 4096
	// maxPages is 16 MiB: within five minutes as many links would have to be made as
	// 50,000 requests per second ask for.
	maxPages = 4096
)

// errMemoryFull says that there are too many live links.
var errMemoryFull = errors.New("too many links were made lately; use Redis, or links of a shorter life")

// Memory is [Nonces] in this process. It numbers the links that it is asked to
// reserve, and keeps one byte of each. What others have reserved it cannot know:
// those links, such as of a process before it with the same keys, are taken for
// used. Replicas need [Redis] instead.
type Memory struct {
	now   func() time.Time
	limit int // pages; tests have fewer
	maker uint64

	mu    sync.Mutex
	next  uint64 // the number of the next link
	pages map[uint64]*page
}

// page has the uses of consecutive links.
type page struct {
	// counts are 0 for a link that is not used, else 1 and what its resumes have
	// cost, as far as a byte can tell.
	counts [pageLinks]uint8
	forget time.Time // the latest of the links
}

// NewMemory makes an empty record of at most 16 million live links. When there are as
// many no further links are made: to forget one would make it good again.
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

// expire drops the pages of which every link may be forgotten. The caller holds
// m.mu.
func (m *Memory) expire() {
	now := m.now()
	for number, p := range m.pages {
		if !now.Before(p.forget) {
			delete(m.pages, number)
		}
	}
}

// count finds the byte of a link, or nil: nobody knows of its uses. The caller
// holds m.mu.
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

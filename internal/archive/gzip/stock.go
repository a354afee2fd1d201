package gzip

import "sync"

// WriterBlocks is what every Writer may hold however many there are: one block
// that is filled while the other is compressed or written.
const WriterBlocks = 2

// stock lends blocks to Writers and keeps them for the next.
//
// No Writer ever waits for another's blocks: it gets its own WriterBlocks at
// any time, and whether it gets one of the shared ones is decided at once.
type stock struct {
	mu      sync.Mutex
	free    []*block
	lent    int
	writers int
	shared  int // how many there are
	spare   int // how many of them are not lent
}

func newStock(shared int) *stock { return &stock{shared: shared, spare: shared} }

// join counts a Writer in, for whom WriterBlocks are set aside.
func (s *stock) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers++
}

// leave counts a Writer out that has given its blocks back. What one Writer
// alone can use is kept; the rest is garbage.
func (s *stock) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers--
	keep := max(s.writers, 1)*WriterBlocks + s.shared - s.lent
	for len(s.free) > keep {
		last := len(s.free) - 1
		s.free[last] = nil
		s.free = s.free[:last]
	}
}

// take lends a block to a Writer that holds so many. It returns nil if the
// Writer has its own and no shared one is left.
func (s *stock) take(held int) *block {
	b, ok := s.reserve(held)
	if ok && b == nil {
		b = newBlock() // outside the lock: it clears half a MiB
	}
	return b
}

// reserve counts a block as lent, and returns a free one if there is any.
func (s *stock) reserve(held int) (b *block, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held >= WriterBlocks {
		if s.spare == 0 {
			return nil, false
		}
		s.spare--
	}
	s.lent++
	if last := len(s.free) - 1; last >= 0 {
		b, s.free[last] = s.free[last], nil
		s.free = s.free[:last]
	}
	return b, true
}

// give takes a block back from a Writer that held so many, this one included.
func (s *stock) give(b *block, held int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held > WriterBlocks {
		s.spare++
	}
	s.lent--
	s.free = append(s.free, b)
}

package blocks

import "sync"

// stock lends blocks to streams and keeps them for the next.
//
// No stream ever waits for another's blocks: it gets its own Format.Own at any
// time, and whether it gets one of the shared ones is decided at once.
type stock struct {
	format *Format

	mu      sync.Mutex
	free    []*block
	lent    int
	streams int
	shared  int // how many there are
	spare   int // how many of them are not lent
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
	for len(s.free) > keep {
		last := len(s.free) - 1
		s.free[last] = nil
		s.free = s.free[:last]
	}
}

// take lends a block to a stream that holds so many. It returns nil if the
// stream has its own and no shared one is left.
func (s *stock) take(held int) *block {
	b, ok := s.reserve(held)
	if ok && b == nil {
		b = newBlock(s.format) // outside the lock: it may clear megabytes
	}
	return b
}

// reserve counts a block as lent, and returns a free one if there is any.
func (s *stock) reserve(held int) (b *block, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held >= s.format.Own {
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

// put takes a block back from a stream that held so many, this one included.
func (s *stock) put(b *block, held int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held > s.format.Own {
		s.spare++
	}
	s.lent--
	s.free = append(s.free, b)
}

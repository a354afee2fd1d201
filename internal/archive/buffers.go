package archive

import "sync"

// largeBuffers are a bounded number of buffers for files of up to largeBytes,
// shared by all archives. The one that was used last is used next: what no file
// ever filled of the others takes no memory.
type largeBuffers struct {
	mu    sync.Mutex
	spare [][]byte
	rest  int // that are not allocated yet
}

func newLargeBuffers(n int) *largeBuffers { return &largeBuffers{rest: n} }

// take returns an empty buffer, or nil when all are in use.
func (l *largeBuffers) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.spare) - 1; last >= 0 {
		b := l.spare[last]
		l.spare = l.spare[:last]
		return b
	}
	if l.rest == 0 {
		return nil
	}
	l.rest--
	return make([]byte, 0, largeBytes+inlineBytes)
}

func (l *largeBuffers) put(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = append(l.spare, b[:0])
}

package archive

import "sync"

// largeBuffers is a bounded pool of buffers for files of up to largeBytes, shared by all archives.
// It reuses the last returned buffer, so that unneeded buffers are never allocated or filled.
type largeBuffers struct {
	mu    sync.Mutex
	spare [][]byte
	rest  int // buffers not yet allocated
}

func newLargeBuffers(n int) *largeBuffers { return &largeBuffers{rest: n} }

// take returns an empty buffer, or nil if all are in use.
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

package httpx

import (
	"context"
	"fmt"
	"sync"
)

const (
	// defaultSockets is how many connections may be open: an idle one holds
	// about 50 KB, one that is sending a message up to maxBodyBytes.
	defaultSockets = 512
	// socketShare is the part of all connections, one in socketShare, that one address may have. It
	// is a half because all clients behind a proxy have one address.
	socketShare = 2
)

// sockets are the open WebSocket connections, which net/http no longer tracks.
type sockets struct {
	slots chan struct{}

	mu        sync.Mutex
	byAddress map[string]int // counts, by clientNetwork

	// ended aborts requests that still run.
	ended context.Context
	end   context.CancelFunc
}

func newSockets(most int) *sockets {
	s := &sockets{slots: make(chan struct{}, most), byAddress: make(map[string]int)}
	s.ended, s.end = context.WithCancel(context.Background())
	return s
}

// open takes a place for a connection, which close gives back. It fails when the address, or the
// server, has all its connections.
func (s *sockets) open(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byAddress[address] >= max(1, cap(s.slots)/socketShare) {
		return false
	}
	select {
	case s.slots <- struct{}{}:
		s.byAddress[address]++
		return true
	default:
		return false
	}
}

func (s *sockets) close(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byAddress[address]--; s.byAddress[address] == 0 {
		delete(s.byAddress, address)
	}
	<-s.slots
}

func (s *sockets) count() int { return len(s.slots) }

// shutdown waits for the connections to close, as they do once the server drains. It aborts those
// that are left when ctx ends.
func (s *sockets) shutdown(ctx context.Context) error {
	if s.wait(ctx) {
		return nil
	}
	s.end()
	linger, cancel := context.WithTimeout(context.WithoutCancel(ctx), lingerTimeout)
	defer cancel()
	s.wait(linger)
	return fmt.Errorf("requests over WebSocket were cut off: %w", ctx.Err())
}

// wait reports whether all connections closed before ctx ended.
func (s *sockets) wait(ctx context.Context) bool {
	for taken := range cap(s.slots) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return len(s.slots) == taken
		}
	}
	return true
}

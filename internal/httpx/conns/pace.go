package conns

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// paceLooks is how often a client is checked during its timeout.
	paceLooks = 8
	// rateWindow is how long a client must be waited for before its rate is known.
	rateWindow = 30 * time.Second
)

// Write bounds every write, whether of replies, events or frames of a WebSocket, by the pace of the
// client. It fails once the client has read nothing for the timeout, and never while the client
// reads something, even if that is little compared with the kernel's buffers, which hold megabytes
// and are emptied in large steps.
//
// What a client has read is what its kernel acknowledged. The kernel reports room in its receive
// buffer in steps as well: half of a small buffer, a sixteenth of a large one, and 200 KB at most
// with default settings. So a client is safe if it reads 200 KB within a timeout: 2 KB/s with a
// timeout of two minutes, 10 KB/s with one of 20 s.
func (c *Conn) Write(p []byte) (written int, err error) {
	const unknown = -1
	taken, queued := time.Now(), unknown
	c.await(taken)
	defer c.awaitNoMore()
	for {
		if err := c.setLook(time.Now().Add(c.owner.options.Timeout / paceLooks)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		c.note(time.Now(), n)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		before := queued
		queued = c.queued()
		if n > 0 || queued < before {
			taken = time.Now()
		}
		if time.Since(taken) >= c.owner.options.Timeout || c.isLate(time.Now()) {
			return written, err
		}
	}
}

// setLook makes a write return at a time, or at the deadline if that is earlier.
func (c *Conn) setLook(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.deadline.IsZero() && c.deadline.Before(at) {
		at = c.deadline
	}
	return c.Conn.SetWriteDeadline(at)
}

func (c *Conn) isLate(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.deadline.IsZero() && !now.Before(c.deadline)
}

// SetWriteDeadline implements [net.Conn]. The timeout of the client applies as well.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements [net.Conn].
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// pace is how much a client read while the server waited for it, as of the last check. Time that
// the server spent on making the bytes does not count.
type pace struct {
	waiting bool
	since   time.Time
	sent    int64 // accepted by the kernel
	now     mark
	marks   [2]mark
}

// mark is a state of a client's progress. The second mark is a window or more before the first.
type mark struct {
	waited time.Duration
	taken  int64
}

func (c *Conn) await(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.waiting, c.pace.since = true, now
}

func (c *Conn) awaitNoMore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.waiting = false
}

// note updates the pace after the kernel accepted n bytes.
func (c *Conn) note(now time.Time, n int) {
	queued := int64(c.queued())
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.pace
	p.sent += int64(n)
	p.now = mark{p.now.waited + now.Sub(p.since), p.sent - queued}
	p.since = now
	if p.now.waited-p.marks[1].waited >= c.owner.window {
		p.marks = [2]mark{p.marks[1], p.now}
	}
}

// rate is how many bytes a second a client reads while it is waited for. It is unknown for other
// clients, and before two windows have passed: buffers fill during the first one.
func (c *Conn) rate() (bytes float64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.pace
	from := p.marks[0]
	if !p.waiting || from.waited == 0 {
		return 0, false
	}
	return float64(p.now.taken-from.taken) / (p.now.waited - from.waited).Seconds(), true
}

// queued is how many bytes the client has not acknowledged; a constant where that is unknown.
func (c *Conn) queued() (bytes int) {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { bytes = unacknowledged(fd) }) // a failure shows in the write
	return bytes
}

// CloseWrite lets net/http end a reply so that its client can read all of it.
func (c *Conn) CloseWrite() error {
	if conn, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Reset aborts the connection below TLS, so that its client does not see a clean end. Queued bytes
// are dropped.
func (c *Conn) Reset() {
	if conn, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		_ = conn.SetLinger(0) // it is closed in any case
	}
	_ = c.Close()
}

// BoundSendBuffer keeps the kernel from buffering megabytes for a slow client.
func (c *Conn) BoundSendBuffer(bytes int) {
	if conn, ok := c.Conn.(*net.TCPConn); ok {
		_ = conn.SetWriteBuffer(bytes) // it only fails for a connection that is gone
	}
}

package conns

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// paceLooks is how often, in the time that a client has for taking something, it
	// is looked whether it did.
	paceLooks = 8
	// rateWindow is for how long a client has to be waited for until it is known how
	// much it takes in that time.
	rateWindow = 30 * time.Second
)

// Write bounds what is written by what the client takes, whatever is written:
// replies, events or frames of a WebSocket. It fails once the client has
// taken nothing for the timeout, and never while it takes something, however
// little that is beside the buffers of the kernel: those hold megabytes, and let
// go of them in large steps.
//
// What a client took is what its own kernel acknowledged. That tells of room in
// its buffer in steps as well: of half of a small buffer, and a sixteenth of a
// large one, which are 200 KB at most where nobody set it otherwise. So a client
// is safe that takes as much in a timeout: 2 KB/s with that of two minutes, and
// 10 KB/s with one of 20 s.
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

// setLook has a write return at a time, or at the deadline if that is earlier.
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

// SetWriteDeadline implements [net.Conn]. The timeout of the client holds besides.
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

// pace is how much a client took in the time in which it was waited for, as it was
// looked at last. What the server took to make the bytes is no fault of its client.
type pace struct {
	waiting bool
	since   time.Time
	sent    int64 // that the kernel took
	now     mark
	marks   [2]mark
}

// mark is where a client had got to. The second is a window or more behind the first.
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

// note takes the pace after the kernel took bytes, or none.
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

// rate is how many bytes a second a client takes that is being waited for. It is not
// known of others, and not before two windows have passed: in the first one buffers
// fill.
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

// queued is how many bytes the client has not acknowledged; the same number
// each time where that is not known.
func (c *Conn) queued() (bytes int) {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { bytes = unacknowledged(fd) }) // the write will tell
	return bytes
}

// CloseWrite lets net/http end a reply so that its client can read all of it.
func (c *Conn) CloseWrite() error {
	if conn, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Reset breaks the connection off below TLS, so that its client takes nothing for an end.
// What is queued for it is dropped.
func (c *Conn) Reset() {
	if conn, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		_ = conn.SetLinger(0) // it is closed in any case
	}
	_ = c.Close()
}

// BoundSendBuffer keeps the kernel from taking megabytes for a client that is slow.
func (c *Conn) BoundSendBuffer(bytes int) {
	if conn, ok := c.Conn.(*net.TCPConn); ok {
		_ = conn.SetWriteBuffer(bytes) // it only fails for a connection that is gone
	}
}

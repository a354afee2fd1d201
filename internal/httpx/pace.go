package httpx

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// paceLooks is how often, in the time that a client has for taking something, it
// is looked whether it did.
const paceLooks = 8

// pacedConn bounds every write by what the client takes, whatever is written:
// replies, events or frames of a WebSocket. A write fails once the client has
// taken nothing for the timeout, and never while it takes something, however
// little that is beside the buffers of the kernel: those hold megabytes, and let
// go of them in large steps.
//
// What a client took is what its own kernel acknowledged. That tells of room in
// its buffer in steps as well: of half of a small buffer, and a sixteenth of a
// large one, which are 200 KB at most where nobody set it otherwise. So a client
// is safe that takes as much in a timeout: 2 KB/s with that of two minutes, and
// 10 KB/s with one of 20 s.
type pacedConn struct {
	net.Conn
	timeout time.Duration
}

// Write implements [net.Conn].
func (c *pacedConn) Write(p []byte) (written int, err error) {
	const unknown = -1
	taken, queued := time.Now(), unknown
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.timeout / paceLooks)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		before := queued
		queued = c.queued()
		if n > 0 || queued < before {
			taken = time.Now()
		}
		if time.Since(taken) >= c.timeout {
			return written, err
		}
	}
}

// queued is how many bytes the client has not acknowledged; the same number
// each time where that is not known.
func (c *pacedConn) queued() (bytes int) {
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
func (c *pacedConn) CloseWrite() error {
	if conn, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SetLinger lets abort reset the connection.
func (c *pacedConn) SetLinger(seconds int) error {
	if conn, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return conn.SetLinger(seconds)
	}
	return errors.ErrUnsupported
}

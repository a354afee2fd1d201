package httpx

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// socketChunk bounds one frame. Pings and pongs pass between frames.
const socketChunk = 16 << 10

// Write implements [duplex.Transport]. A client that does not read is dropped.
func (s *socket) Write(ctx context.Context, fill func(io.Writer) error) error {
	w := &frameWriter{ctx: ctx, conn: s.conn}
	err := fill(w)
	if err == nil && w.message != nil {
		err = w.message.Close()
	}
	return s.dropIf(err)
}

// dropIf closes a connection whose client does not read or is gone.
func (s *socket) dropIf(err error) error {
	if err != nil {
		s.server.logger.Debug("a WebSocket client was dropped", "error", err)
		_ = s.conn.CloseNow() // it may have been closed
	}
	return err
}

// frameWriter writes one message in frames.
type frameWriter struct {
	ctx     context.Context
	conn    *websocket.Conn
	message io.WriteCloser // nil before the first frame
}

func (w *frameWriter) Write(p []byte) (written int, err error) {
	if w.message == nil && len(p) > 0 {
		if w.message, err = w.conn.Writer(w.ctx, websocket.MessageText); err != nil {
			return 0, err
		}
	}
	for frame := range slices.Chunk(p, socketChunk) {
		n, err := w.message.Write(frame)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

const (
	// controlBurst and controlRate are how many pings and pongs a client may send at once and per
	// second. Clients ping every few seconds at most, and answer our pings; frames that were
	// delayed arrive together. Each ping costs an answer, and no limit of requests counts pings.
	controlBurst = 100
	controlRate  = 10
)

// errControlFlood closes the connection of a client that sends too many pings.
var errControlFlood = &breach{websocket.StatusPolicyViolation, "Too many pings. Send 10 in a second at most."}

// controlFrames counts the pings and pongs of one client: a bucket that holds controlBurst of them
// and refills at controlRate. Only the reader of the connection uses it.
type controlFrames struct {
	used    float64 // part of the bucket
	last    time.Time
	flooded bool
}

// take counts one frame. No frame is allowed once the bucket was empty; first reports that this
// frame emptied it.
func (c *controlFrames) take(now time.Time) (allowed, first bool) {
	if c.flooded {
		return false, false
	}
	c.used = max(0, c.used-now.Sub(c.last).Seconds()*controlRate) + 1
	c.last = now
	c.flooded = c.used > controlBurst
	return !c.flooded, c.flooded
}

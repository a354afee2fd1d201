package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// window is how many bytes of a stream are buffered for the reader. It is the initial credit of
// servers over WebSocket.
const window = 256 << 10

// inflow is a stream of bytes that comes beside messages. The connection puts bytes in, and one
// reader takes them out: io.EOF follows the last byte only if the number of bytes is the announced
// one; end then has the SHA-256.
type inflow struct {
	conn     *connection
	call     *call
	declared binary.Ref
	frames   bool   // over WebSocket; a pipe has chunks
	sequence uint32 // of the next frame

	mu      sync.Mutex
	held    *bytes.Buffer
	came    int64
	over    bool        // on a pipe: all bytes came, the final notification is missing
	end     *binary.Ref // the final size and checksum
	err     error       // nil while more may come
	changed chan struct{}
	room    chan struct{}

	// These are about frames to the server; guarded by mu as well.
	taken int64 // bytes since the last credit
	sent  uint32
}

func newInflow(conn *connection, c *call, declared binary.Ref) *inflow {
	size := int64(window)
	if declared.Size >= 0 {
		size = min(size, declared.Size)
	}
	return &inflow{
		conn: conn, call: c, declared: declared, frames: conn.carrier.mode() == binary.ModeFrames,
		held:    bytes.NewBuffer(make([]byte, 0, 2*size)), // reads free space only there
		changed: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// take is called by the connection with each piece of the stream.
func (f *inflow) take(a arrival) {
	if f.frames && a.sequence != f.sequence {
		f.stop(fmt.Errorf("%w: frame %d came for frame %d", ErrDamaged, a.sequence, f.sequence))
		return
	}
	f.sequence++
	switch {
	case a.kind == binary.KindData:
		f.put(a.data)
	case a.kind == binary.KindEnd && a.end != nil:
		f.close(*a.end)
	case a.kind == binary.KindEnd && !f.declared.Ends():
		f.close(f.declared)
	case a.kind == binary.KindAbort && f.frames:
		f.stop(gaveUp(string(a.data)))
	case a.kind == binary.KindEnd || a.kind == binary.KindAbort:
		f.mu.Lock()
		f.over = true // a message says how it ended
		f.mu.Unlock()
	default:
		f.stop(fmt.Errorf("%w: a frame that servers do not send", ErrDamaged))
	}
}

// put adds bytes. Over WebSocket the credit guarantees room; on a pipe put waits for room.
func (f *inflow) put(data []byte) {
	for {
		n, err := f.store(data)
		if err != nil {
			f.stop(err)
		}
		if data = data[n:]; err != nil || len(data) == 0 {
			return
		}
		if !f.waitForRoom() {
			return
		}
	}
}

// waitForRoom blocks the pipe until the caller has read something, or has closed the download. It
// returns false if the connection is over.
func (f *inflow) waitForRoom() bool {
	f.conn.silence.hold()
	defer f.conn.silence.free()
	select {
	case <-f.room:
		return true
	case <-f.conn.done:
		return false
	}
}

func (f *inflow) store(data []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer signal(f.changed)
	switch {
	case f.err != nil:
		return len(data), nil
	case f.over:
		return 0, fmt.Errorf("%w: bytes behind the end", ErrDamaged)
	case f.declared.Size >= 0 && f.came+int64(len(data)) > f.declared.Size:
		return 0, ErrLength
	}
	n = min(len(data), window-f.held.Len())
	_, _ = f.held.Write(data[:n]) // never fails
	f.came += int64(n)
	if n < len(data) && f.frames {
		return n, fmt.Errorf("%w: the server sends more than it was granted", ErrDamaged)
	}
	return n, nil
}

// close ends the stream with its final size and checksum.
func (f *inflow) close(end binary.Ref) {
	f.mu.Lock()
	came, early := f.came, !f.frames && f.declared.Ends() && !f.over
	f.end = &end
	f.mu.Unlock()
	switch {
	case end.Ends() || early:
		f.stop(fmt.Errorf("%w: the end of the stream does not say what came", ErrDamaged))
	case end.Size != came || f.declared.Size >= 0 && f.declared.Size != came:
		f.stop(ErrLength)
	default:
		f.conn.forget(f)
		f.finish(io.EOF)
	}
}

// stop ends an incomplete stream, here and at the server.
func (f *inflow) stop(err error) {
	if f.conn.forget(f) {
		f.cancel()
	}
	f.finish(err)
}

// finish tells the reader how the stream ended. The first call counts.
func (f *inflow) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	signal(f.changed)
	signal(f.room)
}

// forget removes a stream; its further pieces are ignored. It reports whether the stream was known.
func (conn *connection) forget(f *inflow) bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	known := conn.streams[f.declared.Stream] == f
	if known {
		delete(conn.streams, f.declared.Stream)
	}
	return known
}

// cancel tells the server that no more bytes are wanted.
func (f *inflow) cancel() {
	if !f.frames {
		f.conn.cancel(f.call.id)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conn.post(frame(binary.Frame{Stream: f.declared.Stream, Kind: binary.KindCancel, Sequence: f.sent}))
	f.sent++
}

func (f *inflow) Read(p []byte) (int, error) {
	for {
		n, err := f.load(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		if err := f.await(); err != nil {
			f.stop(err)
			return 0, err
		}
	}
}

// load takes buffered bytes, and grants the server as many.
func (f *inflow) load(p []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, _ = f.held.Read(p); n == 0 { // io.EOF means that it is empty
		return 0, f.err
	}
	signal(f.room)
	f.taken += int64(n)
	if f.frames && f.err == nil && f.taken >= window/2 {
		f.conn.post(frame(binary.CreditFrame(f.declared.Stream, f.sent, f.taken)))
		f.sent++
		f.taken = 0
	}
	return n, nil
}

// await waits for input. The timeout runs only while the caller reads, and no other download blocks
// the pipe.
func (f *inflow) await() error {
	for begun := time.Now(); ; {
		left := f.conn.c.idle - f.conn.silence.lasts(begun, false)
		if left <= 0 {
			return errIdle
		}
		timer := time.NewTimer(left)
		select {
		case <-f.changed:
			timer.Stop()
			return nil
		case <-f.call.ctx.Done():
			timer.Stop()
			return f.call.ctx.Err()
		case <-timer.C:
		}
	}
}

// Close abandons the rest of the stream.
func (f *inflow) Close() error {
	f.stop(fs.ErrClosed)
	return nil
}

// flowBody is the body of a reply whose bytes come over a connection. Its SHA-256 follows as a
// trailer.
type flowBody struct {
	*inflow
	trailer http.Header
}

func (b flowBody) Read(p []byte) (int, error) {
	n, err := b.inflow.Read(p)
	if errors.Is(err, io.EOF) && b.end != nil {
		b.trailer.Set("Repr-Digest", reprDigest(*b.end.Checksum))
	}
	return n, err
}

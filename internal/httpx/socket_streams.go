package httpx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/mcp/duplex"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	// streamWindow is how many bytes of a stream may be sent before the client grants more: 25 MB/s
	// with a round trip of 10 ms. Clients with longer or faster connections grant more at once.
	streamWindow = 256 << 10
	// maxFrameBytes is the longest valid binary message.
	maxFrameBytes = binary.FrameHeaderBytes + binary.MaxFrameData
	// endedStreams is how many ended streams a connection remembers, for frames of the client that
	// were still on their way. At most 8 streams run at a time, so far fewer than 256 end while a
	// frame travels.
	endedStreams = 256
	// grantBytes and streamFrames define a flood: more frames of a client than streamFrames for
	// each stream and one for each grantBytes sent to it. A client that grants after every small
	// read stays below that; one that grants byte by byte, or cancels endlessly, causes more work
	// than it reads bytes.
	grantBytes   = 1 << 10
	streamFrames = 64
)

// socketStreams are the streams of one connection.
type socketStreams struct {
	patience time.Duration // for credit
	send     func(ctx context.Context, frame []byte) error

	mu      sync.Mutex
	running map[binary.StreamID]*socketStream
	ended   []binary.StreamID // the last endedStreams of them
	opened  int               // streams, in total
	sent    int64             // bytes of all streams
	frames  int64             // received
}

func newSocketStreams(patience time.Duration, send func(context.Context, []byte) error) *socketStreams {
	return &socketStreams{patience: patience, send: send, running: make(map[binary.StreamID]*socketStream)}
}

// begun reports whether there has been a stream. Before the first one the client has no reason to
// send binary frames.
func (s *socketStreams) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened > 0
}

// Open implements [duplex.Transport].
func (s *socket) Open(ref binary.Ref, cancel context.CancelCauseFunc) duplex.Stream {
	return s.streams.open(ref.Stream, cancel)
}

// Bare implements [duplex.Transport]. Frames carry the id of their stream, so even an empty stream
// has a frame.
func (s *socket) Bare(ctx context.Context, declared binary.Ref) (io.Writer, error) {
	w := &bareFrames{ctx: ctx, streams: s.streams, id: declared.Stream}
	if declared.Size > 0 {
		return w, nil
	}
	return w, w.frame(nil)
}

// Fail implements [duplex.Transport].
func (s *socket) Fail(error) {
	// The client may be gone.
	_ = s.conn.Close(websocket.StatusInternalError, "A stream broke in the middle. Connect, and ask again.")
}

// bareFrames writes the bytes of a stream in frames that have only its id.
type bareFrames struct {
	ctx     context.Context
	streams *socketStreams
	id      binary.StreamID
	buffer  []byte
}

// Write implements [io.Writer].
func (w *bareFrames) Write(b []byte) (written int, err error) {
	for piece := range slices.Chunk(b, binary.MaxFrameData) {
		if err := w.frame(piece); err != nil {
			return written, err
		}
		written += len(piece)
	}
	return written, nil
}

func (w *bareFrames) frame(data []byte) error {
	w.buffer = binary.AppendBareFrame(w.buffer[:0], w.id, data)
	return w.streams.send(w.ctx, w.buffer)
}

func (s *socketStreams) open(id binary.StreamID, cancel context.CancelCauseFunc) *socketStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := &socketStream{owner: s, id: id, cancel: cancel, credit: streamWindow, granted: make(chan struct{}, 1)}
	s.running[id] = stream
	s.opened++
	return stream
}

// receive takes a binary message of the client. Its errors are [*breach].
func (s *socketStreams) receive(message []byte) error {
	frame, err := binary.ParseFrame(message)
	if err != nil {
		return broken("The binary frame is malformed.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frames++; s.frames > int64(s.opened)*streamFrames+s.sent/grantBytes {
		return &breach{websocket.StatusPolicyViolation, "Too many credit and cancel frames. Grant more bytes at once."}
	}
	if frame.Kind != binary.KindCredit && frame.Kind != binary.KindCancel {
		return broken("Clients send credit and cancel frames alone.")
	}
	stream := s.running[frame.Stream]
	if stream == nil {
		if slices.Contains(s.ended, frame.Stream) {
			return nil
		}
		return broken("The frame names a stream that this connection never had.")
	}
	return stream.receive(frame)
}

func broken(reason string) error { return &breach{websocket.StatusProtocolError, reason} }

// socketStream is one stream. It implements [duplex.Stream].
type socketStream struct {
	owner    *socketStreams
	id       binary.StreamID
	cancel   context.CancelCauseFunc
	granted  chan struct{} // signals that credit came
	sequence uint32        // of the next frame to the client
	buffer   []byte        // of the frame that is sent

	// Guarded by owner.mu.
	credit int64
	next   uint32 // number of the next frame of the client
}

// receive takes a frame of the stream, with owner.mu held.
func (s *socketStream) receive(frame binary.Frame) error {
	if frame.Sequence != s.next {
		return broken(fmt.Sprintf("The frame of a stream has the number %d instead of %d.", frame.Sequence, s.next))
	}
	s.next++
	if frame.Kind == binary.KindCancel {
		s.cancel(&mcp.Error{Reason: resources.ReasonCancelled, Message: "The client cancelled the stream."})
		return nil
	}
	s.credit += min(frame.Credit(), math.MaxInt64-s.credit)
	select {
	case s.granted <- struct{}{}:
	default: // a signal is pending already
	}
	return nil
}

// Credit implements [duplex.Stream]. A client that grants no credit fails this stream only: its
// connection may be in use for other requests.
func (s *socketStream) Credit(ctx context.Context, most int) (int, error) {
	if n := s.take(most); n > 0 {
		return n, ctx.Err()
	}
	timer := time.NewTimer(s.owner.patience)
	defer timer.Stop()
	for {
		select {
		case <-s.granted:
			if n := s.take(most); n > 0 {
				return n, nil
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-timer.C:
			return 0, &mcp.Error{Reason: resources.ReasonBusy, Message: fmt.Sprintf("No credit came for %s. Ask "+
				"again, and grant bytes in time.", s.owner.patience), Cause: errNoCredit}
		}
	}
}

var errNoCredit = errors.New("the client granted nothing")

// take takes credit for one frame.
func (s *socketStream) take(most int) int {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	n := min(int64(most), binary.MaxFrameData, s.credit)
	s.credit -= n
	s.owner.sent += n
	return int(n)
}

// Data implements [duplex.Stream].
func (s *socketStream) Data(ctx context.Context, p []byte) error {
	return s.frame(ctx, binary.Frame{Stream: s.id, Kind: binary.KindData, Sequence: s.sequence, Payload: p})
}

// End implements [duplex.Stream].
func (s *socketStream) End(ctx context.Context, whole binary.Ref) error {
	return s.frame(ctx, binary.EndFrame(whole, s.sequence))
}

// Abort implements [duplex.Stream].
func (s *socketStream) Abort(ctx context.Context, words string) error {
	return s.frame(ctx, binary.AbortFrame(s.id, s.sequence, words))
}

func (s *socketStream) frame(ctx context.Context, frame binary.Frame) error {
	s.sequence++
	s.buffer = frame.Append(s.buffer[:0])
	return s.owner.send(ctx, s.buffer)
}

// Close implements [duplex.Stream].
func (s *socketStream) Close() {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	delete(s.owner.running, s.id)
	s.owner.ended = append(s.owner.ended, s.id)
	s.owner.ended = s.owner.ended[max(len(s.owner.ended)-endedStreams, 0):]
}

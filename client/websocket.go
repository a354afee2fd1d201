package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

const (
	// socketProtocol is the subprotocol that MCP servers name; some insist on it.
	socketProtocol = "mcp"
	// farewell is how long closing a connection may take. A server that is gone does not answer.
	farewell = time.Second
)

// socket carries messages in text frames and bytes in binary ones. It implements
// [carrier].
type socket struct {
	conn *websocket.Conn
	idle time.Duration
	// Frames are read into one buffer, since each is used up before the next.
	buffer [binary.FrameHeaderBytes + binary.MaxFrameData + 1]byte
}

// dialSocket opens a connection. It does not follow redirects, since credentials would go with
// them.
func (c *Client) dialSocket(ctx context.Context, address *url.URL) (carrier, error) {
	operation := "connection to " + address.Scheme + "://" + address.Host
	header := http.Header{}
	if c.options.Authorization != "" {
		header.Set("Authorization", c.options.Authorization)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.idle, errIdle)
	defer cancel()
	//nolint:bodyclose // the library has read it
	conn, reply, err := websocket.Dial(ctx, address.String(), &websocket.DialOptions{
		HTTPClient: c.http, HTTPHeader: header, Subprotocols: []string{socketProtocol},
	})
	switch {
	case err == nil:
		conn.SetReadLimit(maxMessage)
		return &socket{conn: conn, idle: c.idle}, nil
	case errors.Is(context.Cause(ctx), errIdle):
		return nil, fmt.Errorf("%s: %w: %w", operation, ErrNetwork, errIdle)
	case reply != nil && reply.StatusCode != http.StatusSwitchingProtocols && reply.StatusCode != 0:
		return nil, refusal(reply, operation)
	default:
		return nil, fmt.Errorf("%s: %w", operation, failed(ctx, withoutURL(err)))
	}
}

func (s *socket) mode() binary.Mode { return binary.ModeFrames }

func (s *socket) receive(progress func()) (arrival, error) {
	kind, in, err := s.conn.Reader(context.Background())
	if err != nil {
		return arrival{}, err
	}
	if kind == websocket.MessageText {
		text, err := io.ReadAll(&steps{Reader: in, progress: progress})
		if errors.Is(err, websocket.ErrMessageTooBig) {
			err = errTooLong
		}
		return arrival{isMessage: true, message: text}, err
	}
	n, err := io.ReadFull(in, s.buffer[:])
	if err == nil {
		return arrival{}, fmt.Errorf("%w: it has more than %d bytes", binary.ErrFrame, n-1)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return arrival{}, err
	}
	return framed(s.buffer[:n])
}

func framed(raw []byte) (arrival, error) {
	f, err := binary.ParseFrame(raw)
	if err != nil {
		return arrival{}, err
	}
	a := arrival{stream: f.Stream, kind: f.Kind, sequence: f.Sequence, data: f.Payload}
	if f.Kind == binary.KindEnd {
		end := f.End()
		a.end = &end
	}
	return a, nil
}

func (s *socket) send(o outgoingFrame) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.idle)
	defer cancel()
	kind := websocket.MessageText
	if o.bytes {
		kind = websocket.MessageBinary
	}
	return s.conn.Write(ctx, kind, o.text)
}

// beside checks that the server is still there: a silent connection may have been lost on the way.
func (s *socket) beside(ctx context.Context) error {
	const times = 3 // a ping is sent well before the timeout of a request
	ticker := time.NewTicker(s.idle / times)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		pinging, cancel := context.WithTimeout(ctx, s.idle)
		err := s.conn.Ping(pinging)
		cancel()
		if err != nil && ctx.Err() == nil {
			return errors.Join(errIdle, err)
		}
	}
}

func (s *socket) close(reason error) error {
	timer := time.AfterFunc(farewell, func() { _ = s.conn.CloseNow() }) // it may have been closed
	defer timer.Stop()
	switch {
	case reason == nil:
		_ = s.conn.Close(websocket.StatusNormalClosure, "") // the server may be gone
	case errors.Is(reason, ErrDamaged):
		_ = s.conn.Close(websocket.StatusProtocolError, "What came is no message and no frame.") // likewise
	default:
		_ = s.conn.CloseNow() // likewise
	}
	return reason
}

package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// asked is a request that a peer got.
type asked struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		URI          string          `json:"uri"`
		TransferMode string          `json:"transferMode"`
		RequestID    json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// peer is a server that does what a test wants, over one connection.
type peer struct {
	t     *testing.T
	mode  binary.Mode
	write func(binary bool, raw []byte) error
	serve func(p *peer, r asked)
	cut   func() // breaks the connection

	mu        sync.Mutex
	sequences map[binary.StreamID]uint32
	credits   map[binary.StreamID]int64
	more      *sync.Cond
	cancelled map[string]bool // streams and requests
	gone      bool
}

func newPeer(t *testing.T, mode binary.Mode, serve func(*peer, asked)) *peer {
	p := &peer{t: t, mode: mode, serve: serve, sequences: make(map[binary.StreamID]uint32),
		credits: make(map[binary.StreamID]int64), cancelled: make(map[string]bool)}
	p.more = sync.NewCond(&p.mu)
	return p
}

// send writes without an interruption by others.
func (p *peer) send(binary bool, raw []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.write(binary, raw)
}

func (p *peer) message(m map[string]any) {
	m["jsonrpc"] = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		p.t.Error(err)
	}
	_ = p.send(false, text) // clients may be gone
}

func (p *peer) result(r asked, result any) { p.message(map[string]any{"id": r.ID, "result": result}) }

// refer answers a request with a content whose bytes follow.
func (p *peer) refer(r asked, refs ...binary.Ref) {
	var list []any
	for _, ref := range refs {
		list = append(list, map[string]any{"uri": r.Params.URI, "mimeType": "application/x-test", "binaryRef": ref})
	}
	p.result(r, map[string]any{"contents": list})
}

func (p *peer) piece(f binary.Frame) {
	if p.mode == binary.ModeFrames {
		_ = p.send(true, f.Append(nil)) // clients may be gone
		return
	}
	_ = p.send(true, binary.Chunk{Stream: f.Stream, Data: f.Payload}.Append(nil)) // clients may be gone
}

func (p *peer) sequence(id binary.StreamID) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.sequences[id]
	p.sequences[id]++
	return n
}

// data sends bytes as far as they were granted.
func (p *peer) data(id binary.StreamID, content []byte) {
	for len(content) > 0 {
		piece := content[:min(len(content), binary.MaxFrameData)]
		p.mu.Lock()
		for p.mode == binary.ModeFrames && !p.gone && !p.cancelled[id.String()] && p.credits[id]+
			256<<10 < int64(len(piece)) {
			p.more.Wait()
		}
		p.credits[id] -= int64(len(piece))
		over := p.gone || p.cancelled[id.String()]
		p.mu.Unlock()
		if over {
			return
		}
		p.piece(binary.Frame{Stream: id, Sequence: p.sequence(id), Payload: piece})
		content = content[len(piece):]
	}
}

// end says that all was sent, and what it was.
func (p *peer) end(whole binary.Ref, known bool) {
	if p.mode == binary.ModeFrames {
		_ = p.send(true, binary.EndFrame(whole, p.sequence(whole.Stream)).Append(nil)) // clients may be gone
		return
	}
	_ = p.send(true, binary.Chunk{Stream: whole.Stream}.Append(nil)) // clients may be gone
	if !known {
		p.message(map[string]any{"method": "notifications/binary/end", "params": whole})
	}
}

func (p *peer) abort(id binary.StreamID, words string) {
	if p.mode == binary.ModeFrames {
		_ = p.send(true, binary.AbortFrame(id, p.sequence(id), words).Append(nil)) // clients may be gone
		return
	}
	_ = p.send(true, binary.Chunk{Stream: id, Aborted: true}.Append(nil)) // clients may be gone
	p.message(map[string]any{"method": "notifications/binary/aborted", "params": map[string]any{"streamId": id,
		"message": words}})
}

// hear takes what a client sends.
func (p *peer) hear(isFrame bool, raw []byte) {
	if isFrame {
		f, err := binary.ParseFrame(raw)
		if err != nil || f.Kind != binary.KindCredit && f.Kind != binary.KindCancel {
			p.t.Errorf("a client sent %x: %v", raw, err)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if f.Kind == binary.KindCredit {
			p.credits[f.Stream] += f.Credit()
		} else {
			p.cancelled[f.Stream.String()] = true
		}
		p.more.Broadcast()
		return
	}
	var r asked
	if err := json.Unmarshal(raw, &r); err != nil {
		p.t.Errorf("a client sent %q: %v", raw, err)
	}
	switch {
	case r.Method == "notifications/cancelled":
		p.mu.Lock()
		p.cancelled[string(r.Params.RequestID)] = true
		p.more.Broadcast()
		p.mu.Unlock()
	case r.Method == "server/discover":
		p.result(r, map[string]any{"supportedVersions": []string{"2026-07-28"}})
	case r.ID != nil && r.Method != "":
		p.serve(p, r)
	}
}

func (p *peer) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.more.Broadcast()
}

func (p *peer) left() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// awaitCancel waits until a stream or request is cancelled, and returns false if the client leaves first.
func (p *peer) awaitCancel(what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.cancelled[what] && !p.gone {
		p.more.Wait()
	}
	return p.cancelled[what]
}

// modes are those of connections.
var modes = []binary.Mode{binary.ModeFrames, binary.ModeChunks}

// connectPeer makes a client of a peer, which serves each request for itself.
func connectPeer(t *testing.T, mode binary.Mode, o client.Options, serve func(*peer, asked)) *client.Client {
	t.Helper()
	address := "stdio:"
	if mode == binary.ModeFrames {
		address = servePeer(t, serve)
	} else {
		o.Pipe = pipePeer(t, serve)
	}
	c, err := client.New(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// servePeer serves over WebSocket.
func servePeer(t *testing.T, serve func(*peer, asked)) (address string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		p := newPeer(t, binary.ModeFrames, serve)
		p.write = func(isFrame bool, raw []byte) error {
			kind := websocket.MessageText
			if isFrame {
				kind = websocket.MessageBinary
			}
			return conn.Write(context.WithoutCancel(r.Context()), kind, raw)
		}
		p.cut = func() { _ = conn.CloseNow() }
		p.run(func() (bool, []byte, error) {
			kind, raw, err := conn.Read(context.WithoutCancel(r.Context()))
			return kind == websocket.MessageBinary, raw, err
		})
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http") + "/ws"
}

// pipePeer serves over a pipe.
func pipePeer(t *testing.T, serve func(*peer, asked)) net.Conn {
	here, there := net.Pipe()
	p := newPeer(t, binary.ModeChunks, serve)
	p.write = func(isChunk bool, raw []byte) error {
		if !isChunk {
			raw = append(raw, '\n')
		}
		_, err := there.Write(raw)
		return err
	}
	p.cut = func() { _ = there.Close() }
	lines := bufio.NewReader(there)
	var running sync.WaitGroup
	running.Go(func() {
		p.run(func() (bool, []byte, error) {
			line, err := lines.ReadBytes('\n')
			return false, line, err
		})
		_ = there.Close()
	})
	t.Cleanup(func() {
		_ = there.Close()
		running.Wait()
	})
	return here
}

// run handles what is read, requests each for itself, until that fails.
func (p *peer) run(read func() (bool, []byte, error)) {
	var running sync.WaitGroup
	defer running.Wait()
	defer p.leave()
	for {
		isFrame, raw, err := read()
		if err != nil {
			return
		}
		if isFrame {
			p.hear(true, raw)
			continue
		}
		running.Go(func() { p.hear(false, raw) })
	}
}

// refOf describes bytes.
func refOf(content []byte) binary.Ref {
	tally := binary.NewTally()
	_, _ = tally.Write(content)
	return tally.Ref(binary.NewStreamID())
}

// unknown is a reference whose size and checksum come at the end.
func unknown(r binary.Ref) binary.Ref { return binary.Ref{Stream: r.Stream, Size: binary.UnknownSize} }

// fetch reads all of a resource.
func fetch(t *testing.T, c *client.Client, uri string) ([]byte, error) {
	t.Helper()
	d, err := c.Fetch(t.Context(), uri)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	content, err := io.ReadAll(d)
	if err == nil && d.MIMEType != "application/x-test" {
		err = fmt.Errorf("the type is %q", d.MIMEType)
	}
	return content, err
}

// isAny reports whether an error is one of some.
func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

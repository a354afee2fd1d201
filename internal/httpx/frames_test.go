package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// window is what a server may send of a stream before anything is granted.
const window = 256 << 10

// receiving is a client over WebSocket that takes streams, and holds the server to
// the rules of each.
type receiving struct {
	*socket
	version      string
	capabilities map[string]any
	grants       bool          // as many bytes as it takes
	grain        int64         // of grants
	wire         *atomic.Int64 // bytes, both ways
	streams      map[string]*inbound
	replies      map[string]readReply // by id
	raw          map[string]string
	order        []string // what came: ids of streams, or "message"
}

// inbound is a stream as its client sees it.
type inbound struct {
	id        binary.StreamID
	tally     *binary.Tally
	body      []byte // its beginning, up to what tests compare
	frames    uint32 // that came
	grants    uint32 // frames that were sent
	credit    int64
	end       *binary.Ref
	aborted   string
	isAborted bool
}

func (s *inbound) over() bool { return s.end != nil || s.isAborted }

// meteredConn counts what goes as well.
type meteredConn struct{ countedConn }

func (c meteredConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.read.Add(int64(n))
	return n, err
}

// receive opens a connection of a client that declares binary transfer.
func receive(t *testing.T, url, version string, capability any) *receiving {
	t.Helper()
	wire := new(atomic.Int64)
	dialer := &net.Dialer{}
	counted := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
		address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		return meteredConn{countedConn{conn, wire}}, err
	}}}
	conn, _, err := websocket.Dial(t.Context(), url+"/ws", &websocket.DialOptions{Subprotocols: []string{"mcp"},
		HTTPClient: counted})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() }) // it may have been closed
	r := &receiving{
		socket: &socket{t, conn}, version: version, capabilities: extended(capability),
		grants: true, grain: window / 2, wire: wire,
		streams: make(map[string]*inbound), replies: make(map[string]readReply), raw: make(map[string]string),
	}
	if version != modernVersion {
		f := r.call(rpc(version, 0, "initialize", map[string]any{
			"protocolVersion": version, "capabilities": r.capabilities, "clientInfo": map[string]any{"name": "test",
				"version": "1"},
		}))
		if f.Result["protocolVersion"] != version {
			t.Fatal(f.raw)
		}
	}
	return r
}

// request writes one of the client's era, with its capabilities.
func (r *receiving) request(id int, method string, params map[string]any) string {
	all := map[string]any{}
	for name, value := range params {
		all[name] = value
	}
	if r.version == modernVersion {
		all["_meta"] = map[string]any{metaVersion: modernVersion, metaCapabilities: r.capabilities}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": all})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ask sends a request for bytes.
func (r *receiving) ask(id int, uri string) {
	r.t.Helper()
	r.send(r.request(id, methodRead, map[string]any{"uri": uri, "transferMode": "binary"}))
}

// begin asks for bytes and waits for the stream to be named.
func (r *receiving) begin(id int, uri string) *inbound {
	r.t.Helper()
	key := string(mustJSON(id))
	delete(r.raw, key)
	r.ask(id, uri)
	r.until(func() bool { return r.raw[key] != "" })
	return r.named(key)
}

// named is the stream of a reply.
func (r *receiving) named(key string) *inbound {
	r.t.Helper()
	if len(r.replies[key].Result.Contents) != 1 {
		r.t.Fatal(r.raw[key])
	}
	return r.stream(r.replies[key].Result.Contents[0].BinaryRef.StreamID)
}

func (r *receiving) stream(text string) *inbound {
	r.t.Helper()
	if s := r.streams[text]; s != nil {
		return s
	}
	id, err := binary.ParseStreamID(text)
	if err != nil {
		r.t.Fatal(text, err)
	}
	s := &inbound{id: id, tally: binary.NewTally(), credit: window}
	r.streams[text] = s
	return s
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// step reads one message of either kind.
func (r *receiving) step() error {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), gittest.Patience)
	defer cancel()
	kind, message, err := r.conn.Read(ctx)
	switch {
	case err != nil:
		return err
	case kind == websocket.MessageText:
		r.message(message)
	default:
		r.frame(message)
	}
	return nil
}

func (r *receiving) message(text []byte) {
	r.t.Helper()
	var reply struct {
		ID json.RawMessage
	}
	var contents readReply
	if err := json.Unmarshal(text, &reply); err != nil {
		r.t.Fatalf("%v: %.300s", err, text)
	}
	_ = json.Unmarshal(text, &contents) // replies of other methods have none
	key := string(reply.ID)
	r.raw[key], r.replies[key] = string(text), contents
	r.order = append(r.order, "message")
	for _, content := range contents.Result.Contents {
		if content.BinaryRef.StreamID != "" {
			r.stream(content.BinaryRef.StreamID)
		}
	}
}

func (r *receiving) frame(raw []byte) {
	r.t.Helper()
	f, err := binary.ParseFrame(raw)
	if err != nil {
		r.t.Fatalf("%v: %x", err, raw[:min(len(raw), 40)])
	}
	s := r.streams[f.Stream.String()]
	if s == nil || s.over() || f.Sequence != s.frames {
		r.t.Fatalf("a frame of %s: kind %d, number %d, of %+v", f.Stream, f.Kind, f.Sequence, s)
	}
	s.frames++
	r.order = append(r.order, f.Stream.String())
	switch f.Kind {
	case binary.KindData:
		r.data(s, f.Payload)
	case binary.KindEnd:
		whole := f.End()
		s.end = &whole
		if err := s.tally.Compare(whole); err != nil {
			r.t.Error(err)
		}
	case binary.KindAbort:
		s.isAborted, s.aborted = true, string(f.Payload)
	default:
		r.t.Fatalf("a frame of the client's kind %d", f.Kind)
	}
}

func (r *receiving) data(s *inbound, p []byte) {
	r.t.Helper()
	_, _ = s.tally.Write(p)
	if len(s.body) < 6<<20 {
		s.body = append(s.body, p...)
	}
	if s.credit -= int64(len(p)); s.credit < 0 {
		r.t.Fatalf("%d bytes more were sent than granted", -s.credit)
	}
	if r.grants && s.credit <= window/2 {
		r.grant(s, r.grain)
	}
}

// grant lets the server send more.
func (r *receiving) grant(s *inbound, more int64) {
	r.t.Helper()
	s.credit += more
	r.write(binary.CreditFrame(s.id, s.grants, more).Append(nil))
	s.grants++
}

func (r *receiving) cancel(s *inbound) {
	r.t.Helper()
	r.write(binary.Frame{Stream: s.id, Kind: binary.KindCancel, Sequence: s.grants}.Append(nil))
	s.grants++
}

func (r *receiving) write(frame []byte) {
	r.t.Helper()
	if err := r.conn.Write(r.t.Context(), websocket.MessageBinary, frame); err != nil {
		r.t.Fatal(err)
	}
}

// until reads until something has come.
func (r *receiving) until(done func() bool) {
	r.t.Helper()
	for !done() {
		if err := r.step(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// whole reads a stream to its end.
func (r *receiving) whole(s *inbound) *inbound {
	r.t.Helper()
	r.until(s.over)
	if s.isAborted {
		r.t.Fatalf("the stream was aborted: %s", s.aborted)
	}
	return s
}

// answers makes sure that the connection is alive and well.
func (r *receiving) answers(id int) {
	r.t.Helper()
	r.send(r.request(id, "resources/templates/list", nil))
	key := string(mustJSON(id))
	r.until(func() bool { return r.raw[key] != "" })
	if !strings.Contains(r.raw[key], "resourceTemplates") {
		r.t.Error(r.raw[key])
	}
}

// refused reads until the connection ends, and returns how.
func (r *receiving) refused() (websocket.StatusCode, string) {
	r.t.Helper()
	for {
		if err := r.step(); err != nil {
			var closed websocket.CloseError
			if !asClose(err, &closed) {
				r.t.Fatal(err)
			}
			return closed.Code, closed.Reason
		}
	}
}

func (s *inbound) is(want []byte) bool {
	return s.end != nil && s.end.Size == int64(len(want)) && bytes.Equal(s.body, want)
}

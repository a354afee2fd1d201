package httpx_test

import (
	"bufio"
	"context"
	"crypto/rand"
	wire "encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

func TestBadFramesCloseTheirConnection(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s := serve(t)
	s.bulky()
	bystander := receive(t, s.url, modernVersion, supported)
	bystander.grants = false
	kept := bystander.begin(1, "repo://repo/contents/large")
	header := func(kind byte, sequence uint32) string {
		return string(wire.BigEndian.AppendUint32([]byte{kind}, sequence))
	}
	credit := string(wire.BigEndian.AppendUint64(nil, 1<<20))
	for name, c := range map[string]struct {
		frame  func(id string) string
		status websocket.StatusCode
		reason string
	}{
		"nothing": {func(string) string { return "" }, websocket.StatusProtocolError, "malformed"},
		"a message": {func(string) string { return rpc(modernVersion, 1, "ping", nil) },
			websocket.StatusProtocolError, "malformed"},
		"cut in its id": {func(id string) string { return id[:9] }, websocket.StatusProtocolError, "malformed"},
		"cut in its credit": {func(id string) string { return id + header(4, 0) + credit[:7] },
			websocket.StatusProtocolError, "malformed"},
		"a credit of nothing": {func(id string) string { return id + header(4, 0) + strings.Repeat("\x00", 8) },
			websocket.StatusProtocolError, "malformed"},
		"a credit below zero": {func(id string) string { return id + header(4, 0) + strings.Repeat("\xff", 8) },
			websocket.StatusProtocolError, "malformed"},
		"a cancel with words": {func(id string) string { return id + header(8, 0) + "why" },
			websocket.StatusProtocolError, "malformed"},
		"flags that nobody has": {func(id string) string { return id + header(12, 0) + credit },
			websocket.StatusProtocolError, "malformed"},
		"too long": {func(id string) string { return id + header(0, 0) + strings.Repeat("x", 32<<10+1) },
			websocket.StatusProtocolError, "malformed"},
		"half a megabyte": {func(id string) string { return id + header(0, 0) + strings.Repeat("x", 1<<19) },
			websocket.StatusProtocolError, "malformed"},
		"data": {func(id string) string { return id + header(0, 0) + "x" },
			websocket.StatusProtocolError, "credit and cancel frames alone"},
		"an end": {func(id string) string { return id + header(1, 0) + strings.Repeat("\x00", 40) },
			websocket.StatusProtocolError, "credit and cancel frames alone"},
		"an abort": {func(id string) string { return id + header(2, 0) + "oh" },
			websocket.StatusProtocolError, "credit and cancel frames alone"},
		"a number left out": {func(id string) string { return id + header(4, 1) + credit },
			websocket.StatusProtocolError, "number 1 instead of 0"},
		"an unknown stream": {func(string) string {
			id := binary.NewStreamID()
			return string(id[:]) +
				header(4, 0) + credit
		}, websocket.StatusProtocolError, "never had"},
		"that of another": {func(string) string { return string(kept.id[:]) + header(8, 0) },
			websocket.StatusProtocolError, "never had"},
	} {
		r := receive(t, s.url, modernVersion, supported)
		r.grants = false
		stream := r.begin(1, "repo://repo/contents/large")
		r.write([]byte(c.frame(string(stream.id[:]))))
		if status, reason := r.refused(); status != c.status || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %d %q", name, status, reason)
		}
		if stream.over() {
			t.Errorf("%s: the stream ended: %+v", name, stream)
		}
	}
	// Before the first stream they have no meaning at all.
	r := receive(t, s.url, modernVersion, supported)
	r.write(binary.CreditFrame(binary.NewStreamID(), 0, 1).Append(nil))
	if status, reason := r.refused(); status != websocket.StatusUnsupportedData ||
		!strings.Contains(reason, "text frames") {
		t.Errorf("before the first stream: %d %q", status, reason)
	}
	// Nothing is lost elsewhere.
	bystander.grant(kept, bulk)
	if bystander.whole(kept); kept.end.Size != bulk {
		t.Errorf("%+v", kept.end)
	}
}

// What was on its way when a stream ended is passed over.
func TestLateFramesArePassedOver(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.bulky()
	r := receive(t, s.url, modernVersion, supported)
	for id := range 40 {
		stream := r.whole(r.begin(id, "repo://repo/contents/a"))
		r.grant(stream, window)
		r.grant(stream, window)
		r.cancel(stream)
	}
	r.answers(100)
}

func TestFloodsCloseTheirConnection(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s := serve(t)
	s.bulky()
	for name, flood := range map[string]func(r *receiving, s *inbound, i int) error{
		"credit byte by byte": func(r *receiving, s *inbound, i int) error {
			return r.conn.Write(t.Context(), websocket.MessageBinary,
				binary.CreditFrame(s.id, uint32(i), 1).Append(nil))
		},
		"cancelling": func(r *receiving, s *inbound, i int) error {
			return r.conn.Write(t.Context(), websocket.MessageBinary,
				binary.Frame{Stream: s.id, Kind: binary.KindCancel, Sequence: uint32(i)}.Append(nil))
		},
	} {
		r := receive(t, s.url, modernVersion, supported)
		r.grants = false
		stream := r.begin(1, "repo://repo/contents/large")
		r.until(func() bool { return stream.tally.Size() == window })
		for i := range 2000 {
			if flood(r, stream, i) != nil {
				break
			}
			stream.credit++
		}
		if status, reason := r.refused(); status != websocket.StatusPolicyViolation ||
			!strings.Contains(reason, "Grant more bytes at once") {
			t.Errorf("%s: %d %q", name, status, reason)
		}
	}
	// One that is within the bounds: a grant for each KiB.
	r := receive(t, s.url, modernVersion, supported)
	r.grants = false
	stream := r.begin(1, "repo://repo/contents/large")
	for granted := int64(window); granted < bulk; granted += 1 << 10 {
		r.until(func() bool { return stream.tally.Size() >= granted-window/2 })
		r.grant(stream, 1<<10)
	}
	if r.whole(stream); stream.end.Size != bulk {
		t.Errorf("%+v", stream.end)
	}
}

// rawSocket is a client that writes the bytes of RFC 6455 itself.
type rawSocket struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dialRaw(t *testing.T, url string) *rawSocket {
	t.Helper()
	host := strings.TrimPrefix(url, "http://")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it may have been closed
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn,
		"GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: mcp\r\n\r\n", host, "dGhlIHNhbXBsZSBub25jZQ==")
	if err != nil {
		t.Fatal(err)
	}
	r := &rawSocket{t, conn, bufio.NewReader(conn)}
	response, err := http.ReadResponse(r.in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(response, err)
	}
	_ = response.Body.Close() // of such a response it is empty
	return r
}

// The first byte of binary.
const (
	fin          = 0x80
	opContinue   = 0x0
	opText       = 0x1
	opBinary     = 0x2
	opClose      = 0x8
	opPing       = 0x9
	opPong       = 0xa
	closeInvalid = 1002
)

// frame is one of a client, masked.
func wireFrame(first byte, payload string) []byte {
	out := []byte{first}
	switch n := len(payload); {
	case n < 126:
		out = append(out, 0x80|byte(n))
	default:
		out = wire.BigEndian.AppendUint16(append(out, 0x80|126), uint16(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	out = append(out, mask[:]...)
	for i := range len(payload) {
		out = append(out, payload[i]^mask[i%4])
	}
	return out
}

func (r *rawSocket) write(parts ...[]byte) {
	r.t.Helper()
	for _, part := range parts {
		if _, err := r.conn.Write(part); err != nil {
			r.t.Fatal(err)
		}
	}
}

// next reads a frame of the server.
func (r *rawSocket) next() (first byte, payload []byte) {
	r.t.Helper()
	var header [2]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		r.t.Fatal(err)
	}
	size := uint64(header[1])
	if extra := map[uint64]int{126: 2, 127: 8}[size]; extra > 0 {
		var number [8]byte
		if _, err := io.ReadFull(r.in, number[8-extra:]); err != nil {
			r.t.Fatal(err)
		}
		size = wire.BigEndian.Uint64(number[:])
	}
	payload = make([]byte, size)
	if _, err := io.ReadFull(r.in, payload); err != nil {
		r.t.Fatal(err)
	}
	return header[0], payload
}

// begin asks for a large file and returns the id of its stream.
func (r *rawSocket) begin() string {
	r.t.Helper()
	asking := receiving{version: modernVersion, capabilities: extended(supported)}
	r.write(wireFrame(fin|opText, asking.request(1, methodRead, map[string]any{"uri": "repo://repo/contents/large",
		"transferMode": "binary"})))
	message := ""
	for {
		first, payload := r.next()
		message += string(payload)
		if first&fin != 0 {
			break
		}
	}
	_, rest, _ := strings.Cut(message, `"streamId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	decoded, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(decoded) != 16 {
		r.t.Fatal(message)
	}
	return string(decoded)
}

// received reads data frames until so many bytes have come, and counts pongs.
func (r *rawSocket) received(want int) (pongs int) {
	r.t.Helper()
	for got := 0; got < want; {
		switch first, payload := r.next(); first {
		case fin | opBinary:
			if payload[16] != 0 {
				r.t.Fatalf("a frame of kind %d: %q", payload[16], payload[21:])
			}
			got += len(payload) - 21
		case fin | opPong:
			pongs++
		default:
			r.t.Fatalf("a frame of type %#x: %q", first, payload)
		}
	}
	return pongs
}

// closed reads until the server closes the connection, and returns the status.
func (r *rawSocket) closed() int {
	r.t.Helper()
	for {
		if first, payload := r.next(); first == fin|opClose {
			return int(wire.BigEndian.Uint16(payload))
		}
	}
}

// Credit may come in fragments, with control frames between them; messages cannot
// stand there.
func TestFramesMayBeFragmented(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.bulky()
	r := dialRaw(t, s.url)
	id := r.begin()
	r.received(window)
	credit := string(binary.CreditFrame(binary.StreamID([]byte(id)), 0, 50_000).Append(nil))
	r.write(wireFrame(opBinary, credit[:1]), wireFrame(fin|opPing, "1"), wireFrame(opContinue, credit[1:17]),
		wireFrame(opContinue, ""),
		wireFrame(fin|opPing, "2"), wireFrame(opContinue, credit[17:28]), wireFrame(fin|opContinue, credit[28:]))
	if pongs := r.received(50_000); pongs != 2 {
		t.Errorf("%d pongs", pongs)
	}
	for name, parts := range map[string][][]byte{
		"a message between": {wireFrame(opBinary, credit[:5]),
			wireFrame(fin|opText, rpc(modernVersion, 2, "resources/list", nil))},
		"a continuation alone":   {wireFrame(fin|opContinue, credit)},
		"a ping in fragments":    {wireFrame(opPing, "1")},
		"a type that nobody has": {wireFrame(fin|0x3, credit)},
		"reserved bits":          {wireFrame(fin|0x40|opBinary, credit)},
	} {
		r := dialRaw(t, s.url)
		r.begin()
		r.received(window)
		r.write(parts...)
		if status := r.closed(); status != closeInvalid {
			t.Errorf("%s: status %d", name, status)
		}
	}
	// What is cut off ends its connection alone; TestMain looks for what it left.
	for cut := 1; cut < len(credit)+6; cut += 4 {
		r := dialRaw(t, s.url)
		r.begin()
		r.write(wireFrame(fin|opBinary, credit)[:cut])
		if err := r.conn.Close(); err != nil {
			t.Error(err)
		}
	}
	after := receive(t, s.url, modernVersion, supported)
	if after.whole(after.begin(1, "repo://repo/contents/large")).end.Size != bulk {
		t.Error("not whole")
	}
}

func TestFloodOfPingsClosesItsConnection(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.bulky()
	for name, kind := range map[string]byte{"pings": opPing, "pongs": opPong} {
		r := dialRaw(t, s.url)
		r.begin()
		r.received(window)
		for range 90 {
			r.write(wireFrame(fin|kind, "in bounds"))
		}
		r.write(wireFrame(fin|opText, rpc(modernVersion, 2, "resources/templates/list", nil)))
		for first := byte(0); first&0xf != opText; {
			first, _ = r.next()
		}
		var flood []byte
		for range 2000 {
			flood = append(flood, wireFrame(fin|kind, "flood")...)
		}
		go func() { _, _ = r.conn.Write(flood) }() // the connection may be closed before
		if status := r.closed(); status != int(websocket.StatusPolicyViolation) {
			t.Errorf("%s: status %d", name, status)
		}
		r.write(wireFrame(fin|opClose, "\x03\xf0"))
	}
}

// A client that grants nothing for long loses the stream, and nothing else.
func TestStreamWithoutCreditIsAborted(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{WriteTimeout: 200 * time.Millisecond}, build: largeRepo(t)})
	r := receive(t, s.url, modernVersion, supported)
	r.grants = false
	stream := r.begin(1, "repo://repo/contents/large")
	r.until(stream.over)
	if stream.end != nil || stream.tally.Size() != window ||
		!strings.Contains(stream.aborted, "No credit came for 200ms") {
		t.Errorf("%d bytes, then %q", stream.tally.Size(), stream.aborted)
	}
	r.answers(2)
}

// One that takes nothing at all is dropped, whatever it has granted.
func TestClientThatTakesNoFramesIsDropped(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{WriteTimeout: 100 * time.Millisecond, Sockets: 1},
		build: largeRepo(t)})
	r := receive(t, s.url, modernVersion, supported)
	stream := r.begin(1, "repo://repo/contents/large")
	r.grant(stream, bulk)
	awaitPlace(t, s.url)
}

func largeRepo(t *testing.T) func(root string) {
	return func(root string) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("large", gittest.Noise(bulk)))
	}
}

// A drain lets a stream finish, which needs credit meanwhile, and cuts it off visibly
// at its end.
func TestDrainLetsStreamsFinish(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, patience := range map[string]time.Duration{"in time": hang, "too late": 50 * time.Millisecond} {
		s := newTarget(t, targetOptions{build: largeRepo(t)})
		r := receive(t, s.url, modernVersion, supported)
		r.grants = name == "in time"
		r.grants = false
		another := r.begin(2, "repo://repo/contents/large")
		r.until(func() bool { return another.tally.Size() == window })
		r.grants = name == "in time"
		stream := r.begin(1, "repo://repo/contents/large")
		drain, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- s.server.Shutdown(drain) }()
		if name == "too late" {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown: %v, although a stream was cut off", err)
			}
			for r.step() == nil {
			}
			if stream.end != nil {
				t.Errorf("%+v", stream.end)
			}
			continue
		}
		r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		if r.until(another.over); !another.isAborted {
			t.Errorf("%+v", another.end)
		}
		if r.whole(stream); stream.end.Size != bulk {
			t.Errorf("%+v", stream.end)
		}
		if status, _ := r.refused(); status != websocket.StatusGoingAway {
			t.Errorf("status %d", status)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A file of 64 MiB costs less than a thousandth more on the wire, and as much memory
// as any: what the streams of slow clients hold does not grow with it.
func TestFramesCostLittle(t *testing.T) {
	gittest.Long(t)
	const size, clients, each, perStream = 64 << 20, 3, 8, 1 << 20
	s := newTarget(t, targetOptions{build: func(root string) {
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Git("config", "core.compression", "0")
		repo.Commit("main", gittest.Regular("large", gittest.Noise(size)))
	}})
	r := receive(t, s.url, modernVersion, supported)
	before := r.wire.Load()
	r.grain = 1 << 20
	stream := r.whole(r.begin(1, "repo://repo/contents/large"))
	overhead := r.wire.Load() - before - size
	t.Logf("%d bytes beside %d, %.4f %%, in %d frames", overhead, int64(size), float64(overhead)/size*100,
		stream.frames)
	if stream.end.Size != size || overhead <= 0 || overhead > size/1000 {
		t.Errorf("%d bytes beside %+v", overhead, stream.end)
	}
	stream.body = nil
	held := gittest.LiveHeap()
	var slow []*receiving
	for range clients {
		r := receive(t, s.url, modernVersion, supported)
		r.grants = false
		for id := range each {
			r.begin(id, "repo://repo/contents/large")
		}
		r.until(func() bool {
			for _, stream := range r.streams {
				if stream.tally.Size() < window {
					return false
				}
			}
			return true
		})
		for _, stream := range r.streams {
			stream.body = nil // of the client
		}
		slow = append(slow, r)
	}
	if grown := gittest.LiveHeap() - held; grown > clients*each*perStream {
		t.Errorf("%d streams hold %d KiB, want at most %d each", clients*each, grown>>10, perStream>>10)
	} else {
		t.Logf("%d KiB for each of %d streams", grown>>10/(clients*each), clients*each)
	}
	for _, r := range slow {
		r.answers(100)
	}
}

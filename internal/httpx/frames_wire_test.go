package httpx_test

import (
	"bufio"
	"crypto/rand"
	wire "encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

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
	if err := conn.SetDeadline(time.Now().Add(gittest.Patience)); err != nil {
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

// These make the first byte of a frame, and a status of a close frame (RFC 6455, sections 5.2 and 7.4.1).
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

// wireFrame is a frame of a client, masked.
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
	s, _ := serveCopy(t, bulky)
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
	s, _ := serveCopy(t, bulky)
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

package httpx_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestSmuggledRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	length := strconv.Itoa(len(body))
	chunk := strconv.FormatInt(int64(len(body)), 16)
	chunked := chunk + "\r\n" + body + "\r\n0\r\n\r\n"
	common := "Content-Type: application/json\r\nAccept: " + acceptBoth + "\r\n"
	host := "Host: " + s.host + "\r\n"
	tests := []struct {
		name, head, body string
		want             int
	}{
		{"good", host + common + "Content-Length: " + length + "\r\n", body, 200},
		{"good, chunked", host + common + "Transfer-Encoding: chunked\r\n", chunked, 200},
		{"chunk extensions", host + common + "Transfer-Encoding: chunked\r\n", chunk + ";a=b;c\r\n" + body +
			"\r\n0;x\r\n\r\n", 200},
		{"two lengths", host + common + "Content-Length: " + length + "\r\nContent-Length: 5\r\n", body, 400},
		{"two lengths in one", host + common + "Content-Length: " + length + ", 5\r\n", body, 400},
		{"negative length", host + common + "Content-Length: -1\r\n", body, 400},
		{"length with a sign", host + common + "Content-Length: +" + length + "\r\n", body, 400},
		{"length in hex", host + common + "Content-Length: 0x" + chunk + "\r\n", body, 400},
		{"huge length", host + common + "Content-Length: 99999999999999999999\r\n", body, 400},
		{"two encodings", host + common + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunked, 501},
		{"unknown encoding", host + common + "Transfer-Encoding: xchunked\r\n", chunked, 501},
		{"broken chunk", host + common + "Transfer-Encoding: chunked\r\n", "zz\r\n" + body, 400},
		{"huge chunk", host + common + "Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n" + body, 400},
		{"two hosts", host + "Host: evil.example\r\n" + common + "Content-Length: " + length + "\r\n", body, 400},
		{"no host", common + "Content-Length: " + length + "\r\n", body, 400},
		{"blank before the colon", host + common + "Content-Length : " + length + "\r\n", body, 400},
		{"folded header", host + common + "Origin:\r\n https://evil.example\r\nContent-Length: " + length + "\r\n",
			body, 403},
		{"huge header", host + common + "X-Long: " + strings.Repeat("x", 64<<10) + "\r\nContent-Length: " + length +
			"\r\n", "", 431},
		{"other expectation", host + common + "Expect: 200-ok\r\nContent-Length: " + length + "\r\n", "", 417},
		{"upgrade", host + common + "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: " + length + "\r\n", body,
			200},
	}
	for _, test := range tests {
		s.during(t, func() {
			reader := s.dial(t, "POST /mcp HTTP/1.1\r\n"+test.head+"\r\n"+test.body)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				return
			}
			if response.StatusCode != test.want {
				t.Errorf("%s: %s, want %d", test.name, response.Status, test.want)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		})
	}
	// Of a length and an encoding the encoding counts (RFC 9112, 6.3): the next
	// request begins after the chunks and not after five bytes.
	reader := s.dial(t, "POST /mcp HTTP/1.1\r\n"+host+common+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"+
		chunked+"GET /healthz HTTP/1.1\r\n"+host+"Connection: close\r\n\r\n")
	both, err := io.ReadAll(reader)
	if err != nil || strings.Count(string(both), "HTTP/1.1 ") != 2 ||
		!strings.HasPrefix(string(both), "HTTP/1.1 200 ") || !strings.HasSuffix(string(both), "ok\n") {
		t.Errorf("length and encoding: %q, %v", both, err)
	}
	t.Logf("%d cases", len(tests)+1)
}

func TestContinueIsNotAskedForWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for want, header := range map[int]string{
		403: "Origin: https://evil.example\r\nContent-Type: application/json\r\n", 415: "Content-Type: text/plain\r\n",
		100: "Content-Type: application/json\r\n",
	} {
		reader := s.dial(t, "POST /mcp HTTP/1.1\r\nHost: "+s.host+"\r\n"+header+
			"Expect: 100-continue\r\nContent-Length: 10\r\n\r\n")
		line, err := reader.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, fmt.Sprintf("HTTP/1.1 %d ", want)) {
			t.Errorf("%q: %q, %v, want %d", header, line, err, want)
		}
	}
	t.Log("3 cases")
}

// An event stream that somebody else's id would resume is a new one: no events
// are kept that could be read by another.
func TestEventIDOfAnotherSessionGivesNothingAway(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	ids := []string{"1", s.initialize(t, sessionVersion, "{}"), s.sessions[sessionVersion] + "_0", "../../x",
		strings.Repeat("9", 4<<10)}
	for _, id := range ids {
		if line := s.resume(t, id); line != "" {
			t.Errorf("resuming at %.40q gives %q", id, line)
		}
	}
	t.Logf("%d cases", len(ids))
}

// resume opens an event stream of a new session at an event, and returns the
// first line that comes before another request was served.
func (s *target) resume(t *testing.T, eventID string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := s.getCall(s.initialize(t, sessionVersion, "{}"))
	c.header.Set("Last-Event-Id", eventID)
	response, err := s.open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%.40q: %s", eventID, response.Status)
	}
	read := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(response.Body).ReadString('\n')
		read <- line
	}()
	if a := s.do(t, s.good(t, sessionVersion, methodRead)); a.failed() {
		t.Errorf("a good request beside the stream got %v", a)
	}
	cancel()
	return <-read
}

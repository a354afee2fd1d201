package httpx_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// hostileMessages are bodies with the reason of their refusal, or "" for those
// that must be served. They are of the session era.
var hostileMessages = map[string]string{
	"": "parse_error", " ": "parse_error", "hello": "parse_error", "{": "parse_error", "}": "parse_error",
	"{}{}": "parse_error", "\x00": "parse_error",
	"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`: "parse_error",
	"\xfe\xff\x00{\x00}": "parse_error",
	"{\x00\"\x00j\x00":   "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud800"}}`:               "parse_error",
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}": "parse_error",
	strings.Repeat("[", 100_000):                        "invalid_request",
	strings.Repeat(`{"a":`, 100_000):                    "invalid_request",
	strings.Repeat("[", 100) + strings.Repeat("]", 100): "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[` + strings.Repeat(`{"x":1},`, 60_000) +
		`{}]}}`: "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":"ping","method":"resources/list"}`: "parse_error",
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                    "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"x"}`:         "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}`:    "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping",}`:                          "parse_error",
	`{'jsonrpc':'2.0'}`:                             "parse_error",
	`{"jsonrpc":"2.0","id":NaN,"method":"ping"}`:    "parse_error",
	`{"jsonrpc":"2.0","id":01,"method":"ping"}`:     "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping"} // x`: "parse_error",
	"null":                          "invalid_request",
	"1":                             "invalid_request",
	`"x"`:                           "invalid_request",
	"true":                          "invalid_request",
	"{}":                            "invalid_request",
	"[]":                            "invalid_request",
	`{"jsonrpc":"2.0"}`:             "invalid_request",
	`{"jsonrpc":"2.0","id":1}`:      "invalid_request",
	`{"jsonrpc":"2.0","result":{}}`: "invalid_request",
	`{"id":1,"method":"ping"}`:      "invalid_request",
	`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                      "invalid_request",
	`{"jsonrpc":2.0,"id":1,"method":"ping"}`:                                        "invalid_request",
	`{"jsonrpc":null,"id":1,"method":"ping"}`:                                       "invalid_request",
	`{"JSONRPC":"2.0","id":1,"method":"ping"}`:                                      "invalid_request",
	`{"jsonrpc":"2.0","id":1,"Method":"ping"}`:                                      "invalid_request",
	`{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`:                                      "invalid_request",
	`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                   "invalid_request",
	`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                    "invalid_request",
	`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`:                                  "invalid_request",
	`{"jsonrpc":"2.0","id":1e-3,"method":"ping"}`:                                   "invalid_request",
	`{"jsonrpc":"2.0","id":9007199254740993.0,"method":"ping"}`:                     "invalid_request",
	`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                     "invalid_request",
	`{"jsonrpc":"2.0","id":[1],"method":"ping"}`:                                    "invalid_request",
	`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                                   "invalid_request",
	`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 900<<10) + `","method":"ping"}`: "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":null}`:                                        "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":""}`:                                          "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":5}`:                                           "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":["ping"]}`:                                    "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`:                          "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`:                        "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":7}`:                           "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`:                          "invalid_request",
	`{"jsonrpc":"2.0","id":1,"method":"no/such"}`:                                   "method_not_found",
	`{"jsonrpc":"2.0","id":1,"method":"\u0000"}`:                                    "method_not_found",
	`{"jsonrpc":"2.0","id":1,"method":"рing"}`:                                      "method_not_found", // a Cyrillic letter
	`{"jsonrpc":"2.0","id":1,"method":"ping\u202e"}`:                                "method_not_found",
	`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 500<<10) + `"}`:      "method_not_found",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":5}}`:                 "invalid_params",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":null}}`:              "invalid_params",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_Meta":{}}}`:                "invalid_params",
	`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"%%%"}}`:  "invalid_params",
	`{"jsonrpc":"2.0","id":1,"method":"resources/read"}`:                            "invalid_params",
	`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{}}`:           "invalid_params",
	// A cursor has one form.
	`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"Li4vLi4vZXRj"}}`: "invalid_params",
	// Traces are dropped, never a reason to fail.
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"traceparent":5,"tracestate":{},"baggage":"` +
		strings.Repeat("x", 64<<10) + `"}}}`: "",
	`{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"method":"x"},"Method":"resources/list","ID":2}`: "",
	`{"jsonrpc":"2.0","id":"\u003cscript\u003e\u2028","method":"ping"}`:                                "",
	`{"jsonrpc":"2.0","id":"","method":"ping"}`:                                                        "", `{"jsonrpc":"2.0","id":0,"method":"ping"}`: "", `{"jsonrpc":"2.0","id":-9007199254740991,"method":"ping"}`: "",
	"\r\n\t " + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n": "",
	// Of requests that are not the sender's, or are none.
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mine now"}}`: "",
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`:                    "",
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":"x"}}`:  "",
	`{"jsonrpc":"2.0","method":"no/such"}`:                                                              "",
	`{"jsonrpc":"2.0","method":"resources/stream","params":{"uri":"repo://hello/contents/README.md"}}`:  "",
	`{"jsonrpc":"2.0","method":"resources/read","params":{"uri":5}}`:                                    "",
}

func TestHostileMessagesAreRefusedInWordsOfTheProtocol(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for body, reason := range hostileMessages {
		s.during(t, func() {
			c := s.call(sessionVersion, "ping", nil)
			c.body = []byte(body)
			a := s.do(t, c)
			switch {
			case reason != "":
				expect(t, a, sessionVersion, reason, fmt.Sprintf("%.100q", body))
			case a.failed():
				t.Errorf("%.100q is refused: %v", body, a)
			case !strings.Contains(body, `"id"`) && (a.status != http.StatusAccepted || len(a.body) > 0):
				t.Errorf("the notification %.100q gets %v, want 202 and nothing", body, a)
			}
			if a.status >= 400 && strings.Contains(string(a.body), `"id"`) {
				t.Errorf("%.100q: there is an id where it is not known: %v", body, a)
			}
		})
		// What is no message has no era but that of its header.
		c := s.call(modernVersion, "ping", nil)
		c.body = []byte(body)
		if a := s.do(t, c); reason == "parse_error" || reason == "invalid_request" {
			expect(t, a, modernVersion, reason, fmt.Sprintf("%.100q", body))
		} else if a.status >= 500 {
			t.Errorf("%.100q in the modern era: %v", body, a)
		}
	}
	t.Logf("%d cases", 2*len(hostileMessages))
}

// A client must find its request in the reply: the id comes back as it was.
func TestErrorsRepeatTheID(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	ids := []string{`0`, `-1`, `9007199254740991`, `-9007199254740991`, `""`, `"1"`, `"\"}"`, `"é"`, `"null"`,
		`"` + strings.Repeat("x", 200) + `"`}
	uris := []string{"repo://nobody", "repo://hello/../x", ""}
	for _, id := range ids {
		for _, version := range eras {
			for _, method := range []string{methodRead, methodStream, "no/such"} {
				for _, uri := range uris {
					c := s.call(version, method, map[string]any{"uri": uri})
					c.message["id"] = json.RawMessage(id)
					a := s.do(t, c)
					var reply struct {
						ID json.RawMessage `json:"id"`
					}
					if err := json.Unmarshal(a.body, &reply); err != nil || !sameJSON(string(reply.ID), id) {
						t.Errorf("%s %s %s with id %s: %v", version, method, uri, id, a)
					}
				}
			}
		}
	}
	t.Logf("%d cases", 2*3*len(ids)*len(uris))
}

// Integers of any size are ids, digit by digit, over HTTP and WebSocket, of results and of errors.
func TestIntegersOfAnySizeAreIDs(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for sent, want := range map[string]string{
		"9007199254740993": "9007199254740993", "-9007199254740993": "-9007199254740993",
		"18446744073709551617": "18446744073709551617", strings.Repeat("9", 200): strings.Repeat("9", 200),
		"1.0": "1", "1e3": "1000",
	} {
		for _, version := range eras {
			conn := dial(t, s.url)
			if version == sessionVersion {
				conn.initialize(version)
			}
			for _, method := range []string{"tools/list", "no/such"} {
				c := s.call(version, method, nil)
				c.message["id"] = json.RawMessage(sent)
				var reply struct {
					ID json.RawMessage `json:"id"`
				}
				if a := s.do(t, c); json.Unmarshal(a.body, &reply) != nil || string(reply.ID) != want {
					t.Errorf("%s of %s with the id %s: %v", method, version, sent, a)
				}
				message := strings.Replace(rpc(version, 1, method, nil), `"id":1,`, `"id":`+sent+`,`, 1)
				if f := conn.call(message); string(f.ID) != want {
					t.Errorf("%s of %s with the id %s over WebSocket: %s", method, version, sent, f.raw)
				}
			}
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && x == y
}

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

func TestSessionIDIsOfItsKey(t *testing.T) {
	t.Parallel()
	key := []byte("a key that two replicas share with each other")
	a := newTarget(t, targetOptions{key: key})
	b := &target{root: a.root, sessions: a.sessions}
	b.serve(t, targetOptions{key: key})
	stranger := &target{root: a.root, sessions: a.sessions}
	stranger.serve(t, targetOptions{key: []byte("a key that somebody else has for his servers")})
	limited := a.initialize(t, sessionVersion, `{"resourceStreaming":{"maxStreamSize":5}}`)
	cases := 0
	for _, method := range []string{methodRead, methodStream, "ping"} {
		cases += 3
		if answer := b.do(t, b.good(t, sessionVersion, method)); answer.failed() {
			t.Errorf("%s at a replica: %v", method, answer)
		}
		if answer := stranger.do(t, stranger.good(t, sessionVersion, method)); answer.status != http.StatusNotFound {
			t.Errorf("%s at a server with another key: %v, want 404", method, answer)
		}
		c := b.good(t, sessionVersion, method)
		c.header.Set("Mcp-Session-Id", limited)
		// The replica knows what the client declared at the other.
		if answer := b.do(t, c); method == methodStream && answer.reason != "too_large" {
			t.Errorf("a stream beyond the limit at a replica: %v", answer)
		}
	}
	// One byte changed anywhere is another id.
	id := a.sessions[sessionVersion]
	for i := range id {
		cases++
		altered := []byte(id)
		if altered[i] ^= 1; altered[i] < '!' || altered[i] > '~' {
			altered[i] = 'A'
		}
		c := a.call(sessionVersion, "ping", nil)
		c.header.Set("Mcp-Session-Id", string(altered))
		if answer := a.do(t, c); answer.status != http.StatusNotFound {
			t.Errorf("byte %d changed: %v, want 404", i, answer)
		}
	}
	t.Logf("%d cases", cases)
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

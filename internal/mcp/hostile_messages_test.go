package mcp

import (
	"encoding/json"
	"fmt"
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
	// These name requests of other clients, or none.
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"mine now"}}`: "",
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`:                    "",
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":"x"}}`:  "",
	`{"jsonrpc":"2.0","method":"no/such"}`:                                                              "",
	`{"jsonrpc":"2.0","method":"resources/stream","params":{"uri":"repo://hello/contents/README.md"}}`:  "",
	`{"jsonrpc":"2.0","method":"resources/read","params":{"uri":5}}`:                                    "",
}

func TestHostileMessagesAreRefusedInWordsOfTheProtocol(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
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
			case !strings.Contains(body, `"id"`) && !a.accepted:
				t.Errorf("the notification %.100q gets %v, want no reply", body, a)
			}
			if (reason == "parse_error" || reason == "invalid_request") && strings.Contains(string(a.body), `"id"`) {
				t.Errorf("%.100q: there is an id where it is not known: %v", body, a)
			}
		})
		// The header decides the version of an invalid message.
		c := s.call(modernVersion, "ping", nil)
		c.body = []byte(body)
		if a := s.do(t, c); reason == "parse_error" || reason == "invalid_request" {
			expect(t, a, modernVersion, reason, fmt.Sprintf("%.100q", body))
		} else if a.reason == "internal_error" {
			t.Errorf("%.100q in the modern era: %v", body, a)
		}
	}
	t.Logf("%d cases", 2*len(hostileMessages))
}

// A client must find its request in the reply: the id comes back as it was.
func TestErrorsRepeatTheID(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	ids := []string{`0`, `-1`, `9007199254740991`, `-9007199254740991`, `""`, `"1"`, `"\"}"`, `"é"`, `"null"`,
		`"` + strings.Repeat("x", 200) + `"`}
	uris := []string{"repo://nobody", "repo://hello/../x", ""}
	for _, id := range ids {
		for _, version := range eras {
			for _, method := range []string{MethodRead, MethodStream, "no/such"} {
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

// Integers of any size are ids, digit by digit, with headers and over a connection, of results and of errors.
func TestIntegersOfAnySizeAreIDs(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	for sent, want := range map[string]string{
		"9007199254740993": "9007199254740993", "-9007199254740993": "-9007199254740993",
		"18446744073709551617": "18446744073709551617", strings.Repeat("9", 200): strings.Repeat("9", 200),
		"1.0": "1", "1e3": "1000",
	} {
		for _, version := range eras {
			connection := s.connect(t, version)
			for _, method := range []string{"tools/list", "no/such"} {
				c := s.call(version, method, nil)
				c.message["id"] = json.RawMessage(sent)
				for way, a := range map[string]received{"with headers": s.do(t, c), "over a connection": connection.do(c)} {
					var reply struct {
						ID json.RawMessage `json:"id"`
					}
					if json.Unmarshal(a.body, &reply) != nil || string(reply.ID) != want {
						t.Errorf("%s of %s with the id %s %s: %v", method, version, sent, way, a)
					}
				}
			}
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && x == y
}

func TestSessionIDIsOfItsKey(t *testing.T) {
	t.Parallel()
	key := []byte("a key that two replicas share with each other")
	a := newLocal(t, localOptions{key: key})
	b := &local{root: a.root, sessions: a.sessions}
	b.serve(t, localOptions{key: key})
	stranger := &local{root: a.root, sessions: a.sessions}
	stranger.serve(t, localOptions{key: []byte("the key of other servers")})
	limited := a.initialize(t, sessionVersion, `{"resourceStreaming":{"maxStreamSize":5}}`)
	cases := 0
	for _, method := range []string{MethodRead, MethodStream, "ping"} {
		cases += 3
		if answer := b.do(t, b.good(sessionVersion, method)); answer.failed() {
			t.Errorf("%s at a replica: %v", method, answer)
		}
		if answer := stranger.do(t, stranger.good(sessionVersion, method)); answer.state != SessionUnknown {
			t.Errorf("%s at a server with another key: %v, want an unknown session", method, answer)
		}
		c := b.good(sessionVersion, method)
		c.header.Set(HeaderSession, limited)
		// The replica knows what the client declared at the other.
		if answer := b.do(t, c); method == MethodStream && answer.reason != "too_large" {
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
		c.header.Set(HeaderSession, string(altered))
		if answer := a.do(t, c); answer.state != SessionUnknown {
			t.Errorf("byte %d changed: %v, want an unknown session", i, answer)
		}
	}
	t.Logf("%d cases", cases)
}

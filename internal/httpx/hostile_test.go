package httpx_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// verdict is how an error looks in each era.
type verdict struct {
	sessionStatus, sessionCode int
	modernStatus, modernCode   int
}

// verdicts are written out here and not taken from the code: clients rely on
// the numbers.
var verdicts = map[string]verdict{
	"invalid_uri":               {200, -32602, 400, -32602},
	"invalid_params":            {200, -32602, 400, -32602},
	"ambiguous_revision":        {200, -32602, 400, -32602},
	"not_found":                 {200, -32002, 400, -32602},
	"method_not_found":          {200, -32601, 404, -32601},
	"parse_error":               {400, -32700, 400, -32700},
	"invalid_request":           {400, -32600, 400, -32600},
	"client_capability_missing": {200, -32003, 400, -32021},
	"stream_not_supported":      {200, -32003, 200, -32003},
	"too_large":                 {200, -32004, 200, -32004},
}

// expect fails the test unless an answer is the error of a reason.
func expect(t *testing.T, a answer, version, reason, what string) {
	t.Helper()
	v, ok := verdicts[reason]
	if !ok {
		t.Fatalf("no verdict for %q", reason)
	}
	status, code := v.sessionStatus, v.sessionCode
	if version == modernVersion {
		status, code = v.modernStatus, v.modernCode
	}
	if a.status != status || a.code != code || a.reason != reason {
		t.Errorf("%s %s: %v\nwant %d, %d, %s", version, what, a, status, code, reason)
	}
}

const (
	invalidURI = "invalid_uri"
	notFound   = "not_found"
)

// hostileURIs are URIs that name nothing, with the reason that clients get.
func hostileURIs(s *target) map[string]string {
	deep := strings.Repeat("x/", 10_000)
	seeds := map[string]string{
		// Out of the root.
		"repo://../etc/passwd": invalidURI, "repo://hello/../team": invalidURI, "repo://hello%2f..%2fteam": invalidURI, "repo://hello/contents/../../config": invalidURI,
		"repo://%2e%2e/hello": invalidURI, "repo://hello/contents/%2E%2e/config": invalidURI, "repo://.": invalidURI, "repo://hello/./refs": invalidURI, "repo:///hello": invalidURI, "repo:////etc/passwd": invalidURI,
		"repo://hello//refs": invalidURI, "repo://hello/contents//README.md": invalidURI, "repo://hello/contents/README.md//": invalidURI,
		"repo://%252e%252e": notFound, "repo://%252e%252e/etc/passwd": notFound, "repo://..%5c..": notFound, "repo://hello/contents/..%5c..%5cconfig": notFound, "repo://%c0%ae%c0%ae/etc": notFound,
		"repo:///etc/passwd": invalidURI, "repo://etc/passwd": notFound, "repo://．．／etc": notFound, "repo://%EF%BC%8E%EF%BC%8E%EF%BC%8Fetc": notFound,
		// Into a repository's own files.
		"repo://.git": notFound, "repo://hello.git": notFound, "repo://hello.git/objects": notFound, "repo://hello%2egit/config": notFound, "repo://hello.git/../team.git": invalidURI, "repo://hello/objects": notFound, "repo://hello/config": notFound,
		"repo://hello/HEAD": notFound, "repo://hello/contents/.git/config": notFound, "repo://hello/contents/.GIT": notFound,
		// Bytes that readers disagree about.
		"repo://hello%00.git": invalidURI, "repo://hello/contents/README.md%00.txt": invalidURI, "repo://hello\x00": invalidURI, "repo://hello%zz": invalidURI, "repo://hello%": invalidURI, "repo://hello%2": invalidURI, "repo://hello/contents/%u002e": invalidURI,
		"repo://hello\n": notFound, "repo://hello%0a": notFound, "repo://hello%0D%0AX-Injected:%20y": notFound, "repo://hello\r\nX-Injected: y": notFound, "repo://%ff%fe": notFound, "repo://hello%e2%80%ae": notFound,
		"repo://hello\u202e": notFound, "repo://hel\u200dlo": notFound, "repo://hello\u00ad": notFound, "repo://hello ": notFound, " repo://hello": notFound, "repo://hello%20": notFound, "repo://hello.": notFound, "repo://hello;x=1": notFound, "repo://hello/contents/README.md;x": notFound,
		// Another form of the same letters is another name.
		"repo://cafe\u0301": notFound, "repo://cafe%CC%81": notFound, "repo://HELLO": notFound, "repo://hello/contents/readme.md": notFound,
		// Other parts of URIs.
		"repo://user:password@hello": notFound, "repo://user@hello/refs": notFound, "repo://hello:80": notFound, "repo://[fe80::1%25eth0]/hello": notFound, "repo://hello#x": invalidURI, "repo://hello?": invalidURI, "repo://hello?x=1": invalidURI,
		"repo://hello/contents/README.md?ref=main": invalidURI, "repo://hello/archive/main.tar?prefix=a&prefix=b": invalidURI, "repo://hello/archive/main.tar?prefix=../x": invalidURI, "repo://hello/archive/main.tar?prefix=/x": invalidURI, "repo://hello/archive/main.tar?prefix=%00": invalidURI,
		"repo://hello/archive/main.tar?prefix=a/%2e%2e/b": invalidURI, "repo://hello/archive/main.tar?prefix=" + strings.Repeat("p", 1025): invalidURI, "repo://hello/archive/main.tar?PREFIX=x": invalidURI, "repo://hello/archive/main.tar&prefix=x": notFound,
		// Other schemes.
		"file:///etc/passwd": notFound, "http://169.254.169.254/": notFound, "https://hello": notFound, "hello": notFound, "//hello": notFound, "repo:hello": notFound, "repo:/hello": notFound, "git://hello": notFound, "javascript:alert(1)": notFound, "data:,x": notFound, "ui://x": notFound,
		// Lengths.
		"repo://hello/contents/" + strings.Repeat("a", 64<<10): invalidURI, "repo://" + deep + "x": invalidURI, "repo://hello/refs/heads/" + strings.Repeat("%61", 1400): invalidURI,
		"repo://hello/contents/" + strings.Repeat("a/", 2000) + "x": notFound, "repo://" + strings.Repeat("x/", 2000) + "x": notFound,
		// Names of devices and streams of Windows.
		"repo://CON": notFound, "repo://hello/contents/nul.txt": notFound, "repo://hello/contents/README.md:x": notFound, "repo://hello/contents/README.md::$DATA": notFound, "repo://HELLO~1": notFound, "repo://hello/contents/README.md.": notFound, "repo://hello/contents/README.md%20": notFound, "repo://GIT~1": notFound,
		// Templates that were not filled in.
		"repo://{+repo}": notFound, "repo://hello/contents{/path*}": notFound, "repo://hello/archive/{+ref}.{format}": notFound, "repo://*": notFound, "repo://team": notFound, "repo://team/*": notFound,
		// Below what is no folder, and through a symbolic link.
		"repo://hello/contents/README.md/x": notFound, "repo://hello/contents/passwd/x": notFound, "repo://hello/contents/none": notFound, "repo://empty/contents": notFound, "repo://empty/archive/HEAD.tar": notFound,
		// Refs that are files of the repository, or lead out of it.
		"repo://hello/refs/heads/loop-a": notFound, "repo://hello/refs/heads/loop-b/contents/README.md": notFound, "repo://hello/refs/heads/outside": notFound, "repo://hello/refs/heads/above/contents": notFound,
		"repo://hello/refs/keep-around/" + s.kept: notFound, "repo://hello/refs/remotes/origin/main": notFound, "repo://hello/refs/heads": notFound, "repo://hello/refs/heads/": notFound, "repo://hello/refs/heads/../../config": invalidURI,
		"repo://many/archive/" + s.ambiguous + ".tar": "ambiguous_revision", "repo://many/sha/" + s.ambiguous + "/contents": "ambiguous_revision",
		"repo://hello/archive/main.zip.exe": notFound, "repo://hello/archive/.tar": notFound, "repo://hello/archive/main.tar/": notFound, "repo://hello/archive/main.tar/x": notFound, "repo://hello/archive/main/.tar": notFound,
	}
	delete(seeds, "repo://hello/archive/main.tar/") // one final slash is allowed
	refs := []string{
		"-h", "--output=/x", "--upload-pack=x", "--exec=x", "-", "@", "@{-1}", "@{u}", "main@{0}", "main@{1 day ago}", "HEAD^{/x}", "HEAD^{tree}", "HEAD~1", "HEAD^", "main^0", "main~", ":/x", ":0:README.md", "main:README.md", "main..other", "^main",
		"x.lock", "main.lock", "main ", "ma*n", "m?in", "[m]ain", "ma\\in", "main\n", "main\t", "FETCH_HEAD", "ORIG_HEAD", "config", "packed-refs", "objects", "refs", "refs/heads", "refs/keep-around/" + s.kept, "heads/../../HEAD",
		"head", "MAIN", strings.ToUpper(s.head), s.head + "0", s.head[:39] + "g", strings.Repeat("0", 40), strings.Repeat("a", 64), strings.Repeat("f", 40), "0000", "abc", s.unreachable, s.unreachable[:12], s.kept, s.kept[:12],
		"refs/heads/loop-a", "refs/heads/outside", "loop-b", "above", "refs/heads/main/", "refs//heads/main", "main\x7f", "\u202emain", "ma\u0131n", "m\u00e0in", ".main", "main/.", "refs/heads/ma%69n", "nul", "CON",
	}
	for _, ref := range refs {
		reason := notFound
		if strings.Contains("/"+ref+"/", "//") || strings.Contains("/"+ref+"/", "/../") || strings.Contains("/"+ref+"/", "/./") {
			reason = invalidURI
		}
		escaped := strings.ReplaceAll(url.PathEscape(ref), "%2F", "/")
		seeds["repo://hello/sha/"+escaped+"/contents/README.md"] = reason
		if ref == "HEAD" || strings.HasSuffix(ref, "/.") {
			continue
		}
		if reason == notFound || !strings.HasSuffix(ref, "/") {
			seeds["repo://hello/archive/"+escaped+".tar"] = reason
		}
		seeds["repo://hello/refs/heads/"+escaped+"/contents/README.md"] = reason
	}
	return seeds
}

func TestHostileURIsNameNothing(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	cases := 0
	for uri, reason := range hostileURIs(s) {
		s.during(t, func() {
			for _, version := range eras {
				for _, method := range []string{methodRead, methodStream} {
					cases++
					c := s.call(version, method, map[string]any{"uri": uri})
					want := reason
					if name := c.header.Get("Mcp-Name"); len(name) > 8<<10 {
						// No header has room for it.
						if c.header.Del("Mcp-Name"); method == methodRead {
							continue
						}
					}
					a := s.do(t, c)
					expect(t, a, version, want, fmt.Sprintf("%s %.80q", method, uri))
					if got := a.data["uri"]; got != uri {
						t.Errorf("%s %s %.80q: error.data.uri is %.80q", version, method, uri, got)
					}
					if a.header.Get("X-Injected") != "" {
						t.Errorf("%q sets a header", uri)
					}
				}
			}
		})
	}
	if cases < 400 {
		t.Errorf("only %d cases", cases)
	}
	t.Logf("%d cases", cases)
}

// A branch may be named like another repository, and like an object id.
func TestNamesThatLookLikeOthersAreServedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	cases := map[string]string{
		"repo://hello/refs/heads/" + strings.Repeat("ab", 20) + "/contents/README.md": "hello\n",
		"repo://hello/sha/" + s.head + "/contents/README.md":                          "hello\n",
		"repo://hello/sha/" + s.head[:7] + "/contents/README.md":                      "hello\n",
		"REPO://hello/contents/README.md":                                             "hello\n",
		"repo://hello/contents/README.md/":                                            "hello\n",
		"repo://hello/contents/dir%2Fdeep.txt":                                        "deep\n",
		"repo://h%65llo%2Fcontents%2FREADME.md":                                       "hello\n",
		"repo://hello/contents/passwd":                                                "/etc/passwd", // the target, not the file
		"repo://hello/contents/empty":                                                 "",
		"repo://hello/contents/what%3F%23.txt":                                        "x",
		"repo://team/app/contents/app":                                                "app\n",
		"repo://caf\u00e9/contents/composed":                                          "x",
	}
	for uri, want := range cases {
		for _, version := range eras {
			a := s.do(t, s.call(version, methodStream, map[string]any{"uri": uri}))
			if a.status != http.StatusOK || string(a.body) != want || a.err != nil {
				t.Errorf("%s stream of %s: %v, want %q", version, uri, a, want)
			}
			if a := s.do(t, s.call(version, methodRead, map[string]any{"uri": uri})); a.failed() {
				t.Errorf("%s read of %s: %v", version, uri, a)
			}
		}
	}
	t.Logf("%d cases", 2*len(cases))
}

// What exists and is not served must look like what does not exist: otherwise
// a guess at a secret commit could be confirmed.
func TestNotServedLooksLikeUnknown(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	never := strings.Repeat("12", 20) // the id of nothing
	unknown := []string{"nobod", "hello"}
	pairs := [][2]string{}
	for _, hidden := range []string{s.unreachable, s.kept} {
		for _, form := range []string{"repo://%s/sha/%s/contents/README.md", "repo://%s/sha/%s/contents/password", "repo://%s/sha/%s/contents", "repo://%s/archive/%s.tar", "repo://%s/archive/%s.tar.gz", "repo://%s/refs/keep-around/%s"} {
			for _, repository := range unknown {
				pairs = append(pairs, [2]string{fmt.Sprintf(form, "hello", hidden), fmt.Sprintf(form, repository, never)})
				pairs = append(pairs, [2]string{fmt.Sprintf(form, "hello", hidden[:8]), fmt.Sprintf(form, repository, never[:8])})
			}
		}
	}
	pairs = append(pairs, [2]string{"repo://hello/archive/refs/keep-around/" + s.kept + ".tar", "repo://nobod/archive/refs/keep-around/" + never + ".tar"})
	for _, pair := range pairs {
		for _, version := range eras {
			for _, method := range []string{methodRead, methodStream} {
				var shown [2]string
				for i, uri := range pair {
					a := s.do(t, s.call(version, method, map[string]any{"uri": uri}))
					expect(t, a, version, notFound, uri)
					a.header.Del("Date")
					shown[i] = strings.ReplaceAll(fmt.Sprintf("%d %v %s", a.status, a.header, a.body), uri, "URI")
				}
				if shown[0] != shown[1] {
					t.Errorf("%s %s:\n%s\n%s", version, method, shown[0], shown[1])
				}
			}
		}
	}
	t.Logf("%d cases", 4*len(pairs))
}

// hostileMessages are bodies with the reason of their refusal, or "" for those
// that must be served. They are of the session era.
var hostileMessages = map[string]string{
	"": "parse_error", " ": "parse_error", "hello": "parse_error", "{": "parse_error", "}": "parse_error", "{}{}": "parse_error", "\x00": "parse_error",
	"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`: "parse_error",
	"\xfe\xff\x00{\x00}": "parse_error",
	"{\x00\"\x00j\x00":   "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud800"}}`:               "parse_error",
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}": "parse_error",
	strings.Repeat("[", 100_000):                                         "parse_error",
	strings.Repeat(`{"a":`, 100_000):                                     "parse_error",
	strings.Repeat("[", 100) + strings.Repeat("]", 100):                  "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping","method":"resources/list"}`: "parse_error",
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                    "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"x"}`:         "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}`:    "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping",}`:                          "parse_error",
	`{'jsonrpc':'2.0'}`:                                                  "parse_error",
	`{"jsonrpc":"2.0","id":NaN,"method":"ping"}`:                         "parse_error",
	`{"jsonrpc":"2.0","id":01,"method":"ping"}`:                          "parse_error",
	`{"jsonrpc":"2.0","id":1,"method":"ping"} // x`:                      "parse_error",
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
	`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`:                                    "invalid_request",
	`{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`:                       "invalid_request",
	`{"jsonrpc":"2.0","id":-99999999999999999999,"method":"ping"}`:                  "invalid_request",
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
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"traceparent":5,"tracestate":{},"baggage":"` + strings.Repeat("x", 64<<10) + `"}}}`: "",
	`{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"method":"x"},"Method":"resources/list","ID":2}`:                                              "",
	`{"jsonrpc":"2.0","id":"\u003cscript\u003e\u2028","method":"ping"}`:                                                                             "",
	`{"jsonrpc":"2.0","id":"","method":"ping"}`:                                                                                                     "", `{"jsonrpc":"2.0","id":0,"method":"ping"}`: "", `{"jsonrpc":"2.0","id":-9007199254740991,"method":"ping"}`: "",
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
			if a.status >= 400 && !strings.Contains(string(a.body), `"id":null`) && a.reason == "parse_error" {
				t.Errorf("%.100q: the id of what cannot be read is not null: %v", body, a)
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
	ids := []string{`0`, `-1`, `9007199254740991`, `-9007199254740991`, `""`, `"1"`, `"\"}"`, `"é"`, `"null"`, `"` + strings.Repeat("x", 200) + `"`}
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
		{"chunk extensions", host + common + "Transfer-Encoding: chunked\r\n", chunk + ";a=b;c\r\n" + body + "\r\n0;x\r\n\r\n", 200},
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
		{"folded header", host + common + "Origin:\r\n https://evil.example\r\nContent-Length: " + length + "\r\n", body, 403},
		{"huge header", host + common + "X-Long: " + strings.Repeat("x", 64<<10) + "\r\nContent-Length: " + length + "\r\n", "", 431},
		{"other expectation", host + common + "Expect: 200-ok\r\nContent-Length: " + length + "\r\n", "", 417},
		{"upgrade", host + common + "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: " + length + "\r\n", body, 200},
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
	reader := s.dial(t, "POST /mcp HTTP/1.1\r\n"+host+common+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"+chunked+"GET /healthz HTTP/1.1\r\n"+host+"Connection: close\r\n\r\n")
	both, err := io.ReadAll(reader)
	if err != nil || strings.Count(string(both), "HTTP/1.1 ") != 2 || !strings.HasPrefix(string(both), "HTTP/1.1 200 ") || !strings.HasSuffix(string(both), "ok\n") {
		t.Errorf("length and encoding: %q, %v", both, err)
	}
	t.Logf("%d cases", len(tests)+1)
}

func TestContinueIsNotAskedForWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for want, header := range map[int]string{
		403: "Origin: https://evil.example\r\nContent-Type: application/json\r\n", 415: "Content-Type: text/plain\r\n", 100: "Content-Type: application/json\r\n",
	} {
		reader := s.dial(t, "POST /mcp HTTP/1.1\r\nHost: "+s.host+"\r\n"+header+"Expect: 100-continue\r\nContent-Length: 10\r\n\r\n")
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

func TestDeclaredStreamCapabilityDecides(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	const size = len("hello\n")
	tests := []struct {
		capabilities string
		want         string // reason, or "" when it is served
	}{
		{`{}`, "client_capability_missing"}, {`{"resourceStreaming":null}`, "client_capability_missing"}, {`{"resourceStreaming":true}`, "client_capability_missing"}, {`{"resourceStreaming":"yes"}`, "client_capability_missing"},
		{`{"resourceStreaming":[]}`, "client_capability_missing"}, {`{"resourcestreaming":{}}`, "client_capability_missing"}, {`{"ResourceStreaming":{}}`, "client_capability_missing"}, {`{"RESOURCESTREAMING":{"maxStreamSize":9}}`, "client_capability_missing"},
		{`{"resourceStreaming":{}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":null}}`, ""}, {`{"resourceStreaming":{"other":[1]}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":6}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":6.9}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":1e18}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":1e300}}`, ""}, {`{"resourceStreaming":{"maxStreamSize":9223372036854775808}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":5}}`, "too_large"}, {`{"resourceStreaming":{"maxStreamSize":5.99}}`, "too_large"}, {`{"resourceStreaming":{"maxStreamSize":1}}`, "too_large"}, {`{"resourceStreaming":{"maxStreamSize":0}}`, "too_large"}, {`{"resourceStreaming":{"maxStreamSize":-0.0}}`, "too_large"},
		{`{"resourceStreaming":{"maxStreamSize":-1}}`, "too_large"}, {`{"resourceStreaming":{"maxStreamSize":-1e300}}`, "too_large"}, {`{"resourceStreaming":{"maxStreamSize":1e-300}}`, "too_large"},
		// What is no number must not be taken for "no limit".
		{`{"resourceStreaming":{"maxStreamSize":"6"}}`, "client_capability_missing"}, {`{"resourceStreaming":{"maxStreamSize":true}}`, "client_capability_missing"}, {`{"resourceStreaming":{"maxStreamSize":[5]}}`, "client_capability_missing"},
		{`{"resourceStreaming":{"maxStreamSize":1e400}}`, "client_capability_missing"}, {`{"resourceStreaming":{"maxStreamSize":-1e400}}`, "client_capability_missing"},
		// Where typed clients can put it; the place of the SEP comes first.
		{`{"experimental":{"resourceStreaming":{"maxStreamSize":5}}}`, "too_large"}, {`{"extensions":{"io.github.repomcp/resource-stream":{}}}`, ""},
		{`{"resourceStreaming":{"maxStreamSize":5},"experimental":{"resourceStreaming":{}}}`, "too_large"}, {`{"experimental":{"resourceStreaming":5}}`, "client_capability_missing"},
	}
	for _, test := range tests {
		for _, version := range eras {
			c := s.good(t, version, methodStream)
			if version == modernVersion {
				c.meta()[metaCapabilities] = json.RawMessage(test.capabilities)
			} else {
				c.header.Set("Mcp-Session-Id", s.initialize(t, version, test.capabilities))
			}
			a := s.do(t, c)
			if test.want == "" {
				if a.status != http.StatusOK || string(a.body) != "hello\n" {
					t.Errorf("%s %s: %v, want the file", version, test.capabilities, a)
				}
				continue
			}
			expect(t, a, version, test.want, test.capabilities)
			if a.data["uri"] != "repo://hello/contents/README.md" {
				t.Errorf("%s %s: no uri in %v", version, test.capabilities, a)
			}
			if test.want == "too_large" && (a.data["size"] != float64(size) || a.data["limit"] == nil) {
				t.Errorf("%s %s: size and limit are not in %v", version, test.capabilities, a)
			}
		}
	}
	t.Logf("%d cases", 2*len(tests))
}

// limitedCall streams an archive to a client that accepts only so many bytes.
func (s *target) limitedCall(version, uri string, limit int, session string) *call {
	c := s.call(version, methodStream, map[string]any{"uri": uri})
	if version == modernVersion {
		c.meta()[metaCapabilities] = map[string]any{"resourceStreaming": map[string]any{"maxStreamSize": limit}}
	} else {
		c.header.Set("Mcp-Session-Id", session)
	}
	return c
}

func TestArchiveThatOutgrowsTheLimitIsVisiblyCut(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	cases := 0
	for _, limit := range []int{1, 50, 100} { // upwards: how far a stream got is remembered
		cases++
		a, err := s.send(t.Context(), s.limitedCall(modernVersion, "repo://hello/archive/main.tar.gz", limit, ""))
		if err != nil {
			t.Fatal(err)
		}
		if limit == 1 && (!errors.Is(a.err, io.ErrUnexpectedEOF) || len(a.body) > limit) {
			t.Errorf("beyond the limit %d: %d bytes and %v, want an unexpected EOF", limit, len(a.body), a.err)
		}
		if limit > 1 && !errors.Is(a.err, io.ErrUnexpectedEOF) && a.reason != "too_large" {
			t.Errorf("beyond the limit %d: %v", limit, a)
		}
		if a = s.do(t, s.limitedCall(modernVersion, "repo://hello/archive/main.tar.gz", limit, "")); a.code != -32004 {
			t.Errorf("the second time beyond the limit %d: %v", limit, a)
		}
	}
	t.Logf("%d cases", cases)
}

// The length of a tar is known from the trees, that of a tar.gz when it was
// written once.
func TestArchiveKnownToOutgrowTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	cases := 0
	tar := s.do(t, s.limitedCall(modernVersion, "repo://hello/archive/HEAD.tar", 100, ""))
	if tar.code != -32004 || tar.data["size"] == nil {
		t.Errorf("a tar that was never written: %v", tar)
	}
	for _, uri := range []string{"repo://hello/archive/main.tar", "repo://hello/archive/main.tar.gz"} {
		whole := s.do(t, s.call(sessionVersion, methodStream, map[string]any{"uri": uri}))
		if whole.err != nil || whole.failed() {
			t.Fatalf("%s: %v", uri, whole)
		}
		for _, limit := range []int{1, 100, len(whole.body) / 2, len(whole.body) - 1, len(whole.body), len(whole.body) + 1} {
			session := s.initialize(t, sessionVersion, fmt.Sprintf(`{"resourceStreaming":{"maxStreamSize":%d}}`, limit))
			for _, version := range eras {
				cases++
				a := s.do(t, s.limitedCall(version, uri, limit, session))
				if limit >= len(whole.body) {
					if a.err != nil || !bytes.Equal(a.body, whole.body) || a.header.Get("Content-Length") != strconv.Itoa(len(whole.body)) {
						t.Errorf("%s %s within the limit %d: %d bytes, %v", version, uri, limit, len(a.body), a.err)
					}
					continue
				}
				if a.code != -32004 || a.data["size"] != float64(len(whole.body)) || a.data["limit"] != float64(limit) {
					t.Errorf("%s %s beyond the limit %d: %v", version, uri, limit, a)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// HTTP/1.0, which proxies still speak to servers, has no chunks: the end of the
// connection is the end of the body, and only a reset shows that it is not.
func TestCutArchiveIsVisibleToHTTP10(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, format := range []string{"tar.gz", "tgz?prefix=x/"} {
		c := s.limitedCall(modernVersion, "repo://hello/archive/main."+format, 100, "")
		body, err := json.Marshal(c.message)
		if err != nil {
			t.Fatal(err)
		}
		c.header.Set("Content-Length", strconv.Itoa(len(body)))
		var head strings.Builder
		if err := c.header.Write(&head); err != nil {
			t.Fatal(err)
		}
		reader := s.dial(t, "POST /mcp HTTP/1.0\r\nHost: "+s.host+"\r\n"+head.String()+"\r\n"+string(body))
		got, err := io.ReadAll(reader)
		if err == nil {
			t.Errorf("%s: %d bytes with a clean end: %.300q", format, len(got), got)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open", format)
		}
	}
	t.Log("2 cases")
}

// lines receives what a server logs.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default: // nobody reads that much
	}
	return len(p), nil
}

// A client that does not read must not hold what was made for it.
func TestClientThatDoesNotReadIsDropped(t *testing.T) {
	t.Parallel()
	logged := make(lines, 1000)
	s := newTarget(t, targetOptions{
		http: httpx.Options{WriteTimeout: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(logged, nil))},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "big.git")).Commit("main", gittest.Regular("big", strings.Repeat("x", 3<<20)), gittest.Regular("bigger", strings.Repeat("x", 30<<20)))
		},
	})
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"repo://big/contents/big"}}`
	batch := s.batchCall(batchVersion, "["+strings.Repeat(read+",", 7)+read+"]")
	stream := s.call(sessionVersion, methodStream, map[string]any{"uri": "repo://big/contents/bigger"})
	for name, c := range map[string]*call{"batch": batch, "stream": stream} {
		body := c.body
		if body == nil {
			body, _ = json.Marshal(c.message)
		}
		var head strings.Builder
		if err := c.header.Write(&head); err != nil {
			t.Fatal(err)
		}
		conn := s.dialSmall(t)
		if _, err := fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n%s\r\n%s", s.host, len(body), head.String(), body); err != nil {
			t.Fatal(err)
		}
		s.awaitLog(t, logged, name, "msg=request", "outcome=aborted")
	}
	t.Log("2 cases")
}

// dialSmall opens a connection whose receiving buffer is small.
func (s *target) dialSmall(t *testing.T) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	return conn
}

func (s *target) awaitLog(t *testing.T, logged lines, what string, words ...string) {
	t.Helper()
	timeout := time.NewTimer(hang)
	defer timeout.Stop()
	for {
		select {
		case line := <-logged:
			found := true
			for _, word := range words {
				found = found && strings.Contains(line, word)
			}
			if found {
				return
			}
		case <-timeout.C:
			t.Fatalf("%s: the request is still running", what)
		}
	}
}

// A client takes what is application/json for an error, and a browser runs
// what is text/html: files of a repository must not be able to be either.
func TestFilesCannotPassForReplies(t *testing.T) {
	t.Parallel()
	event := "event: message\ndata: {}\n\n"
	s := newTarget(t, targetOptions{build: func(root string) {
		gittest.At(t, filepath.Join(root, "hello.git")).Commit("main",
			gittest.Regular("README.md", "hello\n"), gittest.Regular("data.json", `{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"x"}}`), gittest.Regular("no-extension", `{"a":1}`),
			gittest.Regular("DATA.JSON", `[]`), gittest.Regular("text/event-stream", event), gittest.Regular("x.html", "<script>alert(1)</script>"), gittest.Regular("x.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`),
			gittest.Regular("empty", ""), gittest.Regular("empty.json", ""),
		)
	}})
	cases := 0
	for _, name := range []string{"data.json", "no-extension", "DATA.JSON", "text/event-stream", "x.html", "x.svg", "empty", "empty.json", "README.md"} {
		for _, version := range eras {
			cases++
			a := s.do(t, s.call(version, methodStream, map[string]any{"uri": "repo://hello/contents/" + name}))
			kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
			if a.status != http.StatusOK || err != nil || kind == "application/json" || kind == "text/event-stream" {
				t.Errorf("%s: %v, %v", name, a, err)
			}
			if strings.HasSuffix(strings.ToLower(name), "data.json") && a.header.Get("Mcp-Resource-Type") != "application/json" {
				t.Errorf("%s: its own type is %q", name, a.header.Get("Mcp-Resource-Type"))
			}
			checkStreamHeaders(t, name, a)
			if length := a.header.Get("Content-Length"); length != strconv.Itoa(len(a.body)) {
				t.Errorf("%s: Content-Length is %q of %d bytes", name, length, len(a.body))
			}
		}
	}
	t.Logf("%d cases", cases)
}

// checkStreamHeaders checks what every stream says of itself.
func checkStreamHeaders(t *testing.T, name string, a answer) {
	t.Helper()
	for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"} {
		if got := a.header.Get(header); got != want {
			t.Errorf("%q: %s is %q, want %q", name, header, got, want)
		}
	}
	if control := a.header.Get("Cache-Control"); !strings.HasPrefix(control, "private, ") {
		t.Errorf("%q: Cache-Control is %q", name, control)
	}
	if tag := a.header.Get("ETag"); len(tag) < 18 || tag[0] != '"' || tag[len(tag)-1] != '"' || strings.Contains(tag[1:len(tag)-1], `"`) {
		t.Errorf("%q: ETag is %q, no strong one", name, tag)
	}
	if kind, _, err := mime.ParseMediaType(a.header.Get("Content-Disposition")); err != nil || kind != "attachment" {
		t.Errorf("%q: Content-Disposition is %q: %v", name, a.header.Get("Content-Disposition"), err)
	}
	uri := a.header.Get("Mcp-Resource-Uri")
	if u, err := url.Parse(uri); err != nil || u.Scheme != "repo" {
		t.Errorf("%q: MCP-Resource-Uri is %q: %v", name, uri, err)
	}
	for header, values := range a.header {
		for _, value := range values {
			for i := range len(value) {
				if value[i] < ' ' || value[i] > '~' {
					t.Errorf("%q: the header %s is not ASCII: %q", name, header, value)
					break
				}
			}
		}
	}
}

func TestArchiveDescribesItself(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	tests := []struct{ uri, file, kind, cache string }{
		{"repo://hello/archive/main.tar", "hello-main.tar", "application/x-tar", "private, no-cache"},
		{"repo://hello/archive/refs/heads/main.tgz", "hello-main.tar.gz", "application/gzip", "private, no-cache"},
		{"repo://hello/archive/HEAD.tar.gz", "hello-" + s.head[:12] + ".tar.gz", "application/gzip", "private, no-cache"},
		{"repo://hello/archive/" + s.head + ".tar", "hello-" + s.head + ".tar", "application/x-tar", "private, max-age=31536000, immutable"},
		{"repo://caf%C3%A9/archive/main.tar", "caf\u00e9-main.tar", "application/x-tar", "private, no-cache"},
		{"repo://team/app/archive/main.tar?prefix=%22%0A%C3%A9/", "app-main.tar", "application/x-tar", "private, no-cache"},
	}
	tags := make(map[string]string)
	for _, test := range tests {
		for _, version := range eras {
			a := s.do(t, s.call(version, methodStream, map[string]any{"uri": test.uri}))
			checkStreamHeaders(t, test.uri, a)
			_, parameters, _ := mime.ParseMediaType(a.header.Get("Content-Disposition"))
			if parameters["filename"] != test.file || a.header.Get("Content-Type") != test.kind || a.header.Get("Cache-Control") != test.cache {
				t.Errorf("%s: %q %q", test.uri, parameters["filename"], a.header)
			}
			// The length is known from the second time on, by whatever name.
			length := ""
			if before, ok := tags[a.header.Get("ETag")]; ok {
				length = strconv.Itoa(len(before))
			}
			if a.header.Get("Content-Length") != length || a.err != nil {
				t.Errorf("%s: length %q, want %q, %v", test.uri, a.header.Get("Content-Length"), length, a.err)
			}
			if canonical := a.header.Get("Mcp-Resource-Uri"); test.uri == "repo://hello/archive/main.tar" && canonical != "repo://hello/archive/"+s.head+".tar" {
				t.Errorf("%s: canonical URI is %q", test.uri, canonical)
			}
			// One tag, one sequence of bytes.
			if before, ok := tags[a.header.Get("ETag")]; ok && before != string(a.body) {
				t.Errorf("%s: two archives have the ETag %s", test.uri, a.header.Get("ETag"))
			}
			tags[a.header.Get("ETag")] = string(a.body)
		}
	}
	t.Logf("%d cases", 2*len(tests))
}

// listing is a folder as resources/read shows it.
type listing struct {
	Entries []struct {
		Name, NameBase64, Type, ID, URI string
	}
}

func (s *target) list(t *testing.T, uri string) listing {
	t.Helper()
	a := s.do(t, s.call(sessionVersion, methodRead, map[string]any{"uri": uri}))
	var reply struct {
		Result struct{ Contents []struct{ Text string } }
	}
	var l listing
	if err := json.Unmarshal(a.body, &reply); err != nil || len(reply.Result.Contents) != 1 {
		t.Fatalf("%s: %v, %v", uri, a, err)
	}
	if err := json.Unmarshal([]byte(reply.Result.Contents[0].Text), &l); err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	return l
}

func TestHostileFileNamesStayWithinTheirHeaders(t *testing.T) {
	t.Parallel()
	s := &target{root: filepath.Join("..", "..", "testrepos"), sessions: make(map[string]string)}
	s.serve(t, targetOptions{})
	s.sessions[sessionVersion] = s.initialize(t, sessionVersion, `{"resourceStreaming":{}}`)
	cases := 0
	folders := []string{"repo://names/contents", "repo://modes/contents", "repo://media/contents"}
	for len(folders) > 0 {
		folder := folders[0]
		folders = folders[1:]
		for _, entry := range s.list(t, folder).Entries {
			switch entry.Type {
			case "directory":
				folders = append(folders, entry.URI)
			case "file", "symlink":
				cases++
				s.checkFile(t, entry.URI, entry.ID)
			}
		}
	}
	if cases < 60 {
		t.Errorf("only %d files", cases)
	}
	t.Logf("%d cases", 2*cases)
}

// checkFile streams a file in both eras and compares it with its object id.
func (s *target) checkFile(t *testing.T, uri, id string) {
	t.Helper()
	for _, version := range eras {
		a := s.do(t, s.call(version, methodStream, map[string]any{"uri": uri}))
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(a.body), a.body))
		if a.status != http.StatusOK || hex.EncodeToString(sum[:]) != id || a.header.Get("ETag") != `"`+id+`"` {
			t.Errorf("%s: %v, want the object %s", uri, a, id)
		}
		checkStreamHeaders(t, uri, a)
		if got := a.header.Get("Mcp-Resource-Uri"); got != uri {
			t.Errorf("%s: MCP-Resource-Uri is %s", uri, got)
		}
		name, err := url.PathUnescape(path.Base(uri))
		if err != nil {
			t.Fatal(err)
		}
		_, parameters, _ := mime.ParseMediaType(a.header.Get("Content-Disposition"))
		got := parameters["filename"]
		plain := utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' })
		if got == "" || plain && got != name || strings.ContainsAny(got, "/\\\r\n\x00") {
			t.Errorf("%s: saved as %q (%s)", uri, got, a.header.Get("Content-Disposition"))
		}
	}
}

// An event stream that somebody else's id would resume is a new one: no events
// are kept that could be read by another.
func TestEventIDOfAnotherSessionGivesNothingAway(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	ids := []string{"1", s.initialize(t, sessionVersion, "{}"), s.sessions[sessionVersion] + "_0", "../../x", strings.Repeat("9", 4<<10)}
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

package httpx_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// verdict is how an error looks in each era.
type verdict struct {
	sessionStatus, sessionCode int
	modernStatus, modernCode   int
}

// verdicts are written out here and not taken from the code: clients rely on
// the numbers. internal/mcp holds what gets which reason.
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

// Each reason has its status and code in each era, with whatever message it is met.
func TestReasonsHaveTheirStatuses(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	met := make(map[string]bool)
	for _, c := range []struct{ reason, method, uri, cursor, body, capabilities string }{
		{reason: "parse_error", body: "{"}, {reason: "invalid_request", body: "{}"},
		{reason: "method_not_found", method: "no/such"},
		{reason: "invalid_params", method: "resources/list", cursor: "%%%"},
		{reason: "invalid_params", method: "tools/list", cursor: "none"},
		{reason: invalidURI, method: methodRead, uri: "repo://../etc/passwd"},
		{reason: invalidURI, method: methodStream, uri: "repo://hello%00.git"},
		{reason: notFound, method: methodRead, uri: "repo://hello\r\nX-Injected: y"},
		{reason: notFound, method: methodStream, uri: "repo://hello%0D%0AX-Injected:%20y"},
		{reason: notFound, method: methodStream, uri: "repo://hello/sha/" + s.Unreachable + "/contents"},
		{reason: "ambiguous_revision", method: methodRead, uri: "repo://many/sha/" + s.Ambiguous + "/contents"},
		{reason: "ambiguous_revision", method: methodStream, uri: "repo://many/archive/" + s.Ambiguous + ".tar"},
		{reason: "client_capability_missing", method: methodStream, uri: "repo://hello/contents/README.md",
			capabilities: "{}"},
		{reason: "too_large", method: methodStream, uri: "repo://hello/contents/README.md",
			capabilities: `{"resourceStreaming":{"maxStreamSize":5}}`},
		{reason: "stream_not_supported", method: methodStream, uri: "repo://hello"},
	} {
		for _, version := range eras {
			params := map[string]any{}
			if c.uri != "" {
				params["uri"] = c.uri
			}
			if c.cursor != "" {
				params["cursor"] = c.cursor
			}
			request := s.call(version, c.method, params)
			if c.body != "" {
				request.body = []byte(c.body)
			}
			if c.capabilities != "" && version == modernVersion {
				request.meta()[metaCapabilities] = json.RawMessage(c.capabilities)
			} else if c.capabilities != "" {
				request.header.Set("Mcp-Session-Id", s.initialize(t, version, c.capabilities))
			}
			a := s.do(t, request)
			expect(t, a, version, c.reason, c.method+" "+c.uri+c.body)
			if a.header.Get("X-Injected") != "" {
				t.Errorf("%q sets a header", c.uri)
			}
			met[c.reason] = true
		}
	}
	for reason := range verdicts {
		if !met[reason] {
			t.Errorf("no message was refused for %s", reason)
		}
	}
}

// Statuses and headers tell a commit that is hidden from one that does not exist as little as messages do, which
// internal/mcp compares for more URIs.
func TestHeadersDoNotTellHiddenFromUnknown(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	never := strings.Repeat("12", 20) // the id of nothing
	cases := 0
	for _, form := range []string{"repo://hello/sha/%s/contents/password", "repo://hello/archive/%s.tar.gz"} {
		for _, hidden := range []string{s.Unreachable, s.Kept} {
			for _, version := range eras {
				for _, method := range []string{methodRead, methodStream} {
					var shown [2]string
					for i, id := range []string{hidden, never} {
						uri := fmt.Sprintf(form, id)
						a := s.do(t, s.call(version, method, map[string]any{"uri": uri}))
						expect(t, a, version, notFound, uri)
						a.header.Del("Date")
						a.header.Del("X-Request-Id")
						shown[i] = strings.ReplaceAll(fmt.Sprintf("%d %v %s", a.status, a.header, a.body), uri, "URI")
					}
					if shown[0] != shown[1] {
						t.Errorf("%s %s:\nhidden  %s\nunknown %s", version, method, shown[0], shown[1])
					}
					cases++
				}
			}
		}
	}
	if cases != 16 {
		t.Errorf("%d cases, want 16", cases)
	}
}

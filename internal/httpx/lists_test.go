package httpx_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
)

// Lists are downloads like others; internal/resources compares them with what MCP has.
func TestListsAreDownloads(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	for _, route := range []string{"/repositories", "/refs/team/app"} {
		plain := s.get(t, route)
		if plain.status != http.StatusOK || !json.Valid(plain.body) ||
			plain.header.Get("Content-Type") != "application/json" ||
			plain.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %v", route, plain)
		}
		if a := s.get(t, route, "If-None-Match: "+plain.header.Get("ETag")); a.status != http.StatusNotModified {
			t.Errorf("%s again: %v", route, a)
		}
		if a := s.get(t, route, "Range: bytes=3-9"); a.status != http.StatusPartialContent ||
			!bytes.Equal(a.body, plain.body[3:10]) {
			t.Errorf("a part of %s: %v", route, a)
		}
	}
}

// readLinked reads a resource, and gives its httpUrl too.
func (s *target) readLinked(t *testing.T, version, uri string) (text, link string) {
	t.Helper()
	a := s.do(t, s.call(version, methodRead, map[string]any{"uri": uri}))
	var reply struct {
		Result struct {
			Contents []struct {
				Text string
				Meta map[string]any `json:"_meta"`
			} `json:"contents"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.body, &reply); err != nil || len(reply.Result.Contents) != 1 {
		t.Fatalf("%s: %v, %v", uri, a, err)
	}
	link, _ = reply.Result.Contents[0].Meta["io.github.repomcp/httpUrl"].(string)
	return reply.Result.Contents[0].Text, link
}

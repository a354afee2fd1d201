package httpx_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// Lists are resources like others: read, streamed, downloaded and linked they are
// the same bytes, and a link shows the list as it is when it is followed.
func TestListsAreDownloads(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	for uri, route := range map[string]string{"repo://": "/repositories", "repo://team/app/refs": "/refs/team/app"} {
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
		for _, version := range []string{modernVersion, sessionVersion} {
			direct := s.call(version, methodStream, map[string]any{"uri": uri})
			direct.header.Set("Accept", "*/*, application/json, text/event-stream")
			if a := s.do(t, direct); !bytes.Equal(a.body, plain.body) {
				t.Errorf("%s of %s: %v", methodStream, uri, a)
			}
			text, link := s.readLinked(t, version, uri)
			if text != string(plain.body) {
				t.Errorf("%s of %s: %s", methodRead, uri, text)
			}
			if followed := s.get(t, at(t, map[string]any{"downloadUrl": link})); followed.status != http.StatusOK ||
				!bytes.Equal(followed.body, plain.body) {
				t.Errorf("the link of %s: %v", uri, followed)
			}
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

func TestTheListOfRepositories(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	var list struct {
		Repositories []struct{ Name, URI string } `json:"repositories"`
	}
	if err := json.Unmarshal(s.get(t, "/repositories").body, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range list.Repositories {
		names = append(names, r.Name)
		if a := s.do(t, s.call(modernVersion, methodRead, map[string]any{"uri": r.URI})); !slices.Contains([]string{"",
			"repository_corrupt"}, a.reason) {
			t.Errorf("%s: %v", r.URI, a)
		}
	}
	if !slices.IsSorted(names) || !slices.Contains(names, "team/app") || !slices.Contains(names, "empty") {
		t.Errorf("%q", names)
	}
}

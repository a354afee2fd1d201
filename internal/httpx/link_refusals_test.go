package httpx_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

func TestAlteredLinksAreRefused(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	log := &journal{}
	s := newTarget(t,
		targetOptions{links: l.linking(t),
			http: httpx.Options{Logger: slog.New(slog.NewTextHandler(log,
				&slog.HandlerOptions{Level: slog.LevelDebug}))}})
	link := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz"))
	token := path.Base(link)
	tried := 0
	for i := range len(token) {
		other := byte('A')
		if token[i] == other {
			other = 'B'
		}
		if a := s.get(t, "/dl/"+token[:i]+string(other)+token[i+1:]); a.status != http.StatusNotFound {
			t.Errorf("byte %d: %v", i, a)
		}
		tried++
	}
	for _, form := range []string{
		token + "/", "/" + token, token + "/x", token + "/hello-main.tar.gz", token + "/x/hello-main.tar.gz",
		token + "?x=1", token + "?", token + "?token=" + token,
		token + "?expires=9999999999&expires=1", fmt.Sprintf("%%%02X%s", token[0], token[1:]), token[len(token)/2:] +
			token[:len(token)/2], token + ";v=2",
		token + "=", token[:len(token)-1], token + token, "x", "", strings.Repeat("A", 9000),
	} {
		if a := s.get(t, "/dl/"+form); a.status != http.StatusNotFound {
			t.Errorf("%.60s: %v", form, a)
		}
		tried++
	}
	for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if a := s.do(t, &call{verb: verb, path: link, body: []byte("x")}); a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %v", verb, a)
		}
	}
	other := newTarget(t,
		targetOptions{links: (&withLinks{keys: l.keys, nonces: l.nonces, clock: l.clock,
			publicURL: "https://other.example"}).linking(t)})
	if a := other.get(t, link); a.status != http.StatusNotFound {
		t.Errorf("another server with the same keys: %v", a)
	}
	stranger := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	if a := stranger.get(t, link); a.status != http.StatusNotFound {
		t.Errorf("a server with other keys: %v", a)
	}
	if a := newTarget(t, targetOptions{}).get(t, link); a.status != http.StatusNotFound {
		t.Errorf("a server without links: %v", a)
	}
	if a := s.get(t, link); a.status != http.StatusOK {
		t.Errorf("the link itself, after all that: %v", a)
	}
	if strings.Contains(log.String(), token) || !strings.Contains(log.String(), "path=/dl/- ") {
		t.Error("the log has the token, or does not tell of the download")
	}
	if tried < 200 {
		t.Errorf("%d links were tried", tried)
	}
}

func TestLinksExpireAndNameACommitForEver(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	l.manyUses = true
	var repo *gittest.Repo
	s := newTarget(t, targetOptions{links: l.linking(t), build: func(root string) {
		repo = gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Commit("main", gittest.Regular("a", "first"))
	}})
	link := at(t, s.downloadURL(t, modernVersion, "repo://repo/refs/heads/main/contents/a"))
	repo.Commit("main", gittest.Regular("a", "second"))
	for range 2 {
		if a := s.get(t, link); a.status != http.StatusOK || string(a.body) != "first" {
			t.Errorf("after a push: %v", a)
		}
	}
	tag := s.get(t, link).header.Get("Etag")
	if a := s.get(t, link, "If-None-Match: "+tag); a.status != http.StatusNotModified {
		t.Errorf("If-None-Match: %v", a)
	}
	l.clock.advance(5 * time.Minute)
	if a := s.get(t, link); a.status != http.StatusGone || !strings.Contains(string(a.body), "expired") {
		t.Errorf("after five minutes: %v", a)
	}
}

// Who has a used link and the tag of its first reply does not have the content
// as often as they like.
func TestResumesOfAUsedLinkAreBounded(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	for _, uri := range []string{"repo://hello/archive/main.tar", "repo://hello/contents/README.md"} {
		link := at(t, s.downloadURL(t, modernVersion, uri))
		whole := s.get(t, link)
		for _, part := range []string{"bytes=0-", "bytes=1-"} {
			got := 0
			for range 20 {
				if a := s.get(t, link, "Range: "+part, "If-Range: "+
					whole.header.Get("ETag")); a.status == http.StatusPartialContent {
					got += len(a.body)
				} else if a.status != http.StatusNotFound {
					t.Fatalf("%s: %v", uri, a)
				}
			}
			if most := 3 * len(whole.body); got > most || part == "bytes=0-" && got < len(whole.body) {
				t.Errorf("%s: %d bytes again by %s, want %d at most, and one more attempt at least", uri, got, part,
					most)
			}
		}
	}
}

package httpx_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/logtest"
)

func TestAlteredLinksAreRefused(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	log := &logtest.Log{}
	s := newTarget(t,
		targetOptions{links: l.linking(t),
			http: httpx.Options{Logger: slog.New(slog.NewTextHandler(log,
				&slog.HandlerOptions{Level: slog.LevelDebug}))}})
	link := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz"))
	token := path.Base(link)
	altered := []byte(token) // internal/links alters every byte
	altered[len(token)/2] ^= 1
	for _, form := range []string{
		string(altered), token + "/", "/" + token, token + "/x", token + "/hello-main.tar.gz",
		token + "/x/hello-main.tar.gz", token + "?x=1", token + "?", token + "?token=" + token,
		token + "?expires=9999999999&expires=1", fmt.Sprintf("%%%02X%s", token[0], token[1:]),
		token[len(token)/2:] + token[:len(token)/2], token + ";v=2",
		token + "=", token[:len(token)-1], token + token, "x", "", strings.Repeat("A", 9000),
	} {
		if a := s.get(t, "/dl/"+form); a.status != http.StatusNotFound {
			t.Errorf("%.60s: %v", form, a)
		}
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
}

package admin

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/repos"
)

const operatorToken = "operator-token-0123456789"

// newServer serves an empty root.
func newServer(t *testing.T, token string) *Server {
	t.Helper()
	catalogue, err := repos.Open(t.TempDir(), repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(Options{
		Metrics:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics\n") }),
		Catalogue: catalogue, Hosts: []string{"git.example"}, Token: token, Logger: slog.New(slog.DiscardHandler),
		Faults: func() map[string]error {
			return map[string]error{"tokens": errors.New("the file\nis empty"), "access rules": errors.New("line 3")}
		},
	})
}

// ask sends a GET with headers, written as "Name: value".
func ask(t *testing.T, s *Server, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Host = "127.0.0.1:9090"
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

var allPaths = []string{
	"/metrics", "/healthz", "/readyz", "/readyz?verbose", "/debug/pprof/", "/debug/pprof/cmdline",
	"/debug/pprof/heap", "/debug/pprof/goroutine?debug=1", "/debug/pprof/symbol",
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	refused := append([]string{
		"/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=1", "/debug/pprof/heap?seconds=1", "/none",
	}, allPaths...)
	for _, path := range refused {
		for _, header := range []string{
			"Origin: http://evil.example", "Origin: null", "Origin: http://127.0.0.1:8080",
			"Sec-Fetch-Site: cross-site", "Host: evil.example",
		} {
			if a := ask(t, s, path, header); a.Code != http.StatusForbidden {
				t.Errorf("%s with %s: %d %s", path, header, a.Code, a.Body)
			}
		}
	}
	for _, path := range allPaths {
		for _, header := range []string{
			"", "Origin: http://127.0.0.1:9090", "Sec-Fetch-Site: none", "Sec-Fetch-Site: same-origin",
			"Host: localhost:1", "Host: git.example", "Host: [::1]:9090",
		} {
			a := ask(t, s, path, header)
			if a.Code != http.StatusOK || a.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s with %s: %d %v %.200s", path, header, a.Code, a.Header(), a.Body)
			}
		}
	}
}

func TestATokenIsWanted(t *testing.T) {
	t.Parallel()
	s := newServer(t, operatorToken)
	for _, path := range allPaths {
		open := path == "/healthz" || path == "/readyz"
		for _, c := range []struct {
			header string
			good   bool
		}{
			{"Authorization: Bearer " + operatorToken, true}, {"Authorization: bearer  " + operatorToken, true},
			{"", false}, {"Authorization: Bearer", false}, {"Authorization: Bearer ", false},
			{"Authorization: Bearer " + operatorToken[1:], false}, {"Authorization: Bearer " + operatorToken + "0", false},
			{"Authorization: " + operatorToken, false}, {"Authorization: Basic " + operatorToken, false},
			{"Cookie: token=" + operatorToken, false}, {"X-Token: " + operatorToken, false},
		} {
			a := ask(t, s, path, c.header)
			if c.good || open {
				if a.Code != http.StatusOK {
					t.Errorf("%s with %q: %d %s", path, c.header, a.Code, a.Body)
				}
				continue
			}
			if a.Code != http.StatusUnauthorized ||
				!strings.HasPrefix(a.Header().Get("WWW-Authenticate"), "Bearer ") ||
				strings.Contains(a.Body.String(), operatorToken) {
				t.Errorf("%s with %q: %d %v %s", path, c.header, a.Code, a.Header(), a.Body)
			}
		}
	}
	if a := ask(t, s, "/metrics?token="+operatorToken); a.Code != http.StatusUnauthorized {
		t.Errorf("a token in the address: %d", a.Code)
	}
	// Nor is a page of another site let in that knows it.
	if a := ask(t, s, "/metrics", "Authorization: Bearer "+operatorToken,
		"Origin: http://evil.example"); a.Code != http.StatusForbidden {
		t.Errorf("a foreign page with the token: %d", a.Code)
	}
	if a := ask(t, s, "/readyz"); a.Body.String() != "ok\n" {
		t.Errorf("without a token readiness says %s", a.Body)
	}
}

func TestProfilesAreShort(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, path := range []string{"profile", "trace", "heap", "goroutine", "none"} {
		for _, seconds := range []string{"61", "60.5", "3600", "1e9", "-1", "0", "NaN", "Inf", "x", "1h", "%2061"} {
			if a := ask(t, s, "/debug/pprof/"+path+"?seconds="+seconds); a.Code != http.StatusBadRequest ||
				!strings.Contains(a.Body.String(), "60 at most") {
				t.Errorf("%s for %s seconds: %d %.200s", path, seconds, a.Code, a.Body)
			}
		}
	}
	if a := ask(t, s, "/debug/pprof/trace?seconds=0.01"); a.Code != http.StatusOK || a.Body.Len() == 0 {
		t.Errorf("a short trace: %d, %d bytes", a.Code, a.Body.Len())
	}
	if a := ask(t, s, "/metrics?seconds=3600"); a.Code != http.StatusOK {
		t.Errorf("metrics: %d", a.Code)
	}
}

func TestReadinessTellsOfFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	const want = "file \"access rules\" is refused, and what it said before stays: line 3\n" +
		"file \"tokens\" is refused, and what it said before stays: the file is empty\n"
	if a := ask(t, s, "/readyz?verbose"); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), want) {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	if a := ask(t, s, "/readyz"); a.Body.String() != "ok\n" {
		t.Errorf("it is said without ?verbose: %s", a.Body)
	}
}

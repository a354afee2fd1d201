package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// readAll reads a download to its end.
func readAll(d *client.Download, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	return io.ReadAll(d)
}

// TestEveryProtocolAndDelivery downloads from the real server.
func TestEveryProtocolAndDelivery(t *testing.T) {
	for _, delivery := range deliveries {
		t.Run(delivery, func(t *testing.T) {
			s := newSite(t, delivery, 1)
			commit := s.repo.Git("rev-parse", "main")
			for _, protocol := range append(protocols, "") {
				c := s.connect(protocol)
				if want := protocol; want != "" && c.Protocol() != want || want == "" && c.Protocol() != "2026-07-28" {
					t.Errorf("asked for %q, %q is spoken", protocol, c.Protocol())
				}
				s.fail(nil)
				for _, format := range []string{"tar", "tar.gz"} {
					want := s.whole("/archive/team/app/main." + format)
					d, err := c.Stream(t.Context(), "repo://team/app/archive/main."+format)
					got, err := readAll(d, err)
					if err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%s, %s: %d bytes of %d, %v", protocol, format, len(got), len(want), err)
					}
					pinned := "repo://team/app/archive/" + commit + "." + format
					if delivery == "redirect" { // to a storage that knows nothing of commits
						pinned, commit = "repo://team/app/archive/main."+format, ""
					}
					if d.URI != pinned || d.Commit != commit || d.ETag == "" || d.Size != int64(len(want)) &&
						(d.Size != -1 || format == "tar") || d.MIMEType == "" {
						t.Errorf("%s: %+v", protocol, d)
					}
					commit = s.repo.Git("rev-parse", "main")
				}
				heard, _ := s.what()
				if got, want := strings.Contains(fmt.Sprint(heard), "/dl/"), delivery == "downloadUrl"; got != want {
					t.Errorf("%s: by a link %v: %q", protocol, got, heard)
				}
				var refused *client.Error
				_, err := c.Stream(t.Context(), "repo://nobody/archive/main.tar")
				if !errors.As(err, &refused) || !refused.NotFound() || refused.Reason != "not_found" {
					t.Errorf("%s: an unknown repository gives %v", protocol, err)
				}
			}
		})
	}
}

func TestReadAndList(t *testing.T) {
	s := newSite(t, "direct", 1)
	var files []gittest.File
	for i := range 450 { // three pages
		files = append(files, gittest.Regular(fmt.Sprintf("many/%03d", i), "x"))
	}
	s.repo.Commit("pages", files...)
	for _, protocol := range protocols {
		c := s.connect(protocol)
		content, err := c.Read(t.Context(), "repo://team/app/contents/README.md")
		if err != nil || string(content.Bytes) != "# app\n" || !strings.HasPrefix(content.MIMEType, "text/markdown") {
			t.Errorf("%s: %+v, %v", protocol, content, err)
		}
		content, err = c.Read(t.Context(), "repo://team/app/contents/src/noise")
		if err != nil || string(content.Bytes) != gittest.Noise(300_000) {
			t.Errorf("%s: no text: %v", protocol, err)
		}
		for uri, want := range map[string]string{
			"repo://": "[{team/app repo://team/app     -1}]",
			"repo://team/app/contents": "[{README.md repo://team/app/contents/README.md file 100644 " +
				s.repo.Git("rev-parse", "main:README.md") + "  6} {src repo://team/app/contents/src directory 040000 " +
				s.repo.Git("rev-parse", "main:src") + "  -1}]",
			"repo://team/app/refs": "[{refs/heads/main repo://team/app/refs/heads/main branch   " +
				s.repo.Git("rev-parse", "main") + " -1} {refs/heads/pages repo://team/app/refs/heads/pages branch   " +
				s.repo.Git("rev-parse", "pages") + " -1}]",
			"repo://team/app":                    "[] the resource is no list of repositories, refs or files",
			"repo://nobody/refs":                 "[] Resource not found",
			"repo://team/app/contents/README.md": "[] the resource is no list of repositories, refs or files",
		} {
			var got []client.Entry
			var failure error
			for entry, err := range c.List(t.Context(), uri) {
				if err != nil {
					failure = err
					continue
				}
				got = append(got, entry)
			}
			list, say, fails := strings.Cut(want, "] ")
			if fails {
				list += "]"
			}
			if fmt.Sprint(got) != list || (failure != nil) != fails || fails && !strings.Contains(failure.Error(),
				say) {
				t.Errorf("%s, %s: %v, %v", protocol, uri, got, failure)
			}
		}
		n := 0
		for entry, err := range c.List(t.Context(), "repo://team/app/refs/heads/pages/contents/many") {
			if err != nil || entry.Name != fmt.Sprintf("%03d", n) {
				t.Fatalf("%s: entry %d is %v, %v", protocol, n, entry, err)
			}
			n++
		}
		if n != len(files) {
			t.Errorf("%s: %d entries", protocol, n)
		}
		for _, err := range c.List(t.Context(), "repo://team/app/refs") {
			if err != nil {
				t.Error(err)
			}
			break // a loop may be left
		}
	}
}

// TestOldServersAreAskedAgain: they answer what they do not know in many ways.
func TestOldServersAreAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		kind   string
		reply  string
		works  bool
	}{
		"no session": {400, "text/plain", "Bad Request: Mcp-Session-Id is missing", true},
		"no method": {200, "application/json",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, true},
		"no version": {400, "application/json",
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported","data":{"supported":["2025-06-18"]}}}`, true},
		"another version": {200, "application/json",
			`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-06-18"]}}`, true},
		"not found": {404, "text/plain", "404", true},
		"as an event": {200, "text/event-stream",
			": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n\n", true},
		"who are you": {401, "text/plain", "Unauthorized", false},
		"not you":     {403, "text/plain", "Forbidden", false},
		"no endpoint": {200, "text/html", "<p>Welcome", false},
		"no JSON":     {200, "application/json", "Welcome", false},
	} {
		server := newOrigin(t, httptest.NewServer, nil)
		server.handler = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "server/discover" {
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.reply)
				return
			}
			body, _ := io.ReadAll(r.Body)
			switch {
			case strings.Contains(string(body), `"initialize"`):
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Mcp-Session-Id", "one")
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18"}}`)
			case r.Header.Get("Mcp-Session-Id") != "one" || r.Header.Get("Mcp-Protocol-Version") != "2025-06-18":
				http.Error(w, "Who?", http.StatusBadRequest)
			case strings.Contains(string(body), `"notifications/initialized"`):
				w.WriteHeader(http.StatusAccepted)
			default:
				bytesOf("content")(w, r)
			}
		}
		got, err := client.Connect(t.Context(), server.URL+"/mcp", client.Options{})
		if (err == nil) != c.works || err == nil && got.Protocol() != "2025-06-18" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err == nil {
			if content, err := read(t, got); content != "content" || err != nil {
				t.Errorf("%s: %q, %v", name, content, err)
			}
		}
		if _, err := client.Connect(t.Context(), server.URL+"/mcp",
			client.Options{Protocol: "2026-07-28"}); err == nil {
			t.Errorf("%s: it speaks 2026-07-28", name)
		}
		if _, err := client.Connect(t.Context(), server.URL+"/mcp",
			client.Options{Protocol: "2025-11-25"}); err == nil {
			t.Errorf("%s: it speaks 2025-11-25", name)
		}
	}
	if _, err := client.New("https://git.example.com/mcp", client.Options{Protocol: "2024-11-05"}); err == nil {
		t.Error("a revision without resources/stream is spoken")
	}
}

// TestForgottenSessionsBeginAgain, once.
func TestForgottenSessionsBeginAgain(t *testing.T) {
	server := newOrigin(t, httptest.NewServer, nil)
	sessions := 0
	server.handler = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case strings.Contains(string(body), `"initialize"`):
			sessions++
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions))
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, idOf(r))
		case strings.Contains(string(body), `"notifications/initialized"`):
			w.WriteHeader(http.StatusAccepted)
		case r.Header.Get("Mcp-Session-Id") != "2":
			http.Error(w, "The session is unknown.", http.StatusNotFound)
		default:
			bytesOf("content")(w, r)
		}
	}
	c, err := client.Connect(t.Context(), server.URL+"/mcp", client.Options{Protocol: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := read(t, c); got != "content" || err != nil || sessions != 2 {
			t.Errorf("%q, %v after %d sessions", got, err, sessions)
		}
	}
	server.mu.Lock()
	sessions = 7
	server.mu.Unlock()
	server.handler = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Never.", http.StatusNotFound) }
	var refused *client.Error
	if _, err := read(t, c); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Error(err)
	}
}

// TestOneClientServesMany goroutines at once.
func TestOneClientServesMany(t *testing.T) {
	s := newSite(t, "downloadUrl", 2)
	want := s.whole("/archive/team/app/main.tar.gz")
	for _, protocol := range protocols[:2] {
		c := s.connect(protocol)
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				got, err := readAll(c.Stream(t.Context(), "repo://team/app/archive/main.tar.gz"))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes of %d, %v", protocol, len(got), len(want), err)
				}
				if _, err := c.Read(t.Context(), "repo://team/app"); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
	}
}

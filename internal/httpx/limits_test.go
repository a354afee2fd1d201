package httpx_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// occupied is a limiter of which so many clients, the tests' own among them or not, have
// all that they may.
func occupied(t *testing.T, clients ...string) *limits.Limiter {
	t.Helper()
	l := limits.New(limits.Options{Memory: 1 << 20, Patience: 20 * time.Millisecond})
	for _, client := range clients {
		ctx := access.WithAddress(t.Context(), client)
		for _, reserve := range []func() (*limits.Grant, error){
			func() (*limits.Grant, error) { return l.Stream(ctx, "x", 1<<40) },
			func() (*limits.Grant, error) { return l.Call(ctx, "x", 1<<40) },
			func() (*limits.Grant, error) { return l.Body(ctx, 1<<40) },
		} {
			if _, err := reserve(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// Whoever is not let in is told so in the form of each route, and when to come again; what
// needs no room is answered.
func TestRefusalsAreProperReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clients []string
		status  int
		limit   limits.Reason
	}{
		{[]string{"127.0.0.1"}, http.StatusTooManyRequests, limits.Client},
		{[]string{"192.0.2.1", "192.0.2.2"}, http.StatusServiceUnavailable, limits.Server},
	} {
		t.Run(string(c.limit), func(t *testing.T) {
			t.Parallel()
			s := newTarget(t, targetOptions{
				http: httpx.Options{Limits: occupied(t, c.clients...)}, links: newLinks(t).linking(t),
			})
			cases := 0
			refused := func(what string, a answer) {
				t.Helper()
				cases++
				if a.status != c.status || a.header.Get("Retry-After") != "5" {
					t.Errorf("%s: %d with Retry-After %q: %s", what, a.status, a.header.Get("Retry-After"), a.body)
				}
			}
			busy := func(what string, reason any, data map[string]any) {
				t.Helper()
				if reason != "busy" || data["limit"] != string(c.limit) || data["retryAfterSeconds"] != 5.0 {
					t.Errorf("%s: %v, %v", what, reason, data)
				}
			}
			for _, path := range []string{"/archive/hello/main.tar.gz", "/archive/hello/main.tar",
				"/raw/hello/main/README.md"} {
				refused(path, s.get(t, path))
				refused("part of "+path, s.get(t, path, "Range: bytes=-1"))
			}
			// The file was not read yet.
			refused("HEAD of a file", s.fetch(t, http.MethodHead, "/raw/hello/main/README.md"))
			refused("a link to a file", s.do(t, s.linkCall(modernVersion, "repo://hello/contents/README.md")))
			refused("the status page", s.get(t, "/", "Accept: text/html"))
			link := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar"))
			for range 2 { // the link is not used up
				refused("a link", s.get(t, link))
			}
			for _, version := range eras {
				for method, params := range map[string]map[string]any{
					methodStream: {"uri": "repo://hello/archive/main.tar"},
					methodRead:   {"uri": "repo://hello/contents/README.md"},
				} {
					a := s.do(t, s.call(version, method, params))
					refused(version+" "+method, a)
					busy(version+" "+method, a.reason, a.data)
				}
			}
			large := s.call(modernVersion, "resources/list", map[string]any{"x": strings.Repeat("x", 100<<10)})
			for _, large.unknownLength = range []bool{false, true} {
				a := s.do(t, large)
				refused("a large body", a)
				busy("a large body", a.reason, a.data)
			}
			socket := dial(t, s.url)
			f := socket.call(rpc(modernVersion, 1, methodRead,
				map[string]any{"uri": "repo://hello/contents/README.md"}))
			busy("WebSocket", f.Error.Data["reason"], f.Error.Data)
			conn, _, err := websocket.Dial(t.Context(), s.url+"/ws", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.CloseNow() }()
			_ = conn.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat(" ", 100<<10)))
			if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusTryAgainLater {
				t.Errorf("a large message: %v", err)
			}
			a := s.get(t, "/refs/hello")
			tag := s.fetch(t, http.MethodHead, "/archive/hello/main.tar.gz").header.Get("ETag")
			for path, answered := range map[string]answer{
				"/refs/hello": a, "/repositories": s.get(t, "/repositories"), "/": s.get(t, "/"),
				"/healthz": s.get(t, "/healthz"),
				"HEAD":     s.fetch(t, http.MethodHead, "/archive/hello/main.tar"),
				"list":     s.do(t, s.call(modernVersion, "resources/list", nil)),
			} {
				if cases++; answered.status != http.StatusOK {
					t.Errorf("%s: %d", path, answered.status)
				}
			}
			if a := s.get(t, "/archive/hello/main.tar.gz", "If-None-Match: "+tag); a.status != http.StatusNotModified {
				t.Errorf("what did not change: %d", a.status)
			}
			if a := s.get(t, "/raw/hello/main/README.md", "If-None-Match: *"); a.status != http.StatusNotModified {
				t.Errorf("a file that did not change: %d", a.status)
			}
			if cases < 17 {
				t.Errorf("only %d cases", cases)
			}
		})
	}
}

// Clients that go away at any moment leave no connection, no place and no memory behind;
// that no goroutine is left TestMain looks at.
func TestDisconnectsLeaveNothing(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const clients = 300
	l := limits.New(limits.Options{Memory: 40 << 20, Patience: 50 * time.Millisecond})
	s := newTarget(t, targetOptions{
		http: httpx.Options{Limits: l},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "big.git")).Commit("main", gittest.Regular("big", gittest.Noise(4<<20)))
		},
	})
	formats := []string{"tar", "tar.gz", "tar.zst", "zip"}
	statuses := make(map[int]int)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%20*150)*time.Millisecond)
			defer cancel()
			url := fmt.Sprintf("%s/archive/big/main.%s?prefix=%d/", s.url, formats[i%len(formats)], i%7)
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				t.Error(err)
				return
			}
			status := 0
			if reply, err := s.client.Do(request); err == nil {
				status = reply.StatusCode
				_, _ = io.CopyN(io.Discard, reply.Body, 64<<10)
				cancel()
				_ = reply.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	if statuses[http.StatusOK] == 0 || statuses[0] == 0 {
		t.Errorf("not all of a kind: %v", statuses)
	}
	left := func() (list []limits.State) {
		for _, state := range l.States() {
			if state.Running+state.Waiting > 0 || state.Memory > 0 {
				list = append(list, state)
			}
		}
		return list
	}
	gittest.Await(t, "no connection and no work is left", func() bool {
		return len(left()) == 0 && s.server.Connections() == 0
	})
}

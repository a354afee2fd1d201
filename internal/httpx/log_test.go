package httpx_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/httpx"
)

// logOf does something, and returns the line of the log that says so.
func logOf(t *testing.T, logged lines, do func()) map[string]any {
	t.Helper()
	for len(logged) > 0 {
		<-logged
	}
	do()
	for {
		select {
		case line := <-logged:
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if fields["msg"] == "request" {
				return fields
			}
		case <-time.After(hang):
			t.Fatal("nothing was logged")
		}
	}
}

func TestLogSaysWhoDidWhat(t *testing.T) {
	t.Parallel()
	logged := make(lines, 1000)
	s := newTarget(t, targetOptions{http: httpx.Options{Logger: slog.New(slog.NewJSONHandler(logged, nil))}})
	for _, c := range []struct {
		path string
		want map[string]any
	}{
		{"/archive/hello/main.tar?prefix=x/&token=secret&alone", map[string]any{
			"outcome": "error", "client": "127.0.0.1", "user_agent": "tester/1", "query": "prefix=x/&token=-&-", "request_id": "abc-1", "status": 400.0,
		}},
		{"/archive/hello/main.tar?prefix=x/", map[string]any{"outcome": "done", "repository": "hello", "ref": "main", "commit": s.head, "query": "prefix=x/", "status": 200.0}},
		{"/raw/hello/main/none", map[string]any{"outcome": "error", "repository": "hello", "status": 404.0}},
	} {
		var reply answer
		fields := logOf(t, logged, func() {
			reply = s.do(t, &call{verb: http.MethodGet, path: c.path, header: http.Header{"User-Agent": {"tester/1"}, "X-Request-Id": {"abc-1"}}})
		})
		for name, want := range c.want {
			if fields[name] != want {
				t.Errorf("%s: %s is %v, want %v", c.path, name, fields[name], want)
			}
		}
		if _, ok := fields["seconds"].(float64); !ok || reply.header.Get("X-Request-Id") != "abc-1" {
			t.Errorf("%s: %v, %v", c.path, fields, reply.header)
		}
	}
}

func TestInsaneRequestIDsAreReplaced(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	seen := make(map[string]bool)
	for _, id := range []string{"", "a b", "<script>", strings.Repeat("a", 129), `"`} {
		got := s.do(t, &call{verb: http.MethodGet, path: "/repositories", header: http.Header{"X-Request-Id": {id}}}).header.Get("X-Request-Id")
		if got == id || len(got) < 20 || seen[got] {
			t.Errorf("%q was replied with %q", id, got)
		}
		seen[got] = true
	}
}

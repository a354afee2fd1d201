package httpx_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

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
	gittest.Long(t)
	t.Parallel()
	logged := make(lines, 1000)
	s := newTarget(t, targetOptions{
		http: httpx.Options{WriteTimeout: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(logged, nil))},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "big.git")).Commit("main",
				gittest.Regular("big", strings.Repeat("x", 3<<20)), gittest.Regular("bigger",
					strings.Repeat("x", 30<<20)))
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
		if _, err := fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n%s\r\n%s", s.host,
			len(body), head.String(), body); err != nil {
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
	timeout := time.NewTimer(gittest.Patience)
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

package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/logtest"
)

// pacedTimeout is what clients of these tests have to take something in. A busy machine runs them
// some seconds late.
const pacedTimeout = 8 * time.Second

// newPaced is a target with a file that no buffers hold.
func newPaced(t *testing.T, logger *slog.Logger) *target {
	t.Helper()
	return newTarget(t, targetOptions{
		http: httpx.Options{WriteTimeout: pacedTimeout, Logger: logger},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "big.git")).Commit("main", gittest.Regular("big", gittest.Noise(16<<20)),
				gittest.Regular("large", strings.Repeat("0123456789abcde\n", 200_000)))
		},
	})
}

// readSlowly takes so many bytes a second, as much of them at a time as comes
// in a tenth of that. What fills the first window is taken at once: later ones
// are as small as the buffer of dialSmall, so that few bytes move them.
func readSlowly(r io.Reader, rate int, duration time.Duration) error {
	if _, err := io.CopyN(io.Discard, r, 128<<10); err != nil {
		return err
	}
	ticker := time.NewTicker(time.Second / 10)
	defer ticker.Stop()
	for end := time.Now().Add(duration); time.Now().Before(end); <-ticker.C {
		if _, err := io.CopyN(io.Discard, r, int64(rate/10)); err != nil {
			return err
		}
	}
	return nil
}

// A client that never stops is never dropped, whatever the buffers of the
// kernels between hold.
func TestSlowClientsKeepTheirDownload(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	log := &logtest.Log{}
	s := newPaced(t, slog.New(slog.NewTextHandler(log, nil)))
	var clients sync.WaitGroup
	for _, c := range []struct {
		path string
		rate int
	}{{"/raw/big/main/big", 10 << 10}, {"/archive/big/main.tar", 40 << 10}, {"/archive/big/main.tar.gz", 80 << 10}} {
		conn := s.dialSmall(t)
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", c.path, s.host); err != nil {
			t.Fatal(err)
		}
		clients.Go(func() {
			if err := readSlowly(conn, c.rate, 2*pacedTimeout); err != nil {
				t.Errorf("%s at %d B/s: %v", c.path, c.rate, err)
			}
		})
	}
	clients.Wait()
	// What was sent before an abort would take long to come.
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "outcome=aborted") {
			t.Error("a client was dropped: " + line)
		}
	}
}

// Who has read for long may not stop for longer than others.
func TestSlowClientThatStopsIsDropped(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, request := range map[string]func(s *target) (*http.Request, error){
		"a download": func(s *target) (*http.Request, error) {
			return http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/raw/big/main/big", nil)
		},
		"parts": func(s *target) (*http.Request, error) {
			c := s.binaryCall("repo://big/contents/big")
			body, err := json.Marshal(c.message)
			if err != nil {
				return nil, err
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			r.Header = c.header
			return r, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logged := make(lines, 1000)
			s := newPaced(t, slog.New(slog.NewTextHandler(logged, nil)))
			conn := s.dialSmall(t)
			r, err := request(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Write(conn); err != nil {
				t.Fatal(err)
			}
			if err := readSlowly(conn, 80<<10, pacedTimeout); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			s.awaitLog(t, logged, "the download", "msg=request", "outcome=aborted")
			if took := time.Since(start); took > 5*pacedTimeout {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// The same over WebSocket: replies in the way of a ping, and those themselves.
func TestSlowWebSocketClientsAreKept(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s := newPaced(t, nil)
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn,
		error) {
		return slowConn{s.dialSmall(t), 40 << 10}, nil
	}}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 2*pacedTimeout)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url+"/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	for id := range 4 {
		if err := conn.Write(ctx, websocket.MessageText,
			[]byte(rpc(modernVersion, id, methodRead,
				map[string]any{"uri": "repo://big/contents/large"}))); err != nil {
			t.Fatal(err)
		}
	}
	// The first reply takes longer than the test has patience for.
	if _, _, err := conn.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the client was dropped: %v", err)
	}
}

// slowConn takes so many bytes a second.
type slowConn struct {
	net.Conn
	rate int
}

func (c slowConn) Read(p []byte) (int, error) {
	time.Sleep(time.Second / 10)
	return c.Conn.Read(p[:min(len(p), c.rate/10)])
}

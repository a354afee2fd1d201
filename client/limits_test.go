package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// mostSent is more than a client takes before it leaves, with what sockets hold.
const mostSent = 64 << 20

// endless writes a piece again and again until the client leaves.
func endless(t *testing.T, w io.Writer, piece string) {
	t.Helper()
	for piece = strings.Repeat(piece, 1+(64<<10)/len(piece)); ; {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// counted counts what is written to a reply.
type counted struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	if c.bytes.Add(int64(len(p))) > mostSent {
		return 0, errors.New("the client takes all of it")
	}
	return c.ResponseWriter.Write(p)
}

// TestEndlessRepliesEnd is about replies of which nothing is ever the end.
func TestEndlessRepliesEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, begin, piece string }{
		"a string of JSON":  {"application/json", `{"jsonrpc":"2.0","id":1,"result":{"x":"`, "x"},
		"blanks of JSON":    {"application/json", `{`, " "},
		"nested JSON":       {"application/json", ``, "["},
		"data of an event":  {"text/event-stream", "data: ", "x"},
		"lines of an event": {"text/event-stream", "", "data: x\n"},
		"comments":          {"text/event-stream", "", ": still here\n\n"},
		"one comment":       {"text/event-stream", ":", "x"},
		"blank lines":       {"text/event-stream", "", "\n"},
		"notifications": {"text/event-stream", "",
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"},
		"no messages":         {"text/event-stream", "", "data: x\n\n"},
		"a preamble of parts": {"multipart/mixed; boundary=b", "", "line\r\n"},
		"a message of parts":  {"multipart/mixed; boundary=b", "--b\r\nContent-Type: application/json\r\n\r\n{", " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				out := counted{w, &sent}
				_, _ = io.WriteString(out, c.begin)
				endless(t, out, c.piece)
			})
			ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
			defer cancel()
			_, err := newClient(t, server).Fetch(ctx, "repo://one/contents/x")
			if !errors.Is(err, client.ErrDamaged) || sent.Load() > mostSent {
				t.Errorf("after %d bytes: %v", sent.Load(), err)
			}
		})
	}
}

// TestRepliesThatOnlyLiveEnd is about replies that only show that the server is alive.
func TestRepliesThatOnlyLiveEnd(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"comments": ": still here\n\n", "blank lines": "\n",
		"notifications": "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n",
	} {
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, piece)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond) // more often than Idle
			}
		})
		c := clientOf(t, server, client.Options{Idle: 200 * time.Millisecond, Retries: -1})
		ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
		_, err := c.Read(ctx, "repo://one/contents/x")
		cancel()
		if !errors.Is(err, client.ErrNetwork) || !strings.Contains(err.Error(), "nothing came for too long") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lateSender answers requests in the moment at which a client stops waiting.
type lateSender struct{ idle time.Duration }

func (l lateSender) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(l.idle)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody,
		Header: http.Header{"Content-Type": {"application/octet-stream"}}}, nil
}

// A client that stops waiting says that nothing came, never that its caller has cancelled.
func TestRepliesAtTheLastMomentAreLate(t *testing.T) {
	t.Parallel()
	late := 0
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			const idle = time.Second
			c, err := client.New("http://127.0.0.1/mcp", client.Options{Idle: idle, Retries: -1,
				Protocol: "2026-07-28", HTTP: &http.Client{Transport: lateSender{idle}}})
			if err != nil {
				t.Fatal(err)
			}
			d, err := c.Stream(t.Context(), "repo://one/archive/main.tar.gz")
			switch {
			case err == nil:
				_ = d.Close() // nothing came
			case errors.Is(err, context.Canceled):
				t.Fatal(err)
			case errors.Is(err, client.ErrNetwork):
				late++
			}
		})
	}
	if late < 50 {
		t.Errorf("only %d replies were late", late)
	}
}

// A large answer may take longer than the client waits for anything to come.
func TestSlowAnswersAreTaken(t *testing.T) {
	t.Parallel()
	const pieces, pause, idle = 10, 250 * time.Millisecond, 2 * time.Second // no pause is nearly as long as idle
	text := strings.Repeat("x", 100_000)
	answer := `{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"repo://one","text":"` + text + `"}]}}`
	for kind, answer := range map[string]string{
		"application/json": answer, "text/event-stream": "data: " + answer + "\n\n",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				for piece := range slices.Chunk([]byte(answer), len(answer)/pieces) {
					_, _ = w.Write(piece)
					_ = http.NewResponseController(w).Flush()
					time.Sleep(pause)
				}
			})
			c := clientOf(t, server, client.Options{Idle: idle, Retries: -1})
			got, err := c.Read(t.Context(), "repo://one")
			if err != nil || string(got.Bytes) != text {
				t.Error(err)
			}
		})
	}
}

// Pages without anything on them lead nowhere.
func TestEndlessPagesEnd(t *testing.T) {
	t.Parallel()
	asked := 0
	server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"contents":[{"uri":"repo://","text":"{\"repositories\":[]}",`+
			`"_meta":{"io.github.repomcp/next":"repo://?after=%d"}}]}}`, asked, asked)
	})
	c := newClient(t, server)
	for _, err := range c.List(t.Context(), "repo://") {
		if !errors.Is(err, client.ErrDamaged) || asked > 3 {
			t.Errorf("after %d pages: %v", asked, err)
		}
		return
	}
	t.Errorf("the list ends after %d pages", asked)
}

// flood writes messages without end to every request, and never a response.
func flood(piece []byte) func(*peer, asked) {
	return func(p *peer, _ asked) {
		for sent := 0; p.send(false, piece) == nil; sent += len(piece) {
			if sent > mostSent {
				p.t.Errorf("the client takes all of %.40q", piece)
				p.cut()
				return
			}
		}
	}
}

// TestFloodsOverConnectionsEnd is about messages over WebSocket and a pipe.
func TestFloodsOverConnectionsEnd(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for _, mode := range modes {
		for name, piece := range map[string]string{
			"notifications": `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` +
				strings.Repeat("x", 10_000) + `"}}`,
			"pings":   `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 10_000) + `","method":"ping"}`,
			"answers": `{"jsonrpc":"2.0","id":999,"result":"` + strings.Repeat("x", 10_000) + `"}`,
			"blanks":  strings.Repeat("\n", 10_000),
		} {
			if mode == binary.ModeFrames && name == "blanks" {
				continue // they are no message there
			}
			c := connectPeer(t, mode, client.Options{Retries: -1}, flood([]byte(piece)))
			ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
			_, err := c.Read(ctx, "repo://one")
			cancel()
			if !errors.Is(err, client.ErrDamaged) {
				t.Errorf("%v, %s: %v", mode, name, err)
			}
		}
	}
}

// unreadPipe is a server that asks for ever, and never reads. Writes to it end with it.
type unreadPipe struct {
	piece, left []byte
	ended       chan struct{}
	once        sync.Once
}

func (p *unreadPipe) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		p.left = p.piece
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

func (p *unreadPipe) Write([]byte) (int, error) {
	<-p.ended
	return 0, io.ErrClosedPipe
}

func (p *unreadPipe) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

// TestAServerThatNeverReadsLosesItsConnection: what it makes the client answer is not held
// without a limit. The answers are longer than the requests.
func TestAServerThatNeverReadsLosesItsConnection(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	p := &unreadPipe{piece: []byte(`{"id":1,"method":"x"}` + "\n"), ended: make(chan struct{})}
	c, err := client.New("stdio:", client.Options{Pipe: p, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // it has failed
	ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
	defer cancel()
	if _, err := c.Read(ctx, "repo://one"); err == nil || !strings.Contains(err.Error(), "does not read what it is sent") {
		t.Errorf("the connection ended with %v, want that the server does not read", err)
	}
}

// TestEndlessMessagesEnd is about one message.
func TestEndlessMessagesEnd(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	near, far := io.Pipe()
	in, out := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, in) }()
	go endless(t, far, "x")
	pipe := struct {
		io.Reader
		io.Writer
		io.Closer
	}{near, out, closers{near, out, in}}
	c, err := client.New("stdio:", client.Options{Pipe: pipe, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
	defer cancel()
	if _, err := c.Read(ctx, "repo://one"); !errors.Is(err, client.ErrDamaged) {
		t.Errorf("over a pipe: %v", err)
	}
	_ = c.Close()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		message, err := conn.Writer(r.Context(), websocket.MessageText)
		if err != nil {
			t.Error(err)
			return
		}
		endless(t, message, "x")
	}))
	defer server.Close()
	c, err = client.New("ws"+strings.TrimPrefix(server.URL, "http"), client.Options{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(ctx, "repo://one"); !errors.Is(err, client.ErrDamaged) {
		t.Errorf("over WebSocket: %v", err)
	}
	_ = c.Close()
}

type closers []io.Closer

func (c closers) Close() error {
	for _, one := range c {
		_ = one.Close() // pipes do not fail
	}
	return nil
}

// TestSilentConnectionsEnd is about servers that are there and do not answer.
func TestSilentConnectionsEnd(t *testing.T) {
	t.Parallel()
	content := []byte("content")
	ref := refOf(content)
	for name, serve := range map[string]func(*peer, asked){
		"no answer": func(*peer, asked) {},
		"notifications now and then": func(p *peer, _ asked) {
			for !p.left() {
				p.message(map[string]any{"method": "notifications/message"})
				time.Sleep(10 * time.Millisecond) // more often than Idle
			}
		},
		"pings now and then": func(p *peer, _ asked) {
			for !p.left() {
				p.message(map[string]any{"id": 1, "method": "ping"})
				time.Sleep(10 * time.Millisecond) // more often than Idle
			}
		},
		"a chunk that stops": func(p *peer, r asked) {
			if p.mode == binary.ModeFrames {
				p.refer(r, ref)
			} else if string(r.ID) == "1" {
				p.refer(r, ref)
				chunk := binary.Chunk{Stream: ref.Stream, Data: content}.Append(nil)
				_ = p.send(true, chunk[:binary.ChunkHeaderBytes+2]) // clients may be gone
			}
		},
	} {
		for _, mode := range modes {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				t.Parallel()
				c := connectPeer(t, mode, client.Options{Retries: 1, Idle: 200 * time.Millisecond}, serve)
				ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
				defer cancel()
				d, err := c.Fetch(ctx, "repo://one/contents/x")
				if err == nil {
					_, err = io.ReadAll(d)
					_ = d.Close()
				}
				if !errors.Is(err, client.ErrNetwork) || ctx.Err() != nil {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// TestSilentProgramsEnd is about programs that send no response, whatever else they write.
func TestSilentProgramsEnd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	for _, script := range []string{"exec sleep 600", "exec yes >&2", "while echo; do sleep 0.01; done"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			o := client.Options{Command: []string{"sh", "-c", script}, Idle: 200 * time.Millisecond, Retries: -1}
			ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
			defer cancel()
			if _, err := client.Connect(ctx, "stdio:", o); !errors.Is(err, client.ErrNetwork) ||
				errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a silent program: %v, want %v before the time is over", err, client.ErrNetwork)
			}
		})
	}
}

// A download without a reader blocks a pipe; the server does not count as silent then.
func TestAHeldPipeIsNotIdle(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	content := bytes.Repeat([]byte("content\n"), 100_000)
	const idle = 3 * time.Second // a busy machine sends the second download within it
	c := connectPeer(t, binary.ModeChunks, client.Options{Retries: -1, Idle: idle}, func(p *peer, r asked) {
		ref := refOf(content)
		p.refer(r, ref)
		p.data(ref.Stream, content)
		p.end(ref, true)
	})
	d, err := c.Fetch(t.Context(), "repo://one/contents/x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	second := make(chan error, 1)
	go func() {
		_, err := fetch(t, c, "repo://one/contents/y")
		second <- err
	}()
	time.Sleep(idle + idle/2) // no event tells that nothing happens
	if got, err := io.ReadAll(d); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := <-second; err != nil {
		t.Errorf("the download after it: %v", err)
	}
}

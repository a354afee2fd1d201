package duplex_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/mcp/duplex"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a transport whose streams fail on demand. It checks that its users keep
// the rules of [duplex.Transport].
type fake struct {
	t        *testing.T
	requests chan string
	left     chan struct{}
	told     chan string // messages, and "end", "abort: words" of streams

	// bare says that the client knows the RFC alone.
	bare bool
	// What the streams do, in the order in which they are opened.
	credit func(n int) error
	data   func(n int) error

	mu     sync.Mutex
	opened int
	failed bool
	busy   bool
}

func (f *fake) Read(ctx context.Context) ([]byte, error) {
	select {
	case text, ok := <-f.requests:
		if !ok {
			return nil, duplex.ErrEnd
		}
		return []byte(text), nil
	case <-f.left:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// alone is what every write runs in.
func (f *fake) alone(write func() error) error {
	f.mu.Lock()
	if f.busy || f.failed {
		f.t.Error("a write beside another one, or after a failure")
	}
	f.busy = true
	f.mu.Unlock()
	whole := false
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy, f.failed = false, !whole
	}()
	err := write()
	whole = err == nil
	return err
}

func (f *fake) Write(_ context.Context, fill func(io.Writer) error) error {
	return f.alone(func() error {
		var text strings.Builder
		err := fill(&text)
		f.told <- text.String()
		return err
	})
}

func (f *fake) Leave() { close(f.left) }

func (f *fake) Open(binary.Ref, context.CancelCauseFunc) duplex.Stream {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &fakeStream{f, f.opened}
}

// capabilities are those of the client.
func (f *fake) capabilities() string {
	const capability = `"binaryTransfer":{"supported":true}`
	if f.bare {
		return "{" + capability + "}"
	}
	return `{` + capability + `,"extensions":{"io.github.repomcp/binary-transfer":{"supported":true}}}`
}

func (f *fake) Bare(_ context.Context, declared binary.Ref) (io.Writer, error) {
	f.mu.Lock()
	f.opened++
	n := f.opened
	f.mu.Unlock()
	return &fakeBytes{f, n}, f.alone(func() error { f.told <- fmt.Sprintf("%d has %d", n, declared.Size); return nil })
}

func (f *fake) Fail(error) { f.told <- "failed" }

type fakeBytes struct {
	*fake
	n int
}

func (b *fakeBytes) Write(p []byte) (int, error) {
	return len(p), b.alone(func() error { return b.data(b.n) })
}

type fakeStream struct {
	*fake
	n int
}

func (s *fakeStream) Credit(_ context.Context, most int) (int, error) {
	return min(most, 1<<10), s.credit(s.n)
}

func (s *fakeStream) Data(context.Context, []byte) error {
	return s.alone(func() error { return s.data(s.n) })
}

func (s *fakeStream) End(context.Context, binary.Ref) error {
	return s.alone(func() error { s.told <- fmt.Sprintf("%d ended", s.n); return nil })
}

func (s *fakeStream) Abort(_ context.Context, words string) error {
	return s.alone(func() error { s.told <- fmt.Sprintf("%d aborted: %s", s.n, words); return nil })
}

func (s *fakeStream) Close() {}

// converse runs a conversation with requests for a file of some pieces, one after the
// other, and returns all that was told, and what the conversation ended with.
func converse(t *testing.T, f *fake, requests int) (told []string, ended error) {
	t.Helper()
	root := t.TempDir()
	gittest.At(t, filepath.Join(root, "hello.git")).Commit("main", gittest.Regular("file", gittest.Noise(8<<10)))
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		engine.Close()
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	}()
	server := mcp.New(mcp.Options{
		Catalogue: catalogue, Resources: resources.New(resources.Options{Catalogue: catalogue, Engine: engine}),
		Subscriptions: watch.New(watch.Options{Catalogue: catalogue}),
	})
	f.t, f.left, f.told = t, make(chan struct{}), make(chan string, 1000)
	f.requests = make(chan string, requests)
	for id := range requests {
		f.requests <- fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"repo://hello/contents/file","transferMode":"binary","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, id, f.capabilities())
	}
	close(f.requests)
	ctx, cancel := context.WithTimeout(t.Context(), gittest.Patience)
	defer cancel()
	func() {
		defer func() {
			if cause := recover(); cause != nil {
				ended = fmt.Errorf("panicked: %v", cause)
			}
		}()
		ended = duplex.New(duplex.Options{
			Client: server.Connect("", ""), Mode: binary.ModeFrames, Stopping: t.Context(),
			Logger: slog.New(slog.DiscardHandler), Place: slog.String("transport", "fake"),
		}, f).Serve(ctx)
	}()
	close(f.told)
	for text := range f.told {
		told = append(told, text)
	}
	return told, ended
}

// A panic while bytes are made ends one stream, and its client gets an error.
func TestPanicInAStreamAbortsIt(t *testing.T) {
	f := &fake{data: func(int) error { return nil }}
	f.credit = func(n int) error {
		if n == 2 {
			panic("on purpose")
		}
		return nil
	}
	told, err := converse(t, f, 4)
	if err != nil {
		t.Error(err)
	}
	aborted := slices.ContainsFunc(told, func(text string) bool {
		return strings.HasPrefix(text, "2 aborted: Internal error. Try again") && !strings.Contains(text, "purpose")
	})
	if !aborted || !slices.Contains(told, "1 ended") || !slices.Contains(told, "3 ended") ||
		!slices.Contains(told, "4 ended") || len(told) != 8 {
		t.Errorf("%q", told)
	}
	for _, text := range told {
		if strings.HasPrefix(text, "{") && !json.Valid([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
}

// A failure or panic during a send ends the connection: it is unknown how much
// the client has received.
func TestHalfSentDataEndsTheConnection(t *testing.T) {
	for name, fail := range map[string]func() error{
		"fails": func() error { return errors.New("broken") }, "panics": func() error { panic("on purpose") },
	} {
		f := &fake{credit: func(int) error { return nil }}
		sent := 0
		f.data = func(int) error {
			if sent++; sent == 3 {
				return fail()
			}
			return nil
		}
		told, err := converse(t, f, 3)
		if err == nil {
			t.Errorf("%s: the conversation ended well", name)
		}
		for _, text := range told {
			if strings.Contains(text, "aborted") || strings.Contains(text, "ended") {
				t.Errorf("%s: %q was told", name, text)
			}
		}
	}
}

// A client of the RFC has the bytes of a stream right after the message that names it.
func TestBareStreamsFollowTheirMessages(t *testing.T) {
	f := &fake{bare: true, data: func(int) error { return nil }}
	told, err := converse(t, f, 4)
	if err != nil || len(told) != 8 {
		t.Fatalf("%v, %q", err, told)
	}
	for i := range 4 {
		if message, named := told[2*i], fmt.Sprintf("%d has 8192", i+1); !strings.Contains(message, `"size":8192`) ||
			told[2*i+1] != named {
			t.Errorf("%d: %q, %q", i, message, told[2*i+1])
		}
	}
}

// Such a client can only see that a stream broke by the end of the connection.
func TestBareStreamThatBreaksEndsTheConnection(t *testing.T) {
	for name, fail := range map[string]func() error{
		"fails": func() error { return errors.New("broken") }, "panics": func() error { panic("on purpose") },
	} {
		f := &fake{bare: true, data: func(n int) error {
			if n == 2 {
				return fail()
			}
			return nil
		}}
		told, err := converse(t, f, 3)
		if err == nil || len(told) != 5 || told[4] != "failed" || !strings.HasPrefix(told[3], "2 has ") {
			t.Errorf("%s: %v, %q", name, err, told)
		}
	}
}

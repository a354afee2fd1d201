package checkout

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// built is the folder with the server, "" as long as no test needs it.
var built string

// program builds the server once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "repomcp-checkout-*")
	if err != nil {
		return "", err
	}
	built = dir
	binary := filepath.Join(dir, "repomcp")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "github.com/repomcp/repomcp/cmd/repomcp")
	out, err := build.CombinedOutput()
	_, _ = os.Stderr.Write(out)
	return binary, err
})

var listening = regexp.MustCompile(`listening on http://([^\s,]+),`)

// server is the real program behind a proxy that cuts connections.
type server struct {
	proxy string // URL
	to    string

	mu    sync.Mutex
	cuts  int // how many of the next connections
	after int // bytes of replies
	opens int // connections so far
	// stalled is closed when a connection has given all that it may, from where on it
	// stays and gives nothing; nil: it ends.
	stalled chan struct{}
	// paused has a connection wait where it has given all that it may, until it is closed.
	paused chan struct{}
	// old is replaced in requests by another text of the same length, unless it is "".
	old, other string
}

func serve(t *testing.T, root string) *server {
	t.Helper()
	gittest.Long(t)
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(binary, "serve", "--root", root, "--listen", "127.0.0.1:0", "--rescan", "100ms")
	stderr, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines, s := bufio.NewScanner(stderr), &server{}
	for s.to == "" && lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			s.to = match[1]
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.proxy = "http://" + listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { _, _ = io.Copy(io.Discard, stderr) })
	running.Go(func() { s.run(listener, &running) })
	t.Cleanup(func() {
		_ = listener.Close()
		_ = process.Process.Kill()
		running.Wait()
		_ = process.Wait()
	})
	return s
}

// cut has the next connections broken off after some bytes of replies.
func (s *server) cut(connections, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts, s.after = connections, after
}

// stall has the next connection stay after some bytes of replies, and tells when it
// does; less than none ends that.
func (s *server) stall(after int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled, s.cuts = nil, 0
	if after >= 0 {
		s.stalled, s.cuts, s.after = make(chan struct{}), 1, after
	}
	return s.stalled
}

// pause has the next connection wait after some bytes of replies, and tells when it does.
func (s *server) pause(after int) (reached <-chan struct{}, goOn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled, s.paused, s.cuts, s.after = make(chan struct{}), make(chan struct{}), 1, after
	return s.stalled, func() { close(s.paused) }
}

// replace has a text of requests replaced by one of the same length.
func (s *server) replace(old, other string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old, s.other = old, other
}

// Write gives a part of a request to the program. Requests are small: each comes in
// one part.
func (r request) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.old == "" {
		return r.to.Write(p)
	}
	return r.to.Write(bytes.ReplaceAll(p, []byte(r.old), []byte(r.other)))
}

// request is the way to the program.
type request struct {
	*server
	to io.Writer
}

// limit is for the next connection: the bytes that it gives.
func (s *server) limit() (bytes int64, stalled, paused chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens++
	if s.cuts == 0 {
		return 1 << 60, nil, nil
	}
	s.cuts--
	return int64(s.after), s.stalled, s.paused
}

func (s *server) run(listener net.Listener, running *sync.WaitGroup) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := net.DialTimeout("tcp", s.to, time.Second)
		if err != nil {
			_ = in.Close()
			continue
		}
		running.Go(func() {
			_, _ = io.Copy(request{s, out}, in)
			_ = out.Close()
		})
		running.Go(func() {
			limit, stalled, paused := s.limit()
			if n, _ := io.CopyN(in, out, limit); n == limit && stalled != nil {
				close(stalled)
				if paused == nil {
					_, _ = io.Copy(io.Discard, out) // until the client has gone
				} else {
					<-paused
					_, _ = io.Copy(in, out)
				}
			}
			_ = in.Close()
			_ = out.Close()
		})
	}
}

// serveProxy serves another proxy, and gives its URL.
func serveProxy(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	proxy := httptest.NewServer(handle)
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL
}

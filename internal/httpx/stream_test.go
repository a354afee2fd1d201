package httpx_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// bulk is more than the socket buffers of a loopback connection hold, so that
// a client that stops reading stops the server.
const bulk = 16 << 20

// bulky is a mirror whose archive begins with a small file, goes on with one that fills all buffers, and ends with a
// small one.
var bulky = mirrorOf(func() []gittest.File {
	return []gittest.File{gittest.Regular("a", "first\n"), gittest.Regular("large", gittest.Noise(bulk)),
		gittest.Regular("z", "last\n")}
})

// copyBulky is bulky for a target.
func copyBulky(t *testing.T) func(root string) { return func(root string) { bulky.copyTo(t, root) } }

const archiveURI = "repo://repo/archive/refs/heads/main.tar.gz"

func (s *site) archive() *http.Response {
	s.t.Helper()
	response := s.modern("resources/stream", map[string]any{"uri": archiveURI})
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/gzip" {
		s.t.Fatal(describe(response, text(s.t, response)))
	}
	return response
}

// begin reads the first part of a stream, which proves that it is running.
func begin(t *testing.T, response *http.Response) []byte {
	t.Helper()
	head := make([]byte, 64<<10)
	if _, err := io.ReadFull(response.Body, head); err != nil {
		t.Fatal(err)
	}
	return head
}

// tarOf unpacks a whole tar.gz.
func tarOf(t *testing.T, content io.Reader) []gittest.TarEntry {
	t.Helper()
	zr, err := gzip.NewReader(content)
	if err != nil {
		t.Fatal(err)
	}
	return gittest.ReadTar(t, zr)
}

func TestStreamIsTheArchiveOfGit(t *testing.T) {
	t.Parallel()
	s := serve(t)
	repo := s.repo("repo")
	commit := repo.Commit("main", gittest.Regular("a", "1"), gittest.Executable("b/run", "2"),
		gittest.Symlink("l", "a"))
	response := s.archive()
	got := tarOf(t, response.Body)
	if n := gittest.DiffTar(t, got, gittest.ReadTar(t, bytes.NewReader(repo.Archive("--format=tar", commit)))); n != 5 {
		t.Errorf("%d entries were compared, want 5", n)
	}
	for name, want := range map[string]string{"MCP-Resource-Uri": "repo://repo/archive/refs/heads/main.tar.gz",
		"Content-Location": "repo://repo/archive/" + commit + ".tar.gz"} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if got, want := response.Header.Get("Content-Disposition"), "attachment; filename=repo-main.tar.gz"; got != want {
		t.Errorf("Content-Disposition %q, want %q", got, want)
	}
}

func TestClientGoneMidStreamStopsTheWork(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	response := s.archive()
	begin(t, response)
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	s.log.Await(t, "outcome=aborted")
}

func TestClientThatStopsReadingDoesNotHoldShutdownForEver(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{build: copyBulky(t)})
	response, err := s.open(t.Context(), s.call(modernVersion, methodStream, map[string]any{"uri": archiveURI}))
	if err != nil {
		t.Fatal(err)
	}
	head := begin(t, response) // and reads no more
	drain, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.server.Shutdown(drain) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v, although a download was cut off", err)
		}
	case <-time.After(gittest.Patience):
		t.Fatal("Shutdown waits for a client that does not read")
	}
	rest, err := io.ReadAll(response.Body)
	if err == nil || len(head)+len(rest) >= bulk {
		t.Errorf("the download ended with %v after %d bytes, as if it were whole", err, len(head)+len(rest))
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestBlobMissingMidStreamAbortsAndIsNeverACleanEnd(t *testing.T) {
	t.Parallel()
	s, repo := serveCopy(t, bulky)
	id := repo.Git("rev-parse", "main:z")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	response := s.archive()
	content, err := io.ReadAll(response.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the body of %d bytes ended with %v, want an unexpected end", len(content), err)
	}
	if len(content) < bulk/2 {
		t.Errorf("only %d bytes came before the missing file", len(content))
	}
	s.log.Await(t, "a stream was aborted")
	// The next request is not harmed.
	if reply := text(t, s.modern("resources/read", map[string]any{"uri": "repo://repo/contents/a"})); !strings.Contains(
		reply, "first") {
		t.Errorf("the next request: %s", reply)
	}
}

func TestStreamReachesTheClientBeforeItIsWhole(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	response := s.archive()
	if response.ContentLength != -1 {
		t.Errorf("an archive of unknown size has Content-Length %d", response.ContentLength)
	}
	begin(t, response)
	if strings.Contains(s.log.String(), "outcome=done") {
		t.Error("the server had already written the whole archive")
	}
}

func TestSlowClientIsNotDropped(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	response := s.archive()
	total := int64(0)
	for range 20 {
		n, err := io.CopyN(io.Discard, response.Body, 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		total += n
		time.Sleep(5 * time.Millisecond)
	}
	rest, err := io.Copy(io.Discard, response.Body)
	if err != nil || total+rest < bulk {
		t.Errorf("%d bytes, %v", total+rest, err)
	}
}

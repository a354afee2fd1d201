package httpx_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

func TestAbortedDownloadHasNoDigestAndCanBeResumed(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/archive/repo/main.tar.gz", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	head := begin(t, response)
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	s.log.Await(t, "outcome=aborted")
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-", len(head)))
	request.Header.Set("If-Range", response.Header.Get("Etag"))
	rest, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rest.Body.Close() }()
	if rest.StatusCode != http.StatusPartialContent || rest.Header.Get("Content-Range") == "" {
		t.Fatal(describe(rest, ""))
	}
	tarOf(t, io.MultiReader(bytes.NewReader(head), rest.Body))
}

func TestDamageMidDownloadIsNeverACleanEnd(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, repo := serveCopy(t, bulky)
	id := repo.Git("rev-parse", "main:z")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Get(s.url + "/archive/repo/main.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(content) < bulk/2 || response.Trailer.Get("Repr-Digest") != "" {
		t.Errorf("%d bytes, %v, trailer %v", len(content), err, response.Trailer)
	}
	// A range has to be announced, which finds the damage in time.
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/archive/repo/main.tar.gz", nil)
	request.Header.Set("Range", "bytes=100-")
	broken, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if body := text(t, broken); broken.StatusCode != http.StatusInternalServerError ||
		!strings.Contains(body, "git fsck") {
		t.Error(describe(broken, body))
	}
}

// digestOf reads a Repr-Digest.
func digestOf(t *testing.T, value string) string {
	t.Helper()
	sum, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(value, "sha-256=:"), ":"))
	if err != nil || len(sum) != sha256.Size {
		t.Fatalf("Repr-Digest %q: %v", value, err)
	}
	return string(sum)
}

func TestDigestFollowsAndIsRemembered(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	path := "/archive/team/app/main.tar.gz"
	first, trailer := s.fetchTrailer(t, http.MethodGet, path)
	sum := sha256.Sum256(first.body)
	if first.header.Get("Content-Length") != "" || first.header.Get("Repr-Digest") != "" ||
		digestOf(t, trailer.Get("Repr-Digest")) != string(sum[:]) {
		t.Errorf("the first time: %v, trailer %v", first.header, trailer)
	}
	second, trailer := s.fetchTrailer(t, http.MethodGet, path)
	if digestOf(t, second.header.Get("Repr-Digest")) != string(sum[:]) ||
		second.header.Get("Content-Length") != strconv.Itoa(len(first.body)) || len(trailer) > 0 ||
		!bytes.Equal(first.body, second.body) {
		t.Errorf("the second time: %v, trailer %v", second.header, trailer)
	}
	part := s.get(t, path, "Range: bytes=3-9")
	if digestOf(t, part.header.Get("Repr-Digest")) != string(sum[:]) {
		t.Errorf("a part: %v", part.header)
	}
	// The length of a tar is known at once, its digest afterwards; it comes behind the
	// bytes for who would rather have that.
	for wanted, follows := range map[string]bool{"sha-256=10": true, "sha-512=3, sha-256": true, "sha-256=0": false} {
		path := "/archive/team/app/main.tar?prefix=" + strconv.Itoa(len(wanted)) + "/"
		got, trailer := s.fetchTrailer(t, http.MethodGet, path, "Want-Repr-Digest: "+wanted)
		sum := sha256.Sum256(got.body)
		if (got.header.Get("Content-Length") == "") != follows || (len(trailer) > 0) != follows ||
			follows && digestOf(t, trailer.Get("Repr-Digest")) != string(sum[:]) {
			t.Errorf("%s: %v, trailer %v", wanted, got.header, trailer)
		}
	}
	path = "/archive/team/app/main.tar"
	first, trailer = s.fetchTrailer(t, http.MethodGet, path)
	sum = sha256.Sum256(first.body)
	if first.header.Get("Content-Length") != strconv.Itoa(len(first.body)) || first.header.Get("Repr-Digest") != "" ||
		len(trailer) > 0 {
		t.Errorf("the first tar: %v, trailer %v", first.header, trailer)
	}
	if a := s.fetch(t, http.MethodHead, path); digestOf(t, a.header.Get("Repr-Digest")) != string(sum[:]) {
		t.Errorf("the second tar: %v", a.header)
	}
	// A file is compared with its id before the first byte, which tells its digest.
	for _, asked := range []string{"Accept: */*", "Range: bytes=1-2"} {
		a, trailer := s.fetchTrailer(t, http.MethodGet, "/raw/team/app/main/README.md", asked)
		sum = sha256.Sum256(s.get(t, "/raw/team/app/main/README.md").body)
		if digestOf(t, a.header.Get("Repr-Digest")) != string(sum[:]) || len(trailer) > 0 {
			t.Errorf("a file, %s: %v, trailer %v", asked, a.header, trailer)
		}
	}
}

func TestDigestFollowsAStream(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	response, err := s.open(t.Context(),
		s.call(modernVersion, methodStream, map[string]any{"uri": "repo://team/app/archive/main.tar.gz"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	sum := sha256.Sum256(content)
	if err != nil || digestOf(t, response.Trailer.Get("Repr-Digest")) != string(sum[:]) {
		t.Errorf("%d bytes, %v, trailer %v", len(content), err, response.Trailer)
	}
	// Another name of the same bytes.
	if a := s.fetch(t, http.MethodHead, "/archive/team/app/"+s.commit+
		".tgz"); a.header.Get("Content-Length") != strconv.Itoa(len(content)) {
		t.Errorf("the plain route afterwards: %v", a.header)
	}
}

func TestShutdownLetsDownloadsFinish(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, repo := serveCopy(t, bulky)
	want := gittest.ReadTar(t, bytes.NewReader(repo.Archive("--format=tar", "main")))
	plain, err := s.client.Get(s.url + "/archive/repo/main.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	stream := s.archive()
	heads := [][]byte{begin(t, plain), begin(t, stream)}
	ended := make(chan error, 1)
	go func() { ended <- s.server.Shutdown(t.Context()) }()
	for i, response := range []*http.Response{plain, stream} {
		gittest.DiffTar(t, tarOf(t, io.MultiReader(bytes.NewReader(heads[i]), response.Body)), want)
	}
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	s.log.Await(t, "path=/archive/repo/main.tar.gz status=200 outcome=done")
}

func TestDownloadThatNobodyReadsIsDropped(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	logged := make(lines, 1000)
	s := newTarget(t, targetOptions{
		http: httpx.Options{WriteTimeout: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(logged, nil))},
		build: func(root string) {
			gittest.At(t, filepath.Join(root, "big.git")).Commit("main", gittest.Regular("big", gittest.Noise(30<<20)))
		},
	})
	for _, path := range []string{"/raw/big/main/big", "/archive/big/main.tar.gz", "/archive/big/main.tar"} {
		conn := s.dialSmall(t)
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nRange: bytes=5-\r\n\r\n", path,
			s.host); err != nil {
			t.Fatal(err)
		}
		s.awaitLog(t, logged, path, "msg=request", "outcome=aborted")
	}
}

func TestClientGoneWhileItsRangeIsCountedStopsTheWork(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	count := func(ctx context.Context, query string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/archive/repo/main.tar.gz"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Range", "bytes=9999999-")
		response, err := s.client.Do(request)
		if err == nil {
			_ = response.Body.Close() // its first byte says that all was counted
		}
		return err
	}
	started := time.Now()
	if err := count(t.Context(), "?prefix=x/"); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(started)
	ctx, cancel := context.WithCancel(t.Context())
	// A request that was not sent is not handled, and not logged.
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { time.AfterFunc(whole/8, cancel) },
	})
	if err := count(traced, ""); !errors.Is(err, context.Canceled) {
		t.Fatalf("the client was faster: %v", err)
	}
	s.log.Await(t, `msg=request .* user_agent=\S+ request_id`) // without a query
	response, err := http.Head(s.url + "/archive/repo/main.tar.gz")
	if err != nil || response.ContentLength >= 0 {
		t.Errorf("the archive was generated to its end for nobody: %d bytes, %v", response.ContentLength, err)
	}
	if strings.Contains(s.log.String(), "level=ERROR") {
		t.Errorf("an operator has nothing to do about it: %s", s.log)
	}
}

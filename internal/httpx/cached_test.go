package httpx_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/cache/cachetest"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/logtest"
)

// newCache is a cache in a folder, over objects if there are any.
func newCache(t *testing.T, dir string, objects *cache.Objects) *cache.Cache {
	t.Helper()
	disk, err := cache.OpenDisk(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	c := cache.New(cache.Options{Disk: disk, Objects: objects})
	t.Cleanup(func() {
		c.Close()
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// settle waits until so many archives are kept: a file gets its name after the
// last byte was sent.
func settle(t *testing.T, c *cache.Cache, entries int64) {
	t.Helper()
	gittest.Await(t, fmt.Sprintf("%d archives are kept", entries), func() bool { return c.Stats().Entries >= entries })
}

// good200 gets a whole answer.
func (s *target) good200(t *testing.T, path string) answer {
	t.Helper()
	a := s.get(t, path)
	if a.status != http.StatusOK || a.err != nil {
		t.Fatalf("%s: %v", path, a)
	}
	return a
}

func wantWhole(t *testing.T, path string, a answer) {
	t.Helper()
	sum := sha256.Sum256(a.body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if a.header.Get("Content-Length") != strconv.Itoa(len(a.body)) || a.header.Get("Repr-Digest") != digest {
		t.Errorf("%s: %d bytes, and the headers %v", path, len(a.body), a.header)
	}
}

func TestConditionsAndHeadBuildNothing(t *testing.T) {
	t.Parallel()
	c := newCache(t, t.TempDir(), nil)
	s := mirrors(t, targetOptions{cache: c})
	path := "/archive/team/app/main.tar.gz"
	head := s.fetch(t, http.MethodHead, path)
	if head.status != http.StatusOK {
		t.Fatal(head)
	}
	for header, want := range map[string]int{"If-None-Match: " + head.header.Get("ETag"): http.StatusNotModified,
		`If-Match: "x"`: http.StatusPreconditionFailed} {
		if a := s.get(t, path, header); a.status != want {
			t.Errorf("%s: %v", header, a)
		}
	}
	if a := s.get(t, path, "Range: bytes=5-9"); a.status != http.StatusPartialContent || len(a.body) != 5 {
		t.Errorf("a range of what is not kept: %v", a)
	}
	if stats := c.Stats(); stats.Builds != 0 || stats.Entries != 0 {
		t.Errorf("%+v", stats)
	}
}

// shelf is object storage whose URLs a test can check.
type shelf struct{ *cachetest.Bucket }

func newShelf(base string) shelf { return shelf{&cachetest.Bucket{Base: base}} }

func (b shelf) objects(public cache.Bucket) *cache.Objects {
	return cache.NewObjects(b.Bucket, public)
}

// filled has the archive of a path in object storage, and gives its bytes.
func (b shelf) filled(t *testing.T, options targetOptions, path string) (*tricky, []byte) {
	t.Helper()
	c := newCache(t, t.TempDir(), b.objects(nil))
	options.cache = c
	s := mirrors(t, options)
	body := s.good200(t, path).body
	gittest.Await(t, "an archive is uploaded", func() bool { return c.Stats().Uploads > 0 })
	return s, body
}

// elsewhere is another server over the same repositories, with a disk of its
// own, whose client follows no redirect.
func (s *tricky) elsewhere(t *testing.T, options targetOptions, objects *cache.Objects) *target {
	t.Helper()
	options.cache = newCache(t, t.TempDir(), objects)
	other := &target{root: s.root, sessions: map[string]string{}}
	other.serve(t, options)
	other.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return other
}

// follow checks a redirect and gives the bytes that it leads to.
func (b shelf) follow(t *testing.T, a answer) []byte {
	t.Helper()
	if a.status != http.StatusFound || len(a.body) != 0 {
		t.Fatalf("no redirect: %v", a)
	}
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "ETag": "",
		"Repr-Digest": "", "Last-Modified": "", "Trailer": "", "Accept-Ranges": ""} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if !strings.HasPrefix(a.header.Get("Mcp-Resource-Uri"), "repo://team/app/archive/") {
		t.Errorf("the headers are %v", a.header)
	}
	key, err := b.Signed(a.header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := b.Object(key)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func TestWholeObjectsAreRedirectedTo(t *testing.T) {
	t.Parallel()
	b := newShelf("https://files.example/")
	path := "/archive/team/app/main.tar.gz"
	s, want := b.filled(t, targetOptions{}, path)
	log := &logtest.Log{}
	options := targetOptions{
		http: httpx.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}}
	other := s.elsewhere(t, options, b.objects(b.Bucket))
	first := other.get(t, path)
	if got := b.follow(t, first); !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d", len(got), len(want))
	}
	log.Await(t, "status=302")
	if location := first.header.Get("Location"); strings.Contains(log.String(), "signature") ||
		strings.Contains(log.String(), location) {
		t.Errorf("the log has the address: %s", log.String())
	}
	call := other.call(modernVersion, methodStream, map[string]any{"uri": "repo://team/app/archive/main.tar.gz"})
	call.header.Set("Accept", "*/*")
	if got := b.follow(t, other.do(t, call)); !bytes.Equal(got, want) {
		t.Errorf("resources/stream: %d bytes of %d", len(got), len(want))
	}
	call.meta()[metaCapabilities] = map[string]any{"resourceStreaming": map[string]any{"maxStreamSize": len(want) - 1}}
	if a := other.do(t, call); a.reason != "too_large" || a.header.Get("Location") != "" {
		t.Errorf("too large: %v", a)
	}
	if a := other.get(t, path, "If-None-Match: "+
		other.fetch(t, http.MethodHead, path).header.Get("ETag")); a.status != http.StatusNotModified {
		t.Errorf("304: %v", a)
	}
	if a := other.get(t, path, "Range: bytes=10-99"); a.status != http.StatusPartialContent ||
		!bytes.Equal(a.body, want[10:100]) {
		t.Errorf("a range: %v", a)
	}
	if a := other.fetch(t, http.MethodHead, path); a.status != http.StatusOK ||
		a.header.Get("Content-Length") != strconv.Itoa(len(want)) {
		t.Errorf("HEAD: %v %v", a, a.header)
	}
}

func TestWhoCannotFollowGetsTheBytes(t *testing.T) {
	t.Parallel()
	b := newShelf("https://files.example/")
	plain := newShelf("http://files.example/") // no TLS
	path := "/archive/team/app/main.tar.gz"
	s, want := b.filled(t, targetOptions{}, path)
	for name, public := range map[string]cache.Bucket{"no public address": nil, "an insecure one": plain.Bucket} {
		other := s.elsewhere(t, targetOptions{}, b.objects(public))
		a := other.good200(t, path)
		if !bytes.Equal(a.body, want) {
			t.Errorf("%s: %d bytes", name, len(a.body))
		}
		wantWhole(t, name, a)
	}
	other := s.elsewhere(t, targetOptions{}, b.objects(b.Bucket))
	reply := other.dial(t, "GET "+path+" HTTP/1.0\r\nHost: "+other.host+"\r\n\r\n")
	if line, err := reply.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Errorf("HTTP/1.0: %q and %v", line, err)
	}
}

// What object storage gives away for a minute is not good for one download, and
// cannot be resumed after it: only links for more uses lead there.
func TestSingleUseLinksAreNotRedirected(t *testing.T) {
	t.Parallel()
	b := newShelf("https://files.example/")
	s, want := b.filled(t, targetOptions{}, "/archive/team/app/main.tar.gz")
	other := s.elsewhere(t, targetOptions{links: newLinks(t).linking(t)}, b.objects(b.Bucket))
	uri := "repo://team/app/archive/main.tar.gz"
	path := at(t, other.downloadURL(t, modernVersion, uri))
	first := other.get(t, path)
	if first.status != http.StatusOK || !bytes.Equal(first.body, want) {
		t.Fatalf("%v, %d bytes of %d", first, len(first.body), len(want))
	}
	if rest := other.get(t, path, "Range: bytes=100-", "If-Range: "+
		first.header.Get("ETag")); rest.status != http.StatusPartialContent || !bytes.Equal(rest.body, want[100:]) {
		t.Errorf("resumed: %v", rest)
	}
	if a := other.get(t, path); a.status != http.StatusNotFound || a.header.Get("Location") != "" {
		t.Errorf("a second use: %v", a)
	}
	// What went through the server is on its disk now; another one has nothing.
	other = s.elsewhere(t, targetOptions{links: newLinks(t).linking(t)}, b.objects(b.Bucket))
	_, lasting := other.readLinked(t, modernVersion, uri)
	for range 2 {
		if got := b.follow(t, other.get(t, strings.TrimPrefix(lasting, other.url))); !bytes.Equal(got, want) {
			t.Errorf("httpUrl: %d bytes of %d", len(got), len(want))
		}
	}
	// Who asks for the bytes themselves is not sent elsewhere.
	ask := other.call(modernVersion, methodStream, map[string]any{"uri": uri})
	ask.header.Set("Accept", "*/*")
	redirected := other.do(t, ask)
	if got := b.follow(t, redirected); !bytes.Equal(got, want) || redirected.header.Get("Mcp-Resource-Uri") != uri {
		t.Errorf("resources/stream: %v %v", redirected, redirected.header)
	}
	ask.meta()["io.github.repomcp/delivery"] = "direct"
	if a := other.do(t, ask); a.status != http.StatusOK || !bytes.Equal(a.body, want) {
		t.Errorf("direct: %v", a)
	}
	if a := other.do(t, other.call(modernVersion, "server/discover", nil)); !strings.Contains(string(a.body),
		`"modes":["direct","redirect","downloadUrl"]`) {
		t.Errorf("modes: %v", a)
	}
}

package httpx_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestReplicaThatLagsAsksForPatience(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	build := func(content string) func(string) {
		return func(root string) {
			gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("a", content))
		}
	}
	s := newTarget(t, targetOptions{links: l.linking(t), build: build("new")})
	behind := newTarget(t, targetOptions{links: l.linking(t), build: build("old")})
	link := at(t, s.downloadURL(t, modernVersion, "repo://repo/archive/main.tar.gz"))
	if a := behind.get(t, link); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("a replica without the commit: %v", a)
	}
	if a := s.get(t, link); a.status != http.StatusOK {
		t.Errorf("the link was used by the attempt: %v", a)
	}
}

// lagging are two replicas with one bucket, the second of which has not got the
// newest commit of the first yet.
func lagging(t *testing.T, l *withLinks, public func(shelf) cache.Bucket) (s, behind *target, repo *gittest.Repo,
	b shelf) {
	t.Helper()
	b = newShelf("https://files.example/")
	first := newCache(t, t.TempDir(), b.objects(nil))
	s = newTarget(t, targetOptions{links: l.linking(t), cache: first, build: func(root string) {
		repo = gittest.At(t, filepath.Join(root, "team/app.git"))
		repo.Commit("main", gittest.Regular("a", "old"))
	}})
	behind = &target{root: filepath.Join(t.TempDir(), "behind"), sessions: map[string]string{}}
	gittest.At(t, filepath.Join(behind.root, "team/app.git")).Commit("main", gittest.Regular("a", "old"))
	behind.serve(t, targetOptions{links: l.linking(t), cache: newCache(t, t.TempDir(), b.objects(public(b)))})
	behind.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	repo.Commit("main", gittest.Regular("a", gittest.Noise(300_000)))
	s.good200(t, "/archive/team/app/main.tar.gz")
	gittest.Await(t, "an archive is uploaded", func() bool { return first.Stats().Uploads > 0 })
	return s, behind, repo, b
}

func itself(b shelf) cache.Bucket { return b.Bucket }

func nowhere(shelf) cache.Bucket { return nil }

func TestReplicaThatLagsAnswersFromTheBucket(t *testing.T) {
	t.Parallel()
	for name, public := range map[string]func(shelf) cache.Bucket{"a public bucket": itself, "a private one": nowhere} {
		l := newLinks(t)
		s, behind, repo, _ := lagging(t, l, public)
		want := s.good200(t, "/archive/team/app/main.tar.gz").body
		link := at(t, s.downloadURL(t, modernVersion, "repo://team/app/archive/main.tar.gz"))
		head := behind.fetch(t, http.MethodHead, link)
		if head.status != http.StatusOK || head.header.Get("Content-Length") != strconv.Itoa(len(want)) {
			t.Errorf("%s, HEAD: %v %v", name, head, head.header)
		}
		if a := behind.get(t, link, "If-None-Match: "+head.header.Get("ETag")); a.status != http.StatusNotModified {
			t.Errorf("%s, a condition: %v", name, a)
		}
		a := behind.get(t, link)
		if a.status != http.StatusOK || !bytes.Equal(a.body, want) {
			t.Errorf("%s: %v, %d bytes of %d", name, a, len(a.body), len(want))
		}
		if a := behind.get(t, link); a.status != http.StatusNotFound {
			t.Errorf("%s, a second use: %v", name, a)
		}
		// A part, and going on with it.
		link = at(t, s.downloadURL(t, modernVersion, "repo://team/app/archive/main.tar.gz"))
		part := behind.get(t, link, "Range: bytes=0-99")
		rest := behind.get(t, link, "Range: bytes=100-", "If-Range: "+part.header.Get("ETag"))
		if part.status != http.StatusPartialContent || rest.status != http.StatusPartialContent ||
			!bytes.Equal(append(part.body, rest.body...), want) {
			t.Errorf("%s, parts: %v, %v", name, part, rest)
		}
		// What is in no bucket is waited for, and nobody gets anything without a link.
		for _, uri := range []string{"repo://team/app/archive/main.zip",
			"repo://team/app/archive/main.tar.gz?lfs=content", "repo://team/app/refs/heads/main/contents/a"} {
			if a := behind.get(t,
				at(t, s.downloadURL(t, modernVersion, uri))); a.status != http.StatusServiceUnavailable ||
				a.header.Get("Retry-After") == "" {
				t.Errorf("%s, %s: %v", name, uri, a)
			}
		}
		if a := behind.get(t, "/archive/team/app/"+repo.Git("rev-parse", "main")+
			".tar.gz"); a.status != http.StatusNotFound {
			t.Errorf("%s, without a link: %v", name, a)
		}
	}
}

// What a mirror has and no ref leads to was taken back: the bucket must not give
// it away. A link to it is as if the commit were still to come.
func TestBucketDoesNotOutliveARef(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s, _, repo, b := lagging(t, l, itself)
	link := at(t, s.downloadURL(t, modernVersion, "repo://team/app/archive/main.tar.gz"))
	repo.Git("update-ref", "refs/heads/main", "main^")
	later := &target{root: s.root, sessions: map[string]string{}}
	later.serve(t, targetOptions{links: l.linking(t), cache: newCache(t, t.TempDir(), b.objects(b.Bucket))})
	if a := later.get(t, link); a.status != http.StatusServiceUnavailable || a.header.Get("Location") != "" {
		t.Error(a)
	}
}

// Where the kept bytes turn out to be damaged and nothing can make them anew,
// the download breaks.
func TestReplicaThatLagsGivesNoWrongByte(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s, behind, _, b := lagging(t, l, nowhere)
	altered := 0
	for _, name := range b.Names() {
		if strings.HasSuffix(name, ".seal") {
			continue
		}
		content, err := b.Object(name)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)-1] ^= 1
		b.Put(name, content)
		altered++
	}
	if altered != 1 {
		t.Fatalf("%d objects", altered)
	}
	a := behind.get(t, at(t, s.downloadURL(t, modernVersion, "repo://team/app/archive/main.tar.gz")))
	if a.status != http.StatusOK || a.err == nil {
		t.Errorf("a damaged object: %v", a)
	}
}

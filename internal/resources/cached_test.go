package resources

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
)

// caching is a server with a cache over one repository.
func caching(t *testing.T) (*Service, *cache.Cache, *gittest.Repo) {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("a", gittest.Noise(300_000)))
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	disk, err := cache.OpenDisk(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	c := cache.New(cache.Options{Disk: disk})
	t.Cleanup(func() {
		c.Close()
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
		engine.Close()
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(Options{Catalogue: catalogue, Engine: engine, Cache: c}), c, repo
}

// What a request has open it can send, even if it cannot be opened again.
func TestArchiveThatCannotBeOpenedAgain(t *testing.T) {
	s, c, repo := caching(t)
	want := repo.Archive("--format=tar", "main")
	found := mustFind(t, s, "repo://repo/archive/main.tar")
	repo.Git("update-ref", "-d", "refs/heads/main")
	var out bytes.Buffer
	if _, err := write(t, found, Want{}, &out); err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%d bytes of %d and %v", out.Len(), len(want), err)
	}
	if stats := c.Stats(); stats.Failures != 1 || stats.Entries != 0 {
		t.Errorf("%+v", stats)
	}
}

// mustFind finds what has to be there, until the test ends.
func mustFind(t *testing.T, s *Service, uri string) *Found {
	t.Helper()
	found, err := s.Find(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := found.Close(); err != nil {
			t.Error(err)
		}
	})
	return found
}

// The request that a build was begun for may end first.
func TestBuildOutlivesItsRequest(t *testing.T) {
	s, c, _ := caching(t)
	open := func() *Body {
		body, err := mustFind(t, s, "repo://repo/archive/main.tar.gz").Open(t.Context(), Want{Method: Get})
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	first, second := open(), open()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := second.WriteTo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if second.Size != int64(out.Len()) || second.Digest == nil {
		t.Errorf("%d bytes, size %d", out.Len(), second.Size)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if c.Stats().Builds != 1 {
		t.Errorf("%+v", c.Stats())
	}
}

// Bytes that are not those made before are never passed on unnoticed.
func TestCacheMustAgreeWithWhatIsRemembered(t *testing.T) {
	s, _, _ := caching(t)
	found := mustFind(t, s, "repo://repo/archive/main.tar.gz")
	first, err := write(t, found, Want{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.archives.put(found.ETag, facts{size: first.Size, digest: bytes.Repeat([]byte{1}, len(first.Digest))})
	if _, err := write(t, found, Want{}, io.Discard); err == nil {
		t.Error("another digest goes unnoticed")
	}
}

// What asks for no bytes starts nothing, and neither does what has no cache.
func TestALookBuildsNothing(t *testing.T) {
	s, c, _ := caching(t)
	for _, uri := range []string{"repo://repo/archive/main.tar.zst", "repo://repo/contents/a", "repo://repo/refs"} {
		for _, method := range []Method{Look, Head} {
			look, err := mustFind(t, s, uri).Open(t.Context(), Want{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if url, ok := look.Redirect(t.Context()); ok {
				t.Errorf("%s redirects to %s", uri, url)
			}
			if err := look.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if stats := c.Stats(); stats.Builds+stats.Hits != 0 {
		t.Errorf("%+v", stats)
	}
}

package resources

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// newCache is a cache in a folder, over objects unless they are nil.
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

// caching is a service with a cache over the mirror "repo".
func caching(t *testing.T) (s *Service, c *cache.Cache, root string, repo *gittest.Repo) {
	t.Helper()
	root, repo = newRepo(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(300_000)))
	c = newCache(t, t.TempDir(), nil)
	s = newService(t, root, Options{Cache: c})
	return s, c, root, repo
}

// settle waits until so many archives are kept: a file gets its name after its last byte was sent.
func settle(t *testing.T, c *cache.Cache, entries int) {
	t.Helper()
	gittest.Await(t, fmt.Sprintf("%d archives are kept", entries), func() bool { return c.Stats().Entries >= int64(entries) })
}

// What a request has open it can send, even if it cannot be opened again.
func TestArchiveThatCannotBeOpenedAgain(t *testing.T) {
	t.Parallel()
	s, c, _, repo := caching(t)
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

// The request that a build was begun for may end first.
func TestBuildOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	s, c, _, _ := caching(t)
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
	t.Parallel()
	s, _, _, _ := caching(t)
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
	t.Parallel()
	s, c, _, _ := caching(t)
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

func TestSecondDownloadComesFromTheCache(t *testing.T) {
	t.Parallel()
	s, c, root, _ := caching(t)
	without := newService(t, root, Options{})
	contents := make(map[string][]byte)
	for i, format := range archive.Formats() {
		uri := "repo://repo/archive/main." + string(format) + "?prefix=p/"
		found, other := mustFind(t, s, uri), mustFind(t, without, uri)
		contents[uri] = contentOf(t, found)
		if !bytes.Equal(contentOf(t, other), contents[uri]) || other.ETag != found.ETag {
			t.Errorf("%s: other bytes than without a cache", uri)
		}
		settle(t, c, i+1)
	}
	builds := c.Stats().Builds
	if builds != int64(len(contents)) {
		t.Fatalf("%d builds of %d archives", builds, len(contents))
	}
	again := newService(t, root, Options{Cache: c}) // remembers nothing, as after a restart
	for uri, want := range contents {
		found := mustFind(t, again, uri)
		head, err := found.Open(t.Context(), Want{Method: Head})
		if err != nil || head.Size != int64(len(want)) || head.Digest == nil && head.entry != nil {
			t.Errorf("a look at %s: %+v, %v, want %d bytes", uri, head, err, len(want))
		}
		var out bytes.Buffer
		body, err := write(t, found, Want{}, &out)
		sum := sha256.Sum256(want)
		if err != nil || !bytes.Equal(out.Bytes(), want) || !bytes.Equal(body.Digest, sum[:]) {
			t.Errorf("%s: %d bytes of %d, %v", uri, out.Len(), len(want), err)
		}
		if err := head.Close(); err != nil {
			t.Error(err)
		}
	}
	if stats := c.Stats(); stats.Builds != builds || stats.Hits < int64(len(contents)) ||
		stats.DiskFaults+stats.Failures+stats.Lost != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestRangesOfTheCacheAreThoseOfTheArchive(t *testing.T) {
	t.Parallel()
	s, c, _, _ := caching(t)
	cases := 0
	for i, format := range []string{"tar", "tar.gz", "zip"} {
		found := mustFind(t, s, "repo://repo/archive/main."+format)
		if part, err := bytesOf(t, found, Want{Range: newRange(5, 5)}); err != nil || len(part) != 5 ||
			c.Stats().Builds != int64(i) {
			t.Errorf("%s, a range of what is not kept: %d bytes, %v, %+v", format, len(part), err, c.Stats())
		}
		whole := contentOf(t, found)
		settle(t, c, i+1)
		n := int64(len(whole))
		for _, at := range [][2]int64{{0, 1}, {0, n}, {1, n - 1}, {131071, 2}, {131072, 131072}, {n / 3, n / 3},
			{n - 1, 1}, {n - 7, 7}} {
			part, err := bytesOf(t, found, Want{Range: newRange(at[0], at[1])})
			if err != nil || !bytes.Equal(part, whole[at[0]:at[0]+at[1]]) {
				t.Errorf("%s %v: %d bytes, %v", format, at, len(part), err)
			}
			cases++
		}
		beyond := (*RangeError)(nil)
		if _, err := bytesOf(t, found, Want{Range: newRange(n, -1)}); !errors.As(err, &beyond) || beyond.Size != n {
			t.Errorf("%s beyond its end: %v", format, err)
		}
	}
	if stats := c.Stats(); stats.Builds != 3 || stats.Hits < int64(cases) {
		t.Errorf("%d ranges, %+v", cases, stats)
	}
}

func TestManyDownloadsBuildOnce(t *testing.T) {
	t.Parallel()
	s, c, _, repo := caching(t)
	contents := make([][]byte, 50)
	var all sync.WaitGroup
	for i := range contents {
		all.Go(func() {
			uri := "repo://repo/archive/main.tar.zst"
			if i%2 == 0 {
				uri = "repo://repo/archive/" + repo.Git("rev-parse", "main") + ".tar.zst"
			}
			found, err := s.Find(t.Context(), uri)
			if err != nil {
				t.Error(err)
				return
			}
			closeAfter(t, found)
			if contents[i], err = bytesOf(t, found, Want{}); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for i, content := range contents {
		if len(content) == 0 || !bytes.Equal(content, contents[0]) {
			t.Errorf("client %d got %d bytes, the first one %d", i, len(content), len(contents[0]))
		}
	}
	if stats := c.Stats(); stats.Builds != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestAlteredCacheGivesNoWrongByte(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(300_000)))
	want := repo.Archive("--format=tar", "main")
	// Each case has a folder of its own: a process that another test starts may hold the lock of a closed one.
	one := func(t *testing.T, dir string, damaged int64) {
		c := newCache(t, dir, nil)
		s := newService(t, root, Options{Cache: c})
		if got := contentOf(t, mustFind(t, s, "repo://repo/archive/main.tar")); !bytes.Equal(got, want) {
			t.Errorf("%d bytes that are others", len(got))
		}
		if stats := c.Stats(); stats.Damaged != damaged || stats.Builds != 1 {
			t.Errorf("%+v", stats)
		}
	}
	dir := t.TempDir()
	t.Run("built", func(t *testing.T) { one(t, dir, 0) }) // it ends when the cache is closed, and the archive is kept
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for at := 1; at < len(want); at += 40_000 {
		t.Run(fmt.Sprint("byte ", at), func(t *testing.T) {
			dir, altered := t.TempDir(), bytes.Clone(raw)
			altered[at] ^= 1
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(files[0])), altered, 0o600); err != nil {
				t.Fatal(err)
			}
			one(t, dir, 1)
		})
		cases++
	}
	if cases < 5 {
		t.Errorf("%d cases", cases)
	}
}

func TestWeakArchivesAreNotKept(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular(".gitattributes", "v export-subst"), gittest.Regular("v", "$Format:%d$"))
	c := newCache(t, t.TempDir(), nil)
	s := newService(t, root, Options{Cache: c})
	for range 2 {
		found := mustFind(t, s, "repo://repo/archive/main.tar")
		if contentOf(t, found); !found.Weak {
			t.Errorf("%+v is not weak", found)
		}
	}
	if stats := c.Stats(); stats.Builds+stats.Hits+stats.Entries != 0 {
		t.Errorf("%+v", stats)
	}
}

// A kept archive gives no access, and does not go around limits.
func TestCacheGivesNoAccess(t *testing.T) {
	t.Parallel()
	s, c, root, repo := caching(t)
	secret := repo.Commit("secret", gittest.Regular("password", gittest.Noise(100_000)))
	uri := "repo://repo/archive/" + secret + ".tar"
	size := int64(len(contentOf(t, mustFind(t, s, uri))))
	settle(t, c, 1)
	for name, limits := range map[string]archive.Limits{"file": {BlobBytes: 1000}, "bytes": {Bytes: 50_000}} {
		narrow := newService(t, root, Options{Cache: c, ArchiveLimits: limits})
		if failure := refusal(t, narrow, uri, Want{Method: Get}); failure == nil || failure.Reason != ReasonTooLarge {
			t.Errorf("limit of %s: %v, want %s", name, failure, ReasonTooLarge)
		}
	}
	// This limit is only met while the archive is written.
	narrow := newService(t, root, Options{Cache: c, ArchiveLimits: archive.Limits{Bytes: size - 1}})
	if _, err := bytesOf(t, mustFind(t, narrow, uri), Want{}); !errors.Is(err, archive.ErrLimit) {
		t.Errorf("limit of one byte less: %v, want %v", err, archive.ErrLimit)
	}
	repo.Git("update-ref", "-d", "refs/heads/secret")
	for name, later := range map[string]*Service{"this server": s, "another one": newService(t, root, Options{Cache: c})} {
		if found, err := later.Find(t.Context(), uri); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("a commit that no ref leads to: %s finds %+v, %v", name, found, err)
		}
	}
}

func TestClosedCacheIsBusy(t *testing.T) {
	t.Parallel()
	s, c, _, _ := caching(t)
	c.Close()
	if failure := refusal(t, s, "repo://repo/archive/main.tar.gz", Want{Method: Get}); failure == nil ||
		failure.Reason != ReasonBusy {
		t.Errorf("an archive: %v, want %s", failure, ReasonBusy)
	}
	contentOf(t, mustFind(t, s, "repo://repo/contents/a"))
}

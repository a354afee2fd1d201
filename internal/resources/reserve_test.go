package resources

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// limited is a service with limits over the repository "repo".
func limited(t *testing.T, archives *cache.Cache) (*Service, *limits.Limiter, *gittest.Repo) {
	t.Helper()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a.txt", "text\n"), gittest.Regular("noise", gittest.Noise(4<<20)))
	l := limits.New(limits.Options{Memory: 64 << 20, Patience: 1, Share: 100})
	return newService(t, root, Options{Limits: l, Cache: archives}), l, repo
}

// fill reserves all that there is, until the function that it returns is called.
func fill(t *testing.T, l *limits.Limiter) (empty func()) {
	t.Helper()
	stream, err := l.Stream(t.Context(), "", 1<<40)
	call, callErr := l.Call(t.Context(), "", 1<<40)
	if err = errors.Join(err, callErr); err != nil {
		t.Fatal(err)
	}
	return func() {
		stream.Release()
		call.Release()
	}
}

// reserved returns the memory of all gates.
func reserved(l *limits.Limiter) (memory int64) {
	for _, state := range l.States() {
		memory += state.Memory
	}
	return memory
}

// TestEveryReadIsReserved asks a full server for what has to be read or made.
func TestEveryReadIsReserved(t *testing.T) {
	t.Parallel()
	s, l, _ := limited(t, nil)
	const file, packed = "repo://repo/contents/noise", "repo://repo/archive/main.tar.gz"
	wants := []struct {
		what, uri string
		want      Want
	}{
		{"a look at a file", file, Want{}}, {"HEAD of a file", file, Want{Method: Head}},
		{"a file", file, Want{Method: Get}}, {"a part of a file", file, Want{Method: Get, Range: newRange(5, 9)}},
		{"a file for a reply", file, Want{Method: Get, Reply: true, Limit: 8 << 20}},
		{"the digest of an archive", packed, Want{Method: Head, Digest: true}}, {"an archive", packed, Want{Method: Get}},
		{"a part of an archive", packed, Want{Method: Get, Range: newRange(5, 9)}},
		{"an archive for a reply", packed, Want{Method: Get, Reply: true, Limit: 8 << 20}},
		{"a checksum", packed + ".sha256", Want{Method: Get}},
	}
	empty := fill(t, l)
	for _, test := range wants {
		if _, err := mustFind(t, s, test.uri).Open(t.Context(), test.want); limits.RefusalOf(err) == nil {
			t.Errorf("%s from a full server: %v, want a refusal", test.what, err)
		}
	}
	for _, uri := range []string{packed, "repo://repo/archive/main.tar", packed + ".sha256", "repo://repo/refs"} {
		if _, err := mustFind(t, s, uri).Open(t.Context(), Want{Method: Head}); err != nil {
			t.Errorf("HEAD of %s, for which no file is read: %v", uri, err)
		}
	}
	empty()
	for _, test := range wants {
		body, err := mustFind(t, s, test.uri).Open(t.Context(), test.want)
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := reserved(l); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

// TestWhatIsKnownIsNotRead removes a file's object after a first look. Its bytes are
// then refused, before the first of them.
func TestWhatIsKnownIsNotRead(t *testing.T) {
	t.Parallel()
	s, l, repo := limited(t, nil)
	const uri = "repo://repo/contents/a.txt"
	first, err := mustFind(t, s, uri).Open(t.Context(), Want{Method: Head})
	if err != nil || first.Size != 5 || first.Digest == nil || first.MIMEType != mimeText {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	id := repo.Git("rev-parse", "main:a.txt")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	empty := fill(t, l)
	for _, method := range []Method{Look, Head} {
		again, err := mustFind(t, s, uri).Open(t.Context(), Want{Method: method})
		if err != nil || again.Size != 5 || !bytes.Equal(again.Digest, first.Digest) || again.MIMEType != mimeText {
			t.Errorf("%q of what is known: %+v, %v", method, again, err)
		}
	}
	empty()
	if _, err := mustFind(t, s, uri).Open(t.Context(), Want{Method: Get}); !errors.Is(err, git.ErrCorrupt) {
		t.Errorf("a file that is not there: %v", err)
	}
	if n := reserved(l); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

// TestAFileCostsWhatItHolds opens a large file that is stored as a delta, whose bytes
// are not in memory: what was reserved to open it is given back.
func TestAFileCostsWhatItHolds(t *testing.T) {
	t.Parallel()
	s, l, repo := limited(t, nil)
	commits := []string{repo.Git("rev-parse", "main")}
	commits = append(commits, repo.Commit("main", gittest.Regular("noise", gittest.Noise(4<<20)+"longer")))
	repo.Git("repack", "-adfq")
	for _, commit := range commits {
		uri := "repo://repo/sha/" + commit + "/contents/noise"
		body, err := mustFind(t, s, uri).Open(t.Context(), Want{Method: Get})
		if err != nil {
			t.Fatal(err)
		}
		held := body.blob.Held()
		if n := reserved(l); n != copyMemory+held || held >= openMemory {
			t.Errorf("%s: %d bytes are reserved for a file that holds %d", uri, n, held)
		}
		var out bytes.Buffer
		if err := body.WriteTo(t.Context(), &out); err != nil || int64(out.Len()) != body.Size {
			t.Errorf("%s: %d bytes of %d, %v", uri, out.Len(), body.Size, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := reserved(l); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

// TestABuildIsReservedWhicheverRequestBeginsIt has two requests for an archive that is
// larger than the window of the cache: the second joins the build of the first, and one
// reservation lasts as long as that.
func TestABuildIsReservedWhicheverRequestBeginsIt(t *testing.T) {
	t.Parallel()
	archives := cache.New(cache.Options{})
	s, l, _ := limited(t, archives)
	var bodies []*Body
	for range 2 {
		body, err := mustFind(t, s, "repo://repo/archive/main.tar").Open(t.Context(), Want{Method: Get})
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
		if n, want := reserved(l), archive.Tar.Memory(); n != want {
			t.Errorf("%d bytes are reserved for one build, want %d", n, want)
		}
	}
	// The first goes on without the second, which begins a build of its own when it is
	// read: see TestEachBuildHasAReservation of the cache.
	if err := bodies[0].WriteTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	gittest.Await(t, "the end of the first build", func() bool { return reserved(l) == 0 })
	empty := fill(t, l)
	if err := bodies[1].WriteTo(t.Context(), io.Discard); limits.RefusalOf(err) == nil {
		t.Errorf("a second build on a full server: %v, want a refusal", err)
	}
	empty()
	for _, body := range bodies {
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	archives.Close()
	if n := reserved(l); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

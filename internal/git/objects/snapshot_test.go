package objects

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestObjectsAreWhatGitSays(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	layouts := []struct {
		name string
		pack func(*gittest.Repo)
	}{
		{"loose", func(*gittest.Repo) {}},
		{"one pack, ofs-deltas", func(r *gittest.Repo) { r.Git("repack", "-adfq", "--depth=50", "--window=50") }},
		{"one pack, ref-deltas", func(r *gittest.Repo) {
			r.Git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50", "--window=50")
		}},
		{"index version 1", func(r *gittest.Repo) { r.Git("-c", "pack.indexVersion=1", "repack", "-adfq") }},
		{"reverse index", func(r *gittest.Repo) { r.Git("-c", "pack.writeReverseIndex=true", "repack", "-adfq") }},
		{"bitmap", func(r *gittest.Repo) { r.Git("repack", "-adbfq") }},
		{"no compression", func(r *gittest.Repo) { r.Git("-c", "core.compression=0", "repack", "-adFq") }},
		{"best compression", func(r *gittest.Repo) { r.Git("-c", "core.compression=9", "repack", "-adFq") }},
		{"several packs", severalPacks},
		{"several packs and loose",
			func(r *gittest.Repo) { severalPacks(r); r.Commit("late", gittest.Regular("late", "late")) }},
		{"multi-pack-index", func(r *gittest.Repo) { severalPacks(r); r.Git("multi-pack-index", "write") }},
		{"everything twice", func(r *gittest.Repo) {
			r.Git("repack", "-aq")
			r.Git("-c", "pack.depth=1", "repack",
				"-afq")
		}},
	}
	for _, layout := range layouts {
		t.Run(layout.name, func(t *testing.T) {
			t.Parallel()
			repo := gittest.New(t)
			history(repo, 12)
			repo.Git("tag", "-a", "-m", "a tag", "v1")
			layout.pack(repo)
			compare(t, snapshot(t, newStore(t, nil, repo), repo), facts(t, repo))
		})
	}
}

func severalPacks(r *gittest.Repo) {
	for i := range 6 {
		r.Commit("branch-"+strconv.Itoa(i), gittest.Regular("changing.txt", gittest.Lines(1, 400+i)),
			gittest.Regular("x", strconv.Itoa(i)))
		r.Git("repack", "-dq")
	}
}

// BenchmarkOpenUnchanged is what each request pays before it reads anything.
func BenchmarkOpenUnchanged(b *testing.B) {
	repo := gittest.New(b)
	history(repo, 2)
	repo.Git("repack", "-adq")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(repo.Dir, "objects", "pack"), past, past); err != nil {
		b.Fatal(err)
	}
	s := newStore(b, nil, repo)
	for b.Loop() {
		snap, err := openSnapshot(s, "repo.git")
		if err != nil {
			b.Fatal(err)
		}
		_ = snap.Close()
	}
}

func TestAbsentObjectIsNotFound(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 3)
	repo.Git("repack", "-adq")
	snap := snapshot(t, newStore(t, nil, repo), repo)
	absent := packtest.SumOf(Blob, []byte("never stored"))
	if _, _, err := stat(snap, absent); !errors.Is(err, ErrNotFound) {
		t.Errorf("Stat: %v", err)
	}
	if _, _, err := snap.ReadVerified(absent, 10, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("ReadVerified: %v", err)
	}
	if _, err := snap.Open(absent); !errors.Is(err, ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
}

// TestReplacedPacksDoNotCount repacks a repository under a snapshot, which then has the old pack as well.
func TestReplacedPacksDoNotCount(t *testing.T) {
	repo := gittest.New(t)
	commit := func(text string) (objects uint64) {
		repo.Commit("main", gittest.Regular("f", text))
		repo.Git("repack", "-adq")
		return uint64(len(strings.Fields(repo.Git("rev-list", "--objects", "--no-object-names", "main"))))
	}
	before := commit("1")
	snap := snapshot(t, newStore(t, nil, repo), repo)
	expect := func(want uint64) {
		t.Helper()
		if got, err := snap.PackedCount(); got != want || err != nil {
			t.Errorf("%d objects, %v, want %d", got, err, want)
		}
	}
	expect(before)
	after := commit("2")
	if has, err := has(snap, packtest.SumOf(Blob, []byte("2"))); !has || err != nil {
		t.Fatalf("the new object: %v, %v", has, err)
	}
	if expect(after); after <= before {
		t.Errorf("%d objects and then %d", before, after)
	}
}

func TestEmptyRepositoryHasNoObjects(t *testing.T) {
	repo := gittest.New(t)
	snap := snapshot(t, newStore(t, nil, repo), repo)
	if _, _, err := stat(snap, packtest.SumOf(Tree, nil)); !errors.Is(err, ErrNotFound) {
		t.Errorf("Stat: %v", err)
	}
	if ids, err := snap.Prefix("0000", 10); len(ids) > 0 || err != nil {
		t.Errorf("Prefix: %v %v", ids, err)
	}
}

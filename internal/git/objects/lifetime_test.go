package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects/pack"
	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// descriptorsOf counts the open files of the process below a folder.
func descriptorsOf(t *testing.T, folder string) int {
	t.Helper()
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, link := range links {
		target, _ := os.Readlink(filepath.Join("/proc/self/fd", link.Name()))
		if filepath.Dir(target) != "." && bytes.HasPrefix([]byte(target), []byte(folder+"/")) {
			n++
		}
	}
	return n
}

func TestRepackDuringReads(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	history(repo, 12)
	all := facts(t, repo)
	s := newStore(t, nil, repo)
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				snap, err := openSnapshot(s, "repo.git")
				if err != nil {
					t.Error(err)
					return
				}
				for i, f := range all {
					if (i+round)%5 != 0 {
						continue
					}
					if err := compareOne(snap, f); err != nil {
						t.Error(err)
					}
				}
				_ = snap.Close()
			}
		})
	}
	for i := range 8 {
		repo.Git("repack", "-adfq", "--depth="+strconv.Itoa(1+i*7))
		repo.Git("prune-packed", "-q")
		repo.Git("gc", "-q", "--prune=now")
	}
	close(stop)
	group.Wait()
	compare(t, snapshot(t, s, repo), all)
}

func TestLongSnapshotSeesWhatARepackMoved(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 3)
	snap := snapshot(t, newStore(t, nil, repo), repo) // loose objects: nothing is pinned
	all := facts(t, repo)
	repo.Git("repack", "-adq") // moves them all into a pack
	compare(t, snap, all)
	repo.Commit("main", gittest.Regular("new", "new"))
	repo.Git("repack", "-adq")
	compare(t, snap, facts(t, repo))
}

func TestRemovedRepositoryDoesNotEndTheStream(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 6)
	repo.Git("repack", "-adfq")
	all := facts(t, repo)
	s := newStore(t, nil, repo)
	snap, err := openSnapshot(s, "repo.git")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(repo.Dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if err := compareOne(snap, f); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Open("repo.git"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Open of a removed repository gives %v", err)
	}
	absent := packtest.SumOf(Blob, []byte("absent"))
	if _, err := snap.Open(absent); !errors.Is(err, ErrNotFound) {
		t.Errorf("absent object of a removed repository: %v", err)
	}
	_ = snap.Close()
	s.CloseIdle(0)
	if n := descriptorsOf(t, filepath.Dir(repo.Dir)); n != 0 {
		t.Errorf("%d files of a removed repository are open", n)
	}
}

func TestObjectOutlivesItsSnapshot(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("noise", gittest.SeededNoise(9, 400_000)))
	repo.Git("repack", "-adq")
	all := facts(t, repo)
	s := newStore(t, nil, repo)
	for _, f := range all {
		snap, err := openSnapshot(s, "repo.git")
		if err != nil {
			t.Fatal(err)
		}
		object, err := snap.Open(f.id)
		if err != nil {
			t.Fatal(err)
		}
		_ = snap.Close()
		_ = snap.Close()
		s.CloseIdle(0)
		if data, err := io.ReadAll(object); err != nil || !bytes.Equal(data, f.content) {
			t.Errorf("%v: %v", f.id, err)
		}
		if _, err := snap.Open(f.id); !errors.Is(err, ErrClosed) {
			t.Errorf("Open of a closed snapshot gives %v", err)
		}
		for range 2 {
			_ = object.Close()
		}
		if _, err := object.Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("Read of a closed object gives %v", err)
		}
	}
	s.CloseIdle(0)
	if n := descriptorsOf(t, repo.Dir); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

func TestManyGoroutinesOnOneFreshDatabase(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	history(repo, 10)
	severalPacks(repo)
	all := facts(t, repo)
	s := newStore(t, func(l *limits) { l.packs.BaseBytes = 200 << 10 }, repo)
	db, err := s.Open("repo.git")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for g := range 12 {
		group.Go(func() {
			snap, err := db.Snapshot()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = snap.Close() }()
			for i := range all {
				if err := compareOne(snap, all[(i+g*17)%len(all)]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// Idle packs do not keep the memory for indexes from those in use.
func TestIndexesOfIdlePacksMakeRoom(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const repositories, limit = 40, 32 << 10 // each index takes more than 1 KiB, and 16 KiB are a page
	var repos []*gittest.Repo
	for i := range repositories {
		repo := gittest.At(t, filepath.Join(root, strconv.Itoa(i)))
		repo.Commit("main", gittest.Regular("f", strconv.Itoa(i)))
		repo.Git("repack", "-adq")
		repos = append(repos, repo)
	}
	indexes := pack.NewBudget(limit)
	s := newStore(t, func(l *limits) { l.packs.Indexes = indexes }, repos...)
	most := int64(0)
	for i := range repos {
		snap, err := openSnapshot(s, strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		_ = snap.Close()
		most = max(most, s.Usage().Descriptors)
	}
	if most < 5 || most > repositories/2 {
		t.Errorf("at most %d packs were open", most)
	}
	// Packs that stay open need room too.
	var last *Snapshot
	for i := range repos {
		snap, err := openSnapshot(s, strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		if _ = snap.Close(); indexes.IsFull() {
			last, err = openSnapshot(s, strconv.Itoa(i))
			if err != nil || indexes.IsFull() {
				t.Errorf("an open pack has no room for its index: %v", err)
			}
			break
		}
	}
	if last == nil {
		t.Fatal("the indexes never took all of the memory")
	}
	_ = last.Close()
}

func TestDescriptorsAreBoundedOverManyRepositories(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root := t.TempDir()
	const repositories, limit = 12, 8
	var repos []*gittest.Repo
	var want []fact
	for i := range repositories {
		repo := gittest.At(t, filepath.Join(root, "r"+strconv.Itoa(i)))
		repo.Commit("main", gittest.Regular("f", fmt.Sprint("content ", i)))
		repo.Git("repack", "-adq")
		repo.Commit("main", gittest.Regular("g", fmt.Sprint("other ", i)))
		repo.Git("repack", "-dq")
		repos = append(repos, repo)
		want = append(want, facts(t, repo)[0])
	}
	s := newStore(t, func(l *limits) { l.descriptors = limit }, repos...)
	for range 3 {
		for i := range repos {
			snap, err := openSnapshot(s, "r"+strconv.Itoa(i))
			if err != nil {
				t.Fatal(err)
			}
			if err := compareOne(snap, want[i]); err != nil {
				t.Error(err)
			}
			_ = snap.Close()
			if n := descriptorsOf(t, root); n > limit {
				t.Fatalf("%d files are open", n)
			}
		}
	}
	var held []*Snapshot
	for i := range repos {
		snap, err := openSnapshot(s, "r"+strconv.Itoa(i))
		if err == nil {
			held = append(held, snap)
		} else if !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	// Opening a pack takes one descriptor more for a moment, for its index.
	if len(held) < limit/2-1 || len(held) > limit/2 {
		t.Errorf("%d snapshots of two packs are open under a limit of %d", len(held), limit)
	}
	for _, snap := range held {
		_ = snap.Close()
	}
	if snap, err := openSnapshot(s, "r11"); err != nil {
		t.Errorf("after the others closed: %v", err)
	} else {
		_ = snap.Close()
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 2)
	repo.Git("repack", "-adq")
	s, err := New(filepath.Dir(repo.Dir), indexBytes)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := openSnapshot(s, "repo.git")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compareOne(snap, facts(t, repo)[0]); err != nil {
		t.Errorf("a snapshot of a closed store: %v", err)
	}
	if _, err := s.Open("repo.git"); !errors.Is(err, ErrClosed) {
		t.Errorf("Open gives %v", err)
	}
	_ = snap.Close()
	if n := descriptorsOf(t, repo.Dir); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

func TestUnchangedRepositoryIsNotReadAgain(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 2)
	repo.Git("repack", "-adq")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(repo.Dir, "objects", "pack"), past, past); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, nil, repo)
	first := snapshot(t, s, repo)
	second := snapshot(t, s, repo)
	if first.pinned[0] != second.pinned[0] {
		t.Error("the packs were listed again")
	}
	repo.Commit("main", gittest.Regular("new", "new"))
	repo.Git("repack", "-dq")
	third := snapshot(t, s, repo)
	if third.pinned[0] == second.pinned[0] || len(third.pinned[0].packs) != 2 {
		t.Error("a new pack was not seen")
	}
	if third.pinned[0].packs[1] != second.pinned[0].packs[0] {
		t.Error("a pack that was open was opened again")
	}
}

package git_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// packedFiles makes a repository with one large and some small packed files
// and returns their entries through a snapshot that has read none of them.
func packedFiles(t *testing.T) (*gittest.Repo, *git.Snapshot, []git.TreeEntry) {
	repo, snap := one(t)
	repo.Commit("main", gittest.Regular("a", "first"), gittest.Regular("large", gittest.Noise(8<<20)),
		gittest.Regular("z", "last"))
	repo.Git("repack", "-adq")
	s := snap()
	commit, err := s.Resolve(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.Tree(commit.Tree)
	if err != nil {
		t.Fatal(err)
	}
	return repo, s, entries
}

func TestSnapshotSurvivesRepackDuringARead(t *testing.T) {
	t.Parallel()
	repo, s, entries := packedFiles(t)
	blob, err := s.Blob(t.Context(), entries[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 1<<20)
	if _, err := io.ReadFull(blob, head); err != nil {
		t.Fatal(err)
	}
	repo.Commit("main", gittest.Regular("new", "commit"))
	repo.Git("-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now")
	rest, err := io.ReadAll(blob)
	if err := errors.Join(err, blob.Close()); err != nil {
		t.Fatalf("after the repack: %v", err)
	}
	if !bytes.Equal(append(head, rest...), []byte(gittest.Noise(8<<20))) {
		t.Error("the content differs")
	}
	if got := readAll(t, s, entries[2].ID); got != "last" {
		t.Errorf("file read after the repack: %q", got)
	}
}

func TestSnapshotSurvivesDeletionOfTheRepository(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo, s, entries := packedFiles(t)
	if err := os.RemoveAll(repo.Dir); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, s, entries[1].ID); got != gittest.Noise(8<<20) {
		t.Error("the content differs")
	}
}

func TestLooseObjectsThatMoveIntoAPackAreFoundAgain(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	repo.Commit("main", gittest.Regular("a", "loose"))
	s := snap()
	repo.Git("repack", "-adq")
	commit, err := s.Resolve(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := s.Lookup(commit.Tree, "a")
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, s, entry.ID); got != "loose" {
		t.Errorf("content %q", got)
	}
}

func TestDamageIsNeverACleanEnd(t *testing.T) {
	gittest.Long(t)
	pack := func(repo *gittest.Repo, pattern string) string {
		files, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack", pattern))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		if err := os.Chmod(files[0], 0o644); err != nil {
			t.Fatal(err)
		}
		return files[0]
	}
	cut := func(pattern string, part float64) func(*gittest.Repo) {
		return func(repo *gittest.Repo) {
			name := pack(repo, pattern)
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(name, int64(float64(info.Size())*part)); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(pattern string, part float64) func(*gittest.Repo) {
		return func(repo *gittest.Repo) {
			name := pack(repo, pattern)
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			content[int(float64(len(content))*part)] ^= 0x40
			if err := os.WriteFile(name, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(pattern string) func(*gittest.Repo) {
		return func(repo *gittest.Repo) {
			if err := os.Remove(pack(repo, pattern)); err != nil {
				t.Fatal(err)
			}
		}
	}
	damages := map[string]func(*gittest.Repo){
		"index cut to nothing": cut("*.idx", 0), "index cut in the fan-out": cut("*.idx", 0.3),
		"index cut near its end": cut("*.idx", 0.95),
		"pack cut to nothing":    cut("*.pack", 0), "pack cut at a quarter": cut("*.pack", 0.25),
		"pack cut near its end":          cut("*.pack", 0.9999),
		"pack byte flipped at a quarter": flip("*.pack", 0.25), "pack byte flipped in the middle": flip("*.pack", 0.5),
		"index missing": remove("*.idx"), "pack missing": remove("*.pack"),
	}
	seen := 0
	for name, damage := range damages {
		repo, snap := one(t)
		repo.Commit("main", gittest.Regular("a", "first"), gittest.Regular("large", gittest.Noise(4<<20)),
			gittest.Regular("z", "last"))
		repo.Git("repack", "-adq")
		damage(repo)
		s := snap()
		err := func() error {
			commit, err := s.Resolve(t.Context(), "main")
			if err != nil {
				return err
			}
			entry, err := s.Lookup(commit.Tree, "large")
			if err != nil {
				return err
			}
			blob, err := s.Blob(t.Context(), entry.ID)
			if err != nil {
				return err
			}
			content, err := io.ReadAll(blob)
			if err == nil && string(content) != gittest.Noise(4<<20) {
				t.Errorf("%s: wrong bytes with a clean end", name)
			}
			return errors.Join(err, blob.Close())
		}()
		if err != nil && (!errors.Is(err, git.ErrCorrupt) || errors.Is(err, io.EOF)) {
			t.Errorf("%s: %v, want damage", name, err)
		}
		if err != nil {
			seen++
		}
	}
	// A pack that lost only its last bytes, the checksum of the whole, can be
	// read all the same; everything else must be noticed.
	if seen < len(damages)-1 {
		t.Errorf("%d of %d damages were noticed", seen, len(damages))
	}
}

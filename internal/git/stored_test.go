package git_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

func blobID(content string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	return hex.EncodeToString(sum[:])
}

func storeBlob(repo *gittest.Repo, content string) string {
	return repo.GitInput([]byte(content), "hash-object", "-w", "--stdin")
}

// TestAbbreviatesLikeRevParse makes objects whose ids share their beginning.
func TestAbbreviatesLikeRevParse(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo, take := one(t)
	byPrefix := make(map[string]string)
	var ids []string
	for i := 0; len(ids) < 6; i++ {
		content := fmt.Sprint("content ", i)
		id := blobID(content)
		if first, ok := byPrefix[id[:7]]; ok {
			ids = append(ids, storeBlob(repo, first), storeBlob(repo, content))
		}
		byPrefix[id[:7]] = content
	}
	s := take()
	check := func() {
		for _, hex := range ids {
			id, err := git.ParseID(hex)
			if err != nil {
				t.Fatal(err)
			}
			for digits := 4; digits <= 40; digits += 3 {
				want := repo.Git("rev-parse", fmt.Sprintf("--short=%d", digits), hex)
				if got, err := s.Abbreviate(id, digits); err != nil || got != want {
					t.Errorf("%s to %d digits: %s, %v; git says %s", hex, digits, got, err, want)
				}
			}
			want := repo.Git("rev-parse", "--short", hex)
			if got, err := s.Abbreviate(id, -1); err != nil || got != want || len(got) < 8 {
				t.Errorf("%s: %s, %v; git says %s", hex, got, err, want)
			}
		}
	}
	check()
	repo.GitInput([]byte(strings.Join(ids[:3], "\n")+"\n"), "pack-objects", "-q", "objects/pack/pack")
	repo.Git("prune-packed", "-q")
	s = take()
	check()
}

func parseID(t *testing.T, hex string) git.ID {
	t.Helper()
	id, err := git.ParseID(hex)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRawObjects(t *testing.T) {
	t.Parallel()
	repo, take := one(t)
	commit := repo.Commit("main", gittest.Regular("a", "b"))
	repo.Git("tag", "-m", "message", "v1", commit)
	tag := repo.Git("rev-parse", "v1")
	s := take()
	for id, read := range map[string]func(git.ID) ([]byte, error){commit: s.RawCommit, tag: s.RawTag} {
		want := repo.Git("cat-file", "-p", id) + "\n"
		if got, err := read(parseID(t, id)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", id, got, err, want)
		}
	}
	if _, err := s.RawCommit(parseID(t, tag)); err == nil {
		t.Error("a tag is read as a commit")
	}
}

func TestShallow(t *testing.T) {
	t.Parallel()
	repo, take := one(t)
	id := repo.Commit("main", gittest.Regular("a", "b"))
	if got, err := take().Shallow(); err != nil || len(got) != 0 {
		t.Errorf("whole: %v, %v", got, err)
	}
	for content, want := range map[string]map[git.ID]bool{"": nil, id + "\n": {parseID(t, id): true}} {
		if err := os.WriteFile(filepath.Join(repo.Dir, "shallow"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := take().Shallow(); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v", content, got, err)
		}
	}
	if err := os.WriteFile(filepath.Join(repo.Dir, "shallow"), []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := take().Shallow(); err == nil {
		t.Errorf("nonsense: %v", got)
	}
}

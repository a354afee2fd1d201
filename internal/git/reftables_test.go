package git_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// tables opens a repository of gittest whose refs are in tables.
func tables(t *testing.T, name string) (repository *git.Repository, repo *gittest.Repo, listed []string) {
	t.Helper()
	root := t.TempDir()
	repo, listed = gittest.RefTables(t, filepath.Join(root, "repo.git"), name)
	return open(t, root, git.StoreOptions{}).Repository("repo.git", reachable), repo, listed
}

func TestRefTablesHaveWhatGitLists(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, name := range []string{"small", "stack", "blocks", "index"} {
		repository, _, listed := tables(t, name)
		s, err := repository.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		refs, err := s.Refs()
		if err != nil || len(refs) != len(listed)-1 { // without HEAD
			t.Fatalf("%s: %v, %d refs, git lists %d", name, err, len(refs), len(listed))
		}
		tips, err := repository.Tips()
		if err != nil || len(tips.Names) != len(refs) {
			t.Errorf("%s: %v, %d tips", name, err, len(tips.Names))
		}
		for i, line := range listed {
			cases++
			fields := strings.Split(line, " ")
			full, id, peeled, target := fields[0], fields[1], fields[2], fields[3]
			if tip, ok := tips.ID(full); !ok || tip.String() != id {
				t.Errorf("%s: %s is a tip with %s, %v", name, full, tip, ok)
			}
			if full == "HEAD" {
				head, err := s.Head()
				if err != nil || head.Target.String() != id || target != "" && head.Name != target {
					t.Errorf("%s: HEAD is %+v, %v, want %s", name, head, err, line)
				}
				continue
			}
			ref, err := s.Ref(full)
			if err != nil || refs[i-1] != ref || ref.Name != full && target == "" || ref.Target.String() != id ||
				peeled != "" && ref.Commit.String() != peeled {
				if ref.Name == target { // the ref that a symbolic one leads to
					continue
				}
				t.Errorf("%s: %+v, %+v, %v, want %s", name, ref, refs[i-1], err, line)
			}
			if _, err := s.Ref(full + "x"); !errors.Is(err, git.ErrNotFound) {
				t.Errorf("%s: %sx: %v", name, full, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if cases < 370 {
		t.Errorf("only %d cases", cases)
	}
}

func TestRefTablesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	list := func(text string) func(*gittest.Repo) {
		return func(repo *gittest.Repo) { repo.WriteFile("reftable/tables.list", []byte(text)) }
	}
	for name, c := range map[string]struct {
		tables string
		harm   func(repo *gittest.Repo)
		want   error // of HEAD
	}{
		"no commit":        {"empty", func(*gittest.Repo) {}, git.ErrEmpty},
		"no list yet":      {"empty", func(repo *gittest.Repo) { remove(t, repo, "reftable/tables.list") }, git.ErrEmpty},
		"another hash":     {"sha256", func(*gittest.Repo) {}, git.ErrUnsupported},
		"a lost table":     {"small", func(repo *gittest.Repo) { remove(t, repo, "reftable/*.ref") }, git.ErrCorrupt},
		"a cut list":       {"small", list("x.ref"), git.ErrCorrupt},
		"a path outside":   {"small", list("../config\n"), git.ErrCorrupt},
		"the folder above": {"small", list("..\n"), git.ErrCorrupt},
		"no table":         {"small", list("tables.list\n"), git.ErrCorrupt},
		"too many":         {"small", list(strings.Repeat("x\n", 20_000)), git.ErrUnsupported},
	} {
		repository, repo, _ := tables(t, c.tables)
		c.harm(repo)
		s, err := repository.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Head(); !errors.Is(err, c.want) {
			t.Errorf("%s: HEAD: %v, want %v", name, err, c.want)
		}
		wanted := c.want
		if errors.Is(wanted, git.ErrEmpty) {
			wanted = nil // a list may be empty
		}
		if refs, err := s.Refs(); !errors.Is(err, wanted) || len(refs) > 0 {
			t.Errorf("%s: %d refs, %v, want %v", name, len(refs), err, wanted)
		}
		_ = s.Close()
	}
}

func remove(t *testing.T, repo *gittest.Repo, pattern string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(repo.Dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// git merges tables at any time, and removes those that were merged.
func TestRefTablesAreMergedMeanwhile(t *testing.T) {
	t.Parallel()
	repository, repo, listed := tables(t, "stack")
	const rounds, leastReads = 300, 20
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := range rounds {
			if err := renameTables(filepath.Join(repo.Dir, "reftable"), fmt.Sprint(round)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	reads := 0
	for ended := false; !ended; reads++ {
		select {
		case <-done:
			ended = true
		default:
		}
		s, err := repository.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if refs, err := s.Refs(); err != nil || len(refs) != len(listed)-1 {
			t.Fatalf("read %d: %d refs, %v", reads, len(refs), err)
		}
		if head, err := s.Head(); err != nil || head.Name != "HEAD" {
			t.Fatalf("read %d: %v, %v", reads, head, err)
		}
		_ = s.Close()
	}
	if reads < leastReads {
		t.Errorf("only %d reads", reads)
	}
}

// renameTables puts the same tables under other names in the place of those of the list, as git puts a merged one.
func renameTables(folder, prefix string) error {
	list := filepath.Join(folder, "tables.list")
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	tables := strings.Fields(string(text))
	var renamed strings.Builder
	for i, table := range tables {
		name := fmt.Sprintf("%s-%d.ref", prefix, i)
		fmt.Fprintln(&renamed, name)
		if err := os.Link(filepath.Join(folder, table), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(list+".lock", []byte(renamed.String()), 0o600); err != nil {
		return err
	}
	err = os.Rename(list+".lock", list)
	for _, table := range tables {
		err = errors.Join(err, os.Remove(filepath.Join(folder, table)))
	}
	return err
}

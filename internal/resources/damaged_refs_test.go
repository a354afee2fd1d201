package resources

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestAnUnusablePackOfManyRefsIsCalledDamage asks for a repository with thousands of refs whose only pack is
// unusable. The server says what is wrong, and never that it is busy.
func TestAnUnusablePackOfManyRefsIsCalledDamage(t *testing.T) {
	t.Parallel()
	const branches = 2300
	for name, c := range map[string]struct {
		pattern string
		edit    func(file string) error
		cause   string
	}{
		"cut":     {"*.pack", func(file string) error { return os.Truncate(file, 100) }, "does not match its index"},
		"empty":   {"*.pack", func(file string) error { return os.Truncate(file, 0) }, "is empty"},
		"no pack": {"*.pack", os.Remove, "pack file is missing"},
		"no idx":  {"*.idx", os.Remove, "has no index; git index-pack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, repo := newRepo(t)
			id := repo.Commit("main", gittest.Regular("f", gittest.Noise(1000)))
			repo.Git("repack", "-adq")
			packed := "# pack-refs with: peeled fully-peeled sorted \n"
			for i := range branches {
				packed += fmt.Sprintf("%s refs/heads/b%04d\n", id, i)
			}
			repo.WriteFile("packed-refs", []byte(packed))
			files, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack", c.pattern))
			if err != nil || len(files) != 1 || os.Chmod(files[0], 0o600) != nil || c.edit(files[0]) != nil {
				t.Fatal(files, err)
			}
			var log bytes.Buffer
			s := newService(t, root, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			list := contentOf(t, mustDownload(t, s, "/refs/repo"))
			if marked := strings.Count(string(list), `"damaged":true`); marked != branches+1 {
				t.Errorf("the list has %d refs that are marked, want %d", marked, branches+1)
			}
			told := 0
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "repository=repo") && strings.Contains(line, c.cause) {
					told++
				}
			}
			if told != 1 {
				t.Errorf("the log says %d times, want once, that it %s:\n%.1000s", told, c.cause, &log)
			}
			for _, url := range []string{"/archive/repo/main.tar.gz", "/archive/repo/b0007.zip", "/raw/repo/main/f"} {
				if _, failure := download(t, s, url); failure == nil || failure.Reason != ReasonCorruptRepo ||
					!strings.Contains(failure.Message, "git fsck") {
					t.Errorf("%s: %+v, want %s", url, failure, ReasonCorruptRepo)
				}
			}
		})
	}
}

// TestADamagedHeadIsSaid asks for the lists of a repository whose HEAD means nothing. They have all refs, and say why
// they have no default branch.
func TestADamagedHeadIsSaid(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("f", "1"))
	s := newService(t, root, Options{})
	const said = `"headDamaged":true`
	if list := string(contentOf(t, mustDownload(t, s, "/refs/repo"))); strings.Contains(list, said) ||
		!strings.Contains(list, `"defaultBranch":"main"`) {
		t.Errorf("a sound list: %s", list)
	}
	repo.WriteFile("HEAD", []byte("no id\n"))
	for _, url := range []string{"/refs/repo", "/refs/repo?all=1"} {
		list := string(contentOf(t, mustDownload(t, s, url)))
		if !strings.Contains(list, said) || strings.Contains(list, "defaultBranch") ||
			!strings.Contains(list, `"refs/heads/main"`) {
			t.Errorf("%s: %s", url, list)
		}
	}
}

package httpx_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// TestAnUnusablePackOfManyRefsIsCalledDamage asks for a repository of thousands of refs on
// every route: the answer is what is wrong, and never that the server is busy.
func TestAnUnusablePackOfManyRefsIsCalledDamage(t *testing.T) {
	t.Parallel()
	const branches = 2300
	causes := map[string]struct {
		pattern string
		edit    func(file string) error
		cause   string
	}{
		"cut":     {"*.pack", func(file string) error { return os.Truncate(file, 100) }, "does not match its index"},
		"empty":   {"*.pack", func(file string) error { return os.Truncate(file, 0) }, "is empty"},
		"no pack": {"*.pack", os.Remove, "pack file is missing"},
		"no idx":  {"*.idx", os.Remove, "has no index; git index-pack"},
	}
	log := &journal{}
	s := newTarget(t, targetOptions{
		tools: true, http: httpx.Options{Logger: slog.New(slog.NewTextHandler(log, nil))},
		build: func(root string) {
			for name, c := range causes {
				repo := gittest.At(t, filepath.Join(root, strings.ReplaceAll(name, " ", "-")+".git"))
				id := repo.Commit("main", gittest.Regular("f", gittest.Noise(1000)))
				repo.Git("repack", "-adq")
				packed := "# pack-refs with: peeled fully-peeled sorted \n"
				for i := range branches {
					packed += fmt.Sprintf("%s refs/heads/b%04d\n", id, i)
				}
				repo.WriteFile("packed-refs", []byte(packed))
				files, err := filepath.Glob(filepath.Join(repo.Dir, "objects/pack", c.pattern))
				if err != nil || len(files) != 1 || os.Chmod(files[0], 0o600) != nil || c.edit(files[0]) != nil {
					t.Fatal(name, files, err)
				}
			}
		},
	})
	for name, c := range causes {
		repo := strings.ReplaceAll(name, " ", "-")
		list := s.get(t, "/refs/"+repo)
		if marked := strings.Count(string(list.body), `"damaged":true`); list.status != http.StatusOK || marked != branches+1 {
			t.Errorf("%s: the list has %d refs that are marked, of %d: %v", name, marked, branches+1, list)
		}
		told := 0
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "repository="+repo) && strings.Contains(line, c.cause) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%s: the log says %d times that it %s:\n%.1000s", name, told, c.cause, log)
		}
		for _, path := range []string{"/archive/" + repo + "/main.tar.gz", "/archive/" + repo + "/b0007.zip",
			"/raw/" + repo + "/main/f", "/refs/" + repo} {
			if a := s.get(t, path); a.status != http.StatusInternalServerError || !strings.Contains(string(a.body), "git fsck") {
				if path != "/refs/"+repo || a.status != http.StatusOK { // until it is quarantined
					t.Errorf("%s: %v, want 500 and damage", path, a)
				}
			}
		}
		for tool, arguments := range map[string]map[string]any{
			"list_branches": {"repo": repo}, "get_file_contents": {"repo": repo, "path": "f"}, "list_commits": {"repo": repo},
		} {
			call := s.call(modernVersion, "tools/call", map[string]any{"name": tool, "arguments": arguments})
			call.header.Set("Mcp-Name", tool)
			a := s.do(t, call)
			if text := string(a.body); strings.Contains(text, "descriptors") ||
				!strings.Contains(text, "unreadable") && !strings.Contains(text, "git fsck") {
				t.Errorf("%s of %s: %v, want damage", tool, name, a)
			}
		}
	}
}

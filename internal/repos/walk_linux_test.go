package repos_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

// TestFoldersThatCannotBeReadKeepTheirRepositories takes the permission to read folders away, which stands for a disk
// that fails. No repository is called missing for that.
func TestFoldersThatCannotBeReadKeepTheirRepositories(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"bare.git", "deep/er/one.git", "deep/two.git", "working/.git", "whole.git",
		"working/vendor/inner.git"} {
		gittest.At(t, filepath.Join(root, dir))
	}
	if err := os.Symlink("deep/two.git", filepath.Join(root, "linked.git")); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	options := repos.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	catalogue := repostest.Open(t, root, options)
	all := []string{"bare", "deep/er/one", "deep/two", "linked", "whole", "working"}
	names := func(c *repos.Catalogue) []string {
		c.Forget(time.Minute)
		_, _ = c.Get("unknown") // walks
		return c.Names()
	}
	expect := func(c *repos.Catalogue, want ...string) {
		t.Helper()
		if got := names(c); !slices.Equal(got, want) {
			t.Errorf("the repositories %q, want %q", got, want)
		}
	}
	expect(catalogue, all...)
	unread := []string{"bare.git", "deep", "working/.git"}
	setModes := func(mode os.FileMode) {
		for _, dir := range unread {
			if err := os.Chmod(filepath.Join(root, dir), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	setModes(0)
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		for range 3 {
			expect(catalogue, all...)
		}
		// It has never seen the others, and cannot know that one is within another.
		expect(repostest.Open(t, root, repos.Options{}), "whole", "working/vendor/inner")
	})
	for _, dir := range []string{"bare.git", "deep", "working"} {
		if n := strings.Count(log.String(), "folder="+dir+" error="); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", dir, n, &log)
		}
	}
	setModes(0o755)
	if err := os.RemoveAll(filepath.Join(root, "deep", "er")); err != nil {
		t.Fatal(err)
	}
	expect(catalogue, "bare", "deep/two", "linked", "whole", "working")
}

// asNobody does something without root's right to read everything.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	const nobody = 65534
	runtime.LockOSThread() // the id is that of the thread
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setfsuid(0); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}

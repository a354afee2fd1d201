package watch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a watcher over a root, with what it reported.
type site struct {
	*refWatcher
	t         *testing.T
	root      string
	catalogue *repos.Catalogue
	changes   chan string
	log       *bytes.Buffer // to be read after stop
}

func newSite(t *testing.T, options Options, names ...string) *site {
	t.Helper()
	s := &site{t: t, root: t.TempDir(), changes: make(chan string, 1000), log: &bytes.Buffer{}}
	for _, name := range names {
		s.at(name).Commit("main", gittest.Regular("a", "1"))
	}
	catalogue, err := repos.Open(s.root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	options.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	s.catalogue, s.refWatcher = catalogue, newRefWatcher(options)
	return s
}

func (s *site) at(name string) *gittest.Repo {
	return gittest.At(s.t, filepath.Join(s.root, name+".git"))
}

func (s *site) get(name string) *repos.Repository {
	s.t.Helper()
	repository, err := s.catalogue.Get(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return repository
}

// run watches until stop is called.
func (s *site) run() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		s.Run(ctx, func(names []string) {
			for _, name := range names {
				s.changes <- name
			}
		})
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// expect waits for a report of exactly this repository.
func (s *site) expect(name string) {
	s.t.Helper()
	select {
	case got := <-s.changes:
		if got != name {
			s.t.Fatalf("%s was reported, not %s", got, name)
		}
	case <-time.After(gittest.Patience):
		s.t.Fatalf("%s was not reported", name)
	}
}

func refuse(*fsnotify.Watcher, string) error {
	return os.NewSyscallError("inotify_add_watch", syscall.ENOSPC)
}

func TestTouchedRefsAreReported(t *testing.T) {
	gittest.Long(t)
	for name, c := range map[string]struct {
		options Options
		refused bool
	}{"events": {}, "looking": {options: Options{NoEvents: true}}, "no watches left": {refused: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.options, "one", "two", "unwatched")
			if c.refused {
				s.watchFolder = refuse
			}
			one := &gittest.Repo{Dir: filepath.Join(s.root, "one.git")}
			id := strings.TrimSpace(read(t, filepath.Join(one.Dir, "refs/heads/main")))
			s.Add(s.get("two"))
			s.Add(s.get("one"))
			write(t, one.Dir, "refs/heads/before", id) // before Run
			stop := s.run()
			s.expect("one")
			for _, file := range []string{"refs/heads/main2", "refs/heads/new/deep/branch", "refs/tags/v1",
				"refs/pull/1/head", "packed-refs", "HEAD", "description", "refs/heads/new/deep/branch"} {
				write(t, filepath.Join(s.root, "unwatched.git"), file, id)
				write(t, one.Dir, file, id)
				s.expect("one")
			}
			if err := os.RemoveAll(filepath.Join(one.Dir, "refs/heads/new")); err != nil {
				t.Fatal(err)
			}
			s.expect("one")
			// What holds no refs.
			write(t, one.Dir, "FETCH_HEAD", "x")
			write(t, one.Dir, "objects/info/x", "x")
			write(t, filepath.Join(s.root, "two.git"), "refs/heads/x", id)
			s.expect("two")
			stop()
			if warned := strings.Count(s.log.String(), "max_user_watches"); (warned == 1) != c.refused || warned > 1 {
				t.Errorf("the log is %q", s.log)
			}
			if len(s.folders) != 0 {
				t.Errorf("folders are watched still: %v", s.folders)
			}
		})
	}
}

// write replaces a file as git does.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".lock", []byte(content+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".lock", path); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestRepositoryThatIsReplacedIsWatchedOn(t *testing.T) {
	gittest.Long(t)
	s := newSite(t, Options{}, "one")
	dir := filepath.Join(s.root, "one.git")
	s.Add(s.get("one"))
	defer s.run()()
	for range 2 {
		if err := os.Rename(dir, filepath.Join(t.TempDir(), "away")); err != nil {
			t.Fatal(err)
		}
		s.expect("one")
		s.at("one").Commit("main", gittest.Regular("a", "2"))
		s.expect("one")
	drain:
		for { // the making of it may be seen in steps
			select {
			case <-s.changes:
			case <-time.After(2 * time.Second):
				break drain
			}
		}
		write(t, dir, "refs/heads/x", "1")
		s.expect("one")
	}
}

func TestRemoveEndsTheWatching(t *testing.T) {
	s := newSite(t, Options{}, "one", "two")
	defer s.run()()
	for range 3 {
		s.Add(s.get("one"))
	}
	s.Add(s.get("two"))
	for range 3 {
		write(t, filepath.Join(s.root, "one.git"), "HEAD", "ref: refs/heads/x"+fmt.Sprint(time.Now().UnixNano()))
		s.expect("one")
		s.Remove("one")
	}
	s.Remove("one") // once too often
	s.Remove("unknown")
	if s.Len() != 1 {
		t.Errorf("%d are watched", s.Len())
	}
	for folder := range s.folders {
		if strings.Contains(folder, "one.git") {
			t.Errorf("%s is watched still", folder)
		}
	}
	if list := s.events.WatchList(); slices.ContainsFunc(list,
		func(folder string) bool { return strings.Contains(folder, "one.git") }) {
		t.Errorf("the kernel watches %v", list)
	}
	write(t, filepath.Join(s.root, "one.git"), "HEAD", "ref: refs/heads/y")
	write(t, filepath.Join(s.root, "two.git"), "HEAD", "ref: refs/heads/y")
	s.expect("two")
}

// TestMoreFoldersThanWatches: a mirror of a large host has a folder for each
// pull request.
func TestMoreFoldersThanWatches(t *testing.T) {
	gittest.Long(t)
	s := newSite(t, Options{}, "one")
	dir := filepath.Join(s.root, "one.git")
	const pulls = 400
	for i := range pulls {
		write(t, dir, fmt.Sprintf("refs/a-pull/%d/head", i), "1")
	}
	stop := s.run()
	defer stop()
	s.Add(s.get("one"))
	for _, file := range []string{"refs/heads/main", "refs/tags/v1", fmt.Sprintf("refs/a-pull/%d/head", pulls-1)} {
		write(t, dir, file, "2")
		s.expect("one")
	}
	if list := s.events.WatchList(); len(list) > pulls || !slices.Contains(list, filepath.Join(dir, "refs/heads")) {
		t.Errorf("%d folders are watched: %v", len(list), list)
	}
}

func TestEventsThatWereLostAreMadeUpFor(t *testing.T) {
	s := newSite(t, Options{}, "one")
	s.Add(s.get("one"))
	w := s.watched["one"]
	write(t, filepath.Join(s.root, "one.git"), "refs/heads/x", "1")
	w.due = time.Now().Add(time.Hour) // it is not looked at by itself
	if names, _ := s.round(time.Now()); len(names) > 0 {
		t.Fatal("it was looked at")
	}
	s.overflow(fsnotify.ErrEventOverflow)
	gittest.Await(t, "the repository is reported", func() bool {
		names, _ := s.round(time.Now())
		return slices.Equal(names, []string{"one"})
	})
}

// TestComingAndGoingWatchersLeaveNothing: what one removes another adds at the
// same moment.
func TestComingAndGoingWatchersLeaveNothing(t *testing.T) {
	s := newSite(t, Options{}, "one")
	repository := s.get("one")
	stop := s.run()
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 50 {
				s.Add(repository)
				s.Remove("one")
			}
		})
	}
	running.Wait()
	s.Add(repository)
	write(t, filepath.Join(s.root, "one.git"), "refs/heads/x", "1")
	s.expect("one")
	s.Remove("one")
	s.mu.Lock()
	if list := s.events.WatchList(); len(list) > 0 || len(s.folders) > 0 {
		t.Errorf("the kernel watches %v, for %v", list, s.folders)
	}
	s.mu.Unlock()
	stop()
}

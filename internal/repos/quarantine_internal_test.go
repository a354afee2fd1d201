package repos

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/logtest"
)

// twoRepositories opens a catalogue with a repository "a" to harm and one "b" beside it.
func twoRepositories(t *testing.T) (c *Catalogue, a *gittest.Repo, log *logtest.Log) {
	t.Helper()
	root := t.TempDir()
	a = gittest.At(t, filepath.Join(root, "a.git"))
	a.Commit("main", gittest.Regular("f", "1\n"))
	a.Commit("main", gittest.Regular("f", "2\n"))
	a.Git("tag", "v1", "main~1")
	gittest.At(t, filepath.Join(root, "b.git")).Commit("main", gittest.Regular("f", "1\n"))
	log = new(logtest.Log)
	c, err := Open(root, Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, a, log
}

// resolve asks for a branch as a request does.
func resolve(t *testing.T, c *Catalogue, name string) error {
	t.Helper()
	s, err := c.Snapshot(name)
	if err != nil {
		return err
	}
	_, err = s.Resolve(t.Context(), "main")
	return errors.Join(err, s.Close())
}

// TestPanicQuarantinesItsRepositoryAlone reads a repository in every way while a rule for hidden refs
// panics, as malformed files of a repository might make any code do.
func TestPanicQuarantinesItsRepositoryAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, read := range map[string]func(r *Repository, s *git.Snapshot) error{
		"Resolve": func(_ *Repository, s *git.Snapshot) error { _, err := s.Resolve(ctx, "main"); return err },
		"Treeish": func(_ *Repository, s *git.Snapshot) error { _, err := s.ResolveTreeish(ctx, "main"); return err },
		"Head":    func(_ *Repository, s *git.Snapshot) error { _, err := s.Head(); return err },
		"Refs":    func(_ *Repository, s *git.Snapshot) error { _, err := s.Refs(); return err },
		"Tips":    func(r *Repository, _ *git.Snapshot) error { _, err := r.Tips(); return err },
		"HeadTip": func(r *Repository, _ *git.Snapshot) error { _, _, err := r.HeadTip(); return err },
		"LongestRef": func(r *Repository, _ *git.Snapshot) error {
			_, _, err := r.LongestRef("refs/heads/", "main", "contents")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, repo, log := twoRepositories(t)
			r, err := c.Get("a")
			if err != nil {
				t.Fatal(err)
			}
			var harm atomic.Bool
			options := r.gitOptions()
			options.Hidden = func(func(...string) []string) func(string) bool {
				return func(string) bool {
					if harm.Load() {
						panic("a rule")
					}
					return false
				}
			}
			r.git = c.store.Repository(r.dir, options)
			s, err := r.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			harm.Store(true)
			err = read(r, s)
			harm.Store(false)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if panicked := (*panics.Error)(nil); !errors.Is(err, git.ErrCorrupt) || !errors.As(err, &panicked) {
				t.Errorf("it failed with %v", err)
			}
			for range 10 {
				if err := resolve(t, c, "a"); !errors.Is(err, ErrQuarantined) || !errors.Is(err, git.ErrCorrupt) {
					t.Fatalf("it is served: %v", err)
				}
				if err := resolve(t, c, "b"); err != nil {
					t.Errorf("the other one: %v", err)
				}
			}
			panicked, _ := c.QuarantineCounts()
			if names := c.Quarantined(); len(names) != 1 || names[0] != "a" || panicked != 1 {
				t.Errorf("quarantined: %q, and %d after panics; want a alone, and 1", names, panicked)
			}
			if log.Count("a repository is quarantined") != 1 || log.Count("panic=true") != 1 {
				t.Errorf("the log has %s", log)
			}
			repo.Git("branch", "new", "main") // its files change, and nothing is wrong with them
			if err := resolve(t, c, "a"); err != nil || log.Count("no longer quarantined") != 1 {
				t.Errorf("after a change: %v; the log has %s", err, log)
			}
		})
	}
}

// One object that is missing takes nothing else away, however often it is asked for.
func TestDamageInPartTakesNothingElse(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]string{
		"commit of the default branch": "main", "its folder": "main^{tree}", "a file": "main:f",
		"an old commit": "main~1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, repo, _ := twoRepositories(t)
			repo.Commit("other", gittest.Regular("g", "3\n"))
			id := repo.Git("rev-parse", object)
			if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				s, err := c.Snapshot("a")
				if err != nil {
					t.Fatal(err)
				}
				_, _ = s.Resolve(t.Context(), "main")
				if refs, err := s.Refs(); err != nil || len(refs) != 3 {
					t.Errorf("%d refs, %v", len(refs), err)
				}
				if _, err := s.Resolve(t.Context(), "other"); err != nil {
					t.Errorf("another branch: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if _, damages := c.QuarantineCounts(); len(c.Quarantined()) != 0 || damages != 0 {
				t.Errorf("it was quarantined %d times", damages)
			}
		})
	}
}

// TestUnreadableRepositoryIsQuarantinedUntilItIsRepaired damages a repository so that nothing of it can
// be read, and repairs it in place.
func TestUnreadableRepositoryIsQuarantinedUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct {
		file string
		cut  func(content []byte) []byte
	}{
		"index of half its length": {"objects/pack/*.idx", func(c []byte) []byte { return c[:len(c)/2] }},
		"index of another version": {"objects/pack/*.idx",
			func(c []byte) []byte { return append([]byte("\xfftOc\x00\x00\x00\x07"), c[8:]...) }},
		"pack of its head alone": {"objects/pack/*.pack", func(c []byte) []byte { return c[:12] }},
		"no pack":                {"objects/pack/*.pack", func([]byte) []byte { return nil }},
		"refs that are none":     {"packed-refs", func(c []byte) []byte { return append([]byte("no ref\n"), c...) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, repo, log := twoRepositories(t)
			repo.Git("gc", "-q")
			names, err := filepath.Glob(filepath.Join(repo.Dir, damage.file))
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			sound, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(names[0], 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(names[0], damage.cut(sound), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 10 {
				if err := resolve(t, c, "a"); !errors.Is(err, git.ErrCorrupt) {
					t.Fatalf("it is served: %v", err)
				}
			}
			if err := resolve(t, c, "a"); !errors.Is(err, ErrQuarantined) {
				t.Errorf("it is not quarantined: %v", err)
			}
			if r, err := c.Get("a"); err != nil || !r.Quarantined() {
				t.Errorf("it does not say so: %v", err)
			}
			if err := resolve(t, c, "b"); err != nil {
				t.Errorf("the other one: %v", err)
			}
			if err := os.WriteFile(names[0], sound, 0o600); err != nil {
				t.Fatal(err)
			}
			// Within one tick of the file system's clock the damage and the repair have the same time.
			if err := os.Chtimes(names[0], time.Time{}, time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			if err := resolve(t, c, "a"); err != nil {
				t.Errorf("it is repaired, and still refused: %v", err)
			}
			if log.Count("a repository is quarantined") != 1 || log.Count("no longer quarantined") != 1 {
				t.Errorf("the log has %s", log)
			}
		})
	}
}

// TestQuarantinedRepositoryMayBeDeleted checks that it is not found then, and that a new one in its
// place is served.
func TestQuarantinedRepositoryMayBeDeleted(t *testing.T) {
	t.Parallel()
	c, repo, _ := twoRepositories(t)
	r, err := c.Get("a")
	if err != nil {
		t.Fatal(err)
	}
	c.quarantine.Panicked(subject{r}, git.ErrCorrupt)
	if err := os.RemoveAll(repo.Dir); err != nil {
		t.Fatal(err)
	}
	if err := resolve(t, c, "a"); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("it is gone: %v", err)
	}
	if err := c.rescan(0); err != nil {
		t.Fatal(err)
	}
	gittest.At(t, repo.Dir).Commit("main", gittest.Regular("f", "1\n"))
	if err := c.rescan(0); err != nil {
		t.Fatal(err)
	}
	if err := resolve(t, c, "a"); err != nil {
		t.Errorf("the new one: %v", err)
	}
}

// TestQuarantinedRepositoryHasNoTips checks that watchers see no change of its refs.
func TestQuarantinedRepositoryHasNoTips(t *testing.T) {
	t.Parallel()
	c, _, _ := twoRepositories(t)
	r, err := c.Get("a")
	if err != nil {
		t.Fatal(err)
	}
	c.quarantine.Panicked(subject{r}, git.ErrCorrupt)
	if _, err := r.Tips(); !errors.Is(err, ErrQuarantined) || errors.Is(err, git.ErrNotFound) {
		t.Errorf("Tips: %v", err)
	}
	if name, _, _ := r.HeadTip(); name != "" {
		t.Errorf("HeadTip: %s", name)
	}
	if _, err := r.Snapshot(); !errors.Is(err, ErrQuarantined) || errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot: %v", err)
	}
}

// A lookup too soon after another one is made up for.
func TestRepositoryIsFoundASecondAfterALookupThatCameTooSoon(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c, err := Open(root, Options{Rescan: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { c.Watch(ctx) })
		gittest.At(t, filepath.Join(root, "late.git"))
		if _, err := c.Get("late"); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("the folder was walked again at once: %v", err)
		}
		time.Sleep(missRescan + time.Millisecond)
		if _, err := c.Known("late"); err != nil {
			t.Error(err)
		}
		cancel()
		watching.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

package git

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/gittest"
)

// panicked is an observer of panics.
type panicked struct {
	unobserved
	errors []error
}

func (p *panicked) Panicked(err error) { p.errors = append(p.errors, err) }

// harmed is a repository with an observer of its panics.
func harmed(t *testing.T) (*Repository, *panicked) {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "a.git"))
	repo.Commit("main", gittest.Regular("f", "1\n"))
	repo.Git("tag", "v1", "main")
	store, err := NewStore(root, StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	observer := new(panicked)
	return store.Repository("a.git", Options{ReachableOnly: true, Observer: observer}), observer
}

// expectPanic fails unless the error is damage by a panic, and the observer got it once.
func expectPanic(t *testing.T, err error, observer *panicked) {
	t.Helper()
	var found *panics.Error
	if !errors.Is(err, ErrCorrupt) || !errors.As(err, &found) || len(found.Stack) == 0 {
		t.Errorf("it failed with %v, want damage by a panic with its stack", err)
	}
	if len(observer.errors) != 1 || !errors.Is(observer.errors[0], ErrCorrupt) {
		t.Errorf("the observer is told %v, want one panic", observer.errors)
	}
}

// Every way to read that panics fails as damage: the object database of the snapshot is taken away,
// over which the real code panics.
func TestAPanicOverObjectsIsDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, read := range map[string]func(s *Snapshot, id ID) error{
		"Commit":   func(s *Snapshot, id ID) error { _, err := s.Commit(id); return err },
		"Tree":     func(s *Snapshot, id ID) error { _, err := s.Tree(id); return err },
		"TreePage": func(s *Snapshot, id ID) error { _, _, err := s.TreePage(id, "", 10); return err },
		"Stored":   func(s *Snapshot, id ID) error { _, err := s.StoredTree(id, nil); return err },
		"Raw":      func(s *Snapshot, id ID) error { _, err := s.RawCommit(id); return err },
		"Blob":     func(s *Snapshot, id ID) error { _, err := s.Blob(ctx, id); return err },
		"ReadBlob": func(s *Snapshot, id ID) error { _, err := s.ReadBlob(id, 10, nil); return err },
		"PeekBlob": func(s *Snapshot, id ID) error { _, _, err := s.PeekBlob(id, 10); return err },
		"Size":     func(s *Snapshot, id ID) error { _, err := s.Size(id); return err },
		"Resolve":  func(s *Snapshot, _ ID) error { _, err := s.Resolve(ctx, "main"); return err },
		"Treeish":  func(s *Snapshot, _ ID) error { _, err := s.ResolveTreeish(ctx, "main"); return err },
		"Head":     func(s *Snapshot, _ ID) error { _, err := s.Head(); return err },
		"Ref":      func(s *Snapshot, _ ID) error { _, err := s.Ref("refs/tags/v1"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, observer := harmed(t)
			s, err := r.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			held := s.objects
			s.objects = nil
			err = read(s, ID{1})
			s.objects = held
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			expectPanic(t, err, observer)
		})
	}
}

// Refs that are read without their objects fail in the same way.
func TestAPanicOverRefsIsDamage(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(r *Repository) error{
		"Tips":    func(r *Repository) error { _, err := r.Tips(); return err },
		"HeadTip": func(r *Repository) error { _, _, err := r.HeadTip(); return err },
		"LongestRef": func(r *Repository) error {
			_, _, err := r.LongestRef("refs/heads/", "main", "contents")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, observer := harmed(t)
			held := r.store.objects
			r.store.objects = nil
			err := read(r)
			r.store.objects = held
			expectPanic(t, err, observer)
		})
	}
}

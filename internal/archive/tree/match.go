package tree

import (
	"context"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/git"
)

// NoMatchError means that an option matches nothing in the commit.
type NoMatchError struct {
	// Option is the option's name, and Value its value: a pathspec or a folder.
	Option, Value string
}

func (e *NoMatchError) Error() string {
	return fmt.Sprintf("%s %q matches nothing in this commit", e.Option, e.Value)
}

// Unwrap returns [git.ErrNotFound].
func (e *NoMatchError) Unwrap() error { return git.ErrNotFound }

// matchEach refuses a pathspec that matches nothing, as git does, before the first byte.
func (s *Selection) matchEach(ctx context.Context) error {
	if s.spec == nil {
		return nil
	}
	checks := s.spec.Checks()
	for i := range checks {
		ok, err := s.matches(ctx, &checks[i])
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		if i < len(s.Paths) {
			return &NoMatchError{"path", s.Paths[i]}
		}
		return &NoMatchError{"exclude", s.Exclude[i-len(s.Paths)]}
	}
	return nil
}

func (s *Selection) matches(ctx context.Context, check *pathspec.Check) (bool, error) {
	if path, folder, ok := check.Path(); ok {
		return s.exists(path, folder)
	}
	return s.search(ctx, check)
}

// exists looks up one path.
func (s *Selection) exists(path string, isFolder bool) (bool, error) {
	at := s.Root
	for start := 0; ; {
		name, _, more := strings.Cut(path[start:], "/")
		e, ok := at.find(name)
		if !ok {
			return false, nil
		}
		if !more {
			return !isFolder || e.Mode.IsDir() || e.Mode.IsGitlink(), nil
		}
		start += len(name)
		var err error
		if at, ok, err = s.enter(at, path[:start], e); !ok || err != nil {
			return false, err
		}
		start += len("/")
	}
}

// search walks the tree until a pathspec matches.
func (s *Selection) search(ctx context.Context, check *pathspec.Check) (found bool, err error) {
	var seen int64
	enter := false
	folders := []Folder{s.Root} // on the walk's path
	for e, err := range git.WalkTree("", s.Root.Entries, func(e git.WalkedEntry) ([]git.TreeEntry, error) {
		if !enter {
			return nil, nil
		}
		below, ok, err := s.enter(folders[e.Depth-1], string(e.Path), e.TreeEntry)
		if !ok || err != nil {
			return nil, err
		}
		if e.Depth >= s.Limits.Depth {
			return nil, s.Limits.DepthExceeded()
		}
		folders = append(folders[:e.Depth], below)
		return below.Entries, context.Cause(ctx)
	}) {
		if err != nil {
			return false, err
		}
		if seen++; seen > s.Limits.Entries {
			return false, s.Limits.EntriesExceeded()
		}
		if len(e.Path) > s.Limits.PathBytes {
			return false, s.Limits.PathExceeded()
		}
		found, enter = check.Match(e.Path, kindOfPath(e.Mode))
		if !found && e.Mode.IsGitlink() && s.modules[string(e.Path)] != nil {
			found, enter = check.Match(e.Path, pathspec.Folder)
		}
		if found {
			return true, nil
		}
	}
	return false, context.Cause(ctx)
}

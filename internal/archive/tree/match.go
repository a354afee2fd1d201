package tree

import (
	"context"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/repos"
)

// NoMatchError says that an option names nothing of the commit.
type NoMatchError struct {
	// Option is its name, Value what was given: a pathspec or a folder.
	Option, Value string
}

func (e *NoMatchError) Error() string {
	return fmt.Sprintf("%s %q matches nothing in this commit", e.Option, e.Value)
}

// Unwrap gives [repos.ErrNotFound].
func (e *NoMatchError) Unwrap() error { return repos.ErrNotFound }

// matchEach refuses a pathspec that matches nothing, as git does, before the
// first byte.
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
	search := search{ctx: ctx, selection: s, check: check}
	return search.folder(nil, s.Root, 1)
}

// exists looks one path up.
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

// search walks until a pathspec matches.
type search struct {
	ctx       context.Context
	selection *Selection
	check     *pathspec.Check
	seen      int64
}

func (s *search) folder(path []byte, in Folder, depth int) (found bool, err error) {
	limits := s.selection.Limits
	if depth > limits.Depth {
		return false, limits.DepthExceeded()
	}
	for _, e := range in.Entries {
		if s.seen++; s.seen > limits.Entries {
			return false, limits.EntriesExceeded()
		}
		found, err := s.entry(append(path[:len(path):len(path)], e.Name...), in, e, depth)
		if found || err != nil {
			return found, err
		}
	}
	return false, context.Cause(s.ctx)
}

func (s *search) entry(path []byte, in Folder, e repos.TreeEntry, depth int) (bool, error) {
	if len(path) > s.selection.Limits.PathBytes {
		return false, s.selection.Limits.PathExceeded()
	}
	found, enter := s.check.Match(path, kindOfPath(e.Mode))
	if !found && e.Mode.IsGitlink() {
		if s.selection.modules[string(path)] == nil {
			return false, nil
		}
		found, enter = s.check.Match(path, pathspec.Folder)
	}
	if found || !enter {
		return found, nil
	}
	below, ok, err := s.selection.enter(in, string(path), e)
	if !ok || err != nil {
		return false, err
	}
	return s.folder(append(path, '/'), below, depth+1)
}

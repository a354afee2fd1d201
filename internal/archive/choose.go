package archive

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

// choose finds what paths, exclude and strip name.
func (p *Plan) choose(ctx context.Context) error {
	if len(p.options.Paths)+len(p.options.Exclude) > 0 {
		var err error
		if p.selected, err = pathspec.New(p.options.Paths, p.options.Exclude); err != nil {
			return fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	if err := p.openSubmodules(ctx); err != nil {
		return err
	}
	if err := p.findStripped(); err != nil {
		return err
	}
	if p.selected == nil {
		return nil
	}
	return p.matchEach(ctx)
}

// findStripped walks down to the folder that is left out of the paths.
func (p *Plan) findStripped() error {
	p.top = folder{p.source, p.head.Tree, p.root}
	if p.options.Strip == "" {
		return nil
	}
	length := 0
	for name := range strings.SplitSeq(p.options.Strip, "/") {
		length += len(name)
		e, ok := find(p.top.entries, name)
		if ok {
			var err error
			if p.top, ok, err = p.enter(p.top, p.options.Strip[:length], e); err != nil {
				return err
			}
		}
		if !ok {
			return &NoMatchError{"strip", p.options.Strip}
		}
		p.stripped = append(p.stripped, e)
		length += len("/")
	}
	return nil
}

func find(entries []repos.TreeEntry, name string) (repos.TreeEntry, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return repos.TreeEntry{}, false
}

// matchEach refuses a pathspec that matches nothing, as git does, before the
// first byte.
func (p *Plan) matchEach(ctx context.Context) error {
	checks := p.selected.Checks()
	for i := range checks {
		ok, err := p.matches(ctx, &checks[i])
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		if i < len(p.options.Paths) {
			return &NoMatchError{"path", p.options.Paths[i]}
		}
		return &NoMatchError{"exclude", p.options.Exclude[i-len(p.options.Paths)]}
	}
	return nil
}

func (p *Plan) matches(ctx context.Context, check *pathspec.Check) (bool, error) {
	if path, folder, ok := check.Path(); ok {
		return p.exists(path, folder)
	}
	search := search{ctx: ctx, plan: p, check: check}
	return search.folder(nil, folder{p.source, p.head.Tree, p.root}, 1)
}

// exists looks one path up.
func (p *Plan) exists(path string, isFolder bool) (bool, error) {
	at := folder{p.source, p.head.Tree, p.root}
	for start := 0; ; {
		name, _, more := strings.Cut(path[start:], "/")
		e, ok := find(at.entries, name)
		if !ok {
			return false, nil
		}
		if !more {
			return !isFolder || e.Mode.IsDir() || e.Mode.IsGitlink(), nil
		}
		start += len(name)
		var err error
		if at, ok, err = p.enter(at, path[:start], e); !ok || err != nil {
			return false, err
		}
		start += len("/")
	}
}

// search walks until a pathspec matches.
type search struct {
	ctx   context.Context
	plan  *Plan
	check *pathspec.Check
	seen  int64
}

func (s *search) folder(path []byte, in folder, depth int) (found bool, err error) {
	limits := s.plan.options.Limits
	if depth > limits.Depth {
		return false, limitDepth(limits)
	}
	for _, e := range in.entries {
		if s.seen++; s.seen > limits.Entries {
			return false, limitEntries(limits)
		}
		found, err := s.entry(append(path[:len(path):len(path)], e.Name...), in, e, depth)
		if found || err != nil {
			return found, err
		}
	}
	return false, context.Cause(s.ctx)
}

func (s *search) entry(path []byte, in folder, e repos.TreeEntry, depth int) (bool, error) {
	if len(path) > s.plan.options.Limits.PathBytes {
		return false, limitPath(s.plan.options.Limits)
	}
	found, enter := s.check.Match(path, kindOfPath(e.Mode))
	if !found && e.Mode.IsGitlink() {
		if s.plan.modules[string(path)] == nil {
			return false, nil
		}
		found, enter = s.check.Match(path, pathspec.Folder)
	}
	if found || !enter {
		return found, nil
	}
	below, ok, err := s.plan.enter(in, string(path), e)
	if !ok || err != nil {
		return false, err
	}
	return s.folder(append(path, '/'), below, depth+1)
}

// kindOfPath is what pathspecs tell apart.
func kindOfPath(mode repos.Mode) pathspec.Kind {
	switch {
	case mode.IsDir():
		return pathspec.Folder
	case mode.IsGitlink():
		return pathspec.Gitlink
	default:
		return pathspec.File
	}
}

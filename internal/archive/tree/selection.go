package tree

import (
	"context"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/git"
)

// Options select entries and the use of attributes. They are in canonical form, with limits set.
type Options struct {
	// Paths and Exclude are git pathspecs; no path means everything.
	Paths, Exclude []string
	// Prefix is added before every path; Strip is the folder that paths are relative to.
	Prefix, Strip string
	// Attributes selects the use of the trees' attributes. For an archive the content of
	// info/attributes, Info, applies as well.
	Attributes Use
	Info       []byte
	// Clone refuses a tree that no index can have, or that is unsafe to check out: [ErrClone].
	Clone bool
	// LFS replaces Git LFS pointers by their objects.
	LFS bool
	// Siblings opens the repositories of submodules to include their content; nil leaves their
	// folders empty.
	Siblings Siblings
	Limits   Limits
}

// Use is the use of attributes.
type Use uint8

// The uses.
const (
	ForNothing  Use = iota // files stay as they are stored
	ForArchive             // as in git archive
	ForCheckout            // as in git checkout: all files are included, and $Format$ stays
)

// Selection is the part of a tree that options select.
type Selection struct {
	Options
	Root     Folder
	Stripped []git.TreeEntry // folders from the root to Options.Strip
	spec     *pathspec.Spec  // nil: everything
	top      Folder          // the last stripped folder, or the root
	modules  map[string]*Module
}

// Select resolves the options; [NoMatchError] reports missing paths. It opens submodules, so that
// later changes to the set of repositories have no effect.
func Select(ctx context.Context, root Folder, options Options) (*Selection, error) {
	s := &Selection{Options: options, Root: root}
	if len(options.Paths)+len(options.Exclude) > 0 {
		var err error
		if s.spec, err = pathspec.New(options.Paths, options.Exclude); err != nil {
			return nil, err
		}
	}
	if err := s.openSubmodules(ctx); err != nil {
		return nil, err
	}
	if err := s.findStripped(); err != nil {
		return nil, err
	}
	return s, s.matchEach(ctx)
}

// MayLack reports whether the repository, or that of an included submodule, may lack files without
// being damaged.
func (s *Selection) MayLack() bool {
	for _, m := range s.modules {
		if m.Source.MayLack() {
			return true
		}
	}
	return s.Root.Source.MayLack()
}

// Rules returns the rules above the root.
func (s *Selection) Rules() *Rules { return s.newRules(s.Info) }

// Match reports whether the paths select a file, link or gitlink, or may select something in a
// folder.
func (s *Selection) Match(path []byte, mode git.Mode) bool {
	return s.matchKind(path, kindOfPath(mode))
}

func (s *Selection) matchKind(path []byte, kind pathspec.Kind) bool {
	return s.spec == nil || s.spec.Match(path, kind)
}

// kindOfPath returns the kind of an entry for pathspecs.
func kindOfPath(mode git.Mode) pathspec.Kind {
	switch {
	case mode.IsDir():
		return pathspec.Folder
	case mode.IsGitlink():
		return pathspec.Gitlink
	default:
		return pathspec.File
	}
}

// findStripped descends to the folder that is stripped from the paths.
func (s *Selection) findStripped() error {
	s.top = s.Root
	if s.Strip == "" {
		return nil
	}
	length := 0
	for name := range strings.SplitSeq(s.Strip, "/") {
		length += len(name)
		e, ok := s.top.find(name)
		if ok {
			var err error
			if s.top, ok, err = s.enter(s.top, s.Strip[:length], e); err != nil {
				return err
			}
		}
		if !ok {
			return &NoMatchError{"strip", s.Strip}
		}
		s.Stripped = append(s.Stripped, e)
		length += len("/")
	}
	return nil
}

// enter returns the contents of a folder, or of an included submodule. ok is false for other
// entries.
func (s *Selection) enter(in Folder, path string, e git.TreeEntry) (below Folder, ok bool, err error) {
	if m := s.modules[path]; m != nil && e.Mode.IsGitlink() {
		return m.root, true, nil
	}
	if !e.Mode.IsDir() {
		return Folder{}, false, nil
	}
	below, err = ReadFolder(in.Source, e.ID)
	return below, err == nil, err
}

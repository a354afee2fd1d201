package tree

import (
	"context"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/git"
)

// Options choose entries, and which attributes count. They are in canonical
// form, and limits have no zeros.
type Options struct {
	// Paths and Exclude are git pathspecs; no path means everything.
	Paths, Exclude []string
	// Prefix is put before every path; Strip is the folder that paths begin
	// below.
	Prefix, Strip string
	// Attributes says what those of the trees are for. For an archive Info counts as
	// well, the content of info/attributes.
	Attributes Use
	Info       []byte
	// LFS says that pointers of git-lfs stand for their objects.
	LFS bool
	// Siblings opens what submodules name, whose content is then taken; nil
	// leaves their folders empty.
	Siblings Siblings
	Limits   Limits
}

// Use is what attributes are for.
type Use uint8

// The uses.
const (
	ForNothing  Use = iota // files stay as they are stored
	ForArchive             // as in git archive
	ForCheckout            // as in git checkout: all files are there, and $Format$ stays
)

// Selection is what options take of a tree.
type Selection struct {
	Options
	Root     Folder
	Stripped []git.TreeEntry // folders from the root down to Options.Strip
	spec     *pathspec.Spec  // nil: everything
	top      Folder          // the last of the stripped folders, or the root
	modules  map[string]*Module
}

// Select finds what the options name: [NoMatchError] is for what is not there.
// Submodules are opened here, so that from then on nothing depends on which
// repositories come and go.
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

// MayLack reports whether the repository, or one whose submodule's content is taken, may
// lack files although nothing is damaged.
func (s *Selection) MayLack() bool {
	for _, m := range s.modules {
		if m.Source.MayLack() {
			return true
		}
	}
	return s.Root.Source.MayLack()
}

// Rules are those above the root.
func (s *Selection) Rules() *Rules { return s.newRules(s.Info) }

// Match reports whether the paths select a file, link or gitlink, or whether they
// may select something in a folder.
func (s *Selection) Match(path []byte, mode git.Mode) bool {
	return s.matchKind(path, kindOfPath(mode))
}

func (s *Selection) matchKind(path []byte, kind pathspec.Kind) bool {
	return s.spec == nil || s.spec.Match(path, kind)
}

// kindOfPath is what pathspecs tell apart.
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

// findStripped walks down to the folder that is left out of the paths.
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

// enter returns what is in a folder, or in a submodule whose content is taken.
// Other entries have nothing in them.
func (s *Selection) enter(in Folder, path string, e git.TreeEntry) (below Folder, ok bool, err error) {
	if m := s.modules[path]; m != nil && e.Mode.IsGitlink() {
		return m.root, true, nil
	}
	if !e.Mode.IsDir() {
		return Folder{}, false, nil
	}
	below, err = ReadFolder(in.Source, e.ID)
	return below, err == nil, Damaged(err)
}

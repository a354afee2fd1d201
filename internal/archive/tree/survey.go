package tree

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/convert"
	"github.com/repomcp/repomcp/internal/git"
)

// quickSurvey is how many different folders are looked at before an archive
// begins. It finds every tree that is large because it repeats itself (ten
// folders of ten of ten, "git bomb"), in a few milliseconds; other large trees
// end at their limit while they are written, or by a whole survey.
const quickSurvey = 256

// exportSubst is the attribute that can make an archive depend on refs.
const exportSubst = "export-subst"

// errUnfinished says that a survey would have had to look at more folders.
var errUnfinished = errors.New("survey: too many folders")

// SurveyQuickly looks at a few hundred folders for what is too large: [ErrLimit].
func (s *Selection) SurveyQuickly(ctx context.Context) error {
	if _, err := s.survey(ctx, quickSurvey); err != nil && !errors.Is(err, errUnfinished) {
		return err
	}
	return nil
}

// Found is what a tree may have that has to be looked at more closely. The entries that
// have it may yet be left out.
type Found struct {
	// Substitutes says that a file may have export-subst, and UnknownEncodings that one
	// may be meant for an encoding that is not known.
	Substitutes, UnknownEncodings bool
	// LongLinks says that a link is above [MaxLinkBytes].
	LongLinks bool
}

// Survey looks at all folders.
func (s *Selection) Survey(ctx context.Context) (Found, error) {
	survey, err := s.survey(ctx, -1)
	if err != nil {
		return Found{}, err
	}
	found := survey.found
	found.mentionedIn(s.Info)
	found.Substitutes = found.Substitutes && s.Attributes == ForArchive
	found.UnknownEncodings = found.UnknownEncodings && s.Attributes != ForNothing
	return found, nil
}

// mentionedIn adds what a file of attributes may ask for.
func (f *Found) mentionedIn(content []byte) {
	f.Substitutes = f.Substitutes || attributes.CanMention(content, exportSubst)
	f.UnknownEncodings = f.UnknownEncodings || convert.MentionsUnknownEncoding(content)
}

// survey holds a whole tree against the limits. What paths select of it is
// only bounded while it is written.
func (s *Selection) survey(ctx context.Context, budget int) (*survey, error) {
	found := &survey{ctx: ctx, limits: s.Limits, budget: budget, sizes: s.Limits.sizes()}
	err := found.look(s.top)
	if err == nil && len(s.modules) == 0 { // with some the validator is weak in any case
		err = s.lookAbove(found)
	}
	for _, m := range s.Modules(s.Strip) {
		if err == nil {
			err = found.look(m.root)
		}
	}
	if s.spec != nil && errors.Is(err, ErrLimit) {
		found.found, err = Found{Substitutes: true, UnknownEncodings: true, LongLinks: true}, nil
	}
	return found, err
}

// lookAbove looks at the attributes of the folders above the one that is
// surveyed, which count in it as well.
func (s *Selection) lookAbove(found *survey) error {
	entries := s.Root.Entries
	for i, folder := range s.Stripped {
		if e, ok := AttributesFile(entries); ok {
			if err := found.mentions(e.ID); err != nil {
				return err
			}
		}
		if i == len(s.Stripped)-1 {
			break // it is the one surveyed
		}
		var err error
		if entries, err = s.Root.Source.Tree(folder.ID); err != nil {
			return Damaged(err)
		}
	}
	return nil
}

// survey looks at each different folder of a tree once, and so knows the
// extent of trees of any size that are made of few objects, which no walk of
// entries could count. It reads no file but .gitattributes.
type survey struct {
	ctx     context.Context
	source  Source
	limits  Limits
	sizes   bool // look at the sizes of files
	budget  int  // of different folders; negative: any number
	folders map[git.ID]extent
	found   Found
	// Of all folders that were given to look.
	entries, bytes int64
}

// extent is how far a folder goes. Sums stop growing above all limits.
type extent struct {
	entries int64
	bytes   int64 // of files
	blob    int64 // the largest file
	depth   int
	path    int // length of the longest path below the folder
}

// look surveys a tree, and holds it and those before against the limits.
func (s *survey) look(top Folder) error {
	if s.folders == nil {
		s.folders = make(map[git.ID]extent)
	}
	s.source = top.Source
	found, err := s.folder(top.ID, 1)
	if err != nil {
		return err
	}
	s.entries = min(s.entries+found.entries, s.limits.Entries+1)
	s.bytes = min(s.bytes+found.bytes, s.limits.Bytes+1)
	for _, bound := range []struct {
		over bool
		err  func(Limits) error
	}{
		{s.entries > s.limits.Entries, Limits.EntriesExceeded},
		{found.depth > s.limits.Depth, Limits.DepthExceeded},
		{found.path > s.limits.PathBytes, Limits.PathExceeded},
		{found.blob > s.limits.BlobBytes, Limits.BlobExceeded},
		{s.bytes > s.limits.Bytes, Limits.BytesExceeded},
	} {
		if bound.over {
			return bound.err(s.limits)
		}
	}
	return nil
}

func (s *survey) folder(id git.ID, depth int) (extent, error) {
	if known, ok := s.folders[id]; ok {
		return known, nil
	}
	if err := context.Cause(s.ctx); err != nil {
		return extent{}, err
	}
	if depth > s.limits.Depth {
		return extent{}, s.limits.DepthExceeded()
	}
	if s.budget == 0 {
		return extent{}, errUnfinished
	}
	s.budget--
	entries, err := s.source.Tree(id)
	if err != nil {
		return extent{}, Damaged(err)
	}
	sum := extent{depth: 1}
	for _, e := range entries {
		if err := s.add(&sum, e, depth); err != nil {
			return extent{}, err
		}
	}
	s.folders[id] = sum
	return sum, nil
}

// add counts an entry and what is below it.
func (s *survey) add(sum *extent, e git.TreeEntry, depth int) error {
	sum.entries++
	below := extent{path: -len("/")}
	var err error
	switch {
	case e.Mode.IsDir():
		below, err = s.folder(e.ID, depth+1)
	case isAttributesFile(e):
		err = s.mentions(e.ID)
	}
	if err != nil {
		return err
	}
	if e.Mode.IsSymlink() || s.sizes && e.Mode.IsRegular() {
		if below.bytes, err = s.source.Size(e.ID); err != nil {
			return Damaged(err)
		}
		below.blob = below.bytes
		s.found.LongLinks = s.found.LongLinks || e.Mode.IsSymlink() && below.bytes > MaxLinkBytes
	}
	sum.entries = min(sum.entries+below.entries, s.limits.Entries+1)
	sum.bytes = min(sum.bytes+below.bytes, s.limits.Bytes+1)
	sum.blob = max(sum.blob, below.blob)
	sum.depth = max(sum.depth, below.depth+1)
	sum.path = max(sum.path, len(e.Name)+len("/")+below.path)
	return nil
}

// mentions looks into a .gitattributes.
func (s *survey) mentions(id git.ID) error {
	content, err := readAttributes(s.source, id)
	s.found.mentionedIn(content)
	return err
}

package tree

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/convert"
	"github.com/repomcp/repomcp/internal/git"
)

// quickSurvey bounds the different folders that are examined before an archive begins. It detects
// every tree that is large by repetition (ten folders of ten of ten, "git bomb"), in a few
// milliseconds; other large trees reach their limit while they are written, or in a whole survey.
const quickSurvey = 256

// exportSubst is the attribute that can make an archive depend on refs.
const exportSubst = "export-subst"

// errUnfinished means that a survey would have to examine more folders.
var errUnfinished = errors.New("survey: too many folders")

// SurveyQuickly examines a few hundred folders for an [ErrLimit].
func (s *Selection) SurveyQuickly(ctx context.Context) error {
	if _, err := s.survey(ctx, quickSurvey); err != nil && !errors.Is(err, errUnfinished) {
		return err
	}
	return nil
}

// Found lists properties of a tree that require a closer look. The entries with them may still be
// excluded.
type Found struct {
	// Substitutes means that a file may have export-subst, and UnknownEncodings that one may need
	// an unknown encoding.
	Substitutes, UnknownEncodings bool
	// LongLinks means that a link exceeds [MaxLinkBytes].
	LongLinks bool
}

// Survey examines all folders, and also returns the number of entries in them.
func (s *Selection) Survey(ctx context.Context) (found Found, entries int64, err error) {
	survey, err := s.survey(ctx, -1)
	if err != nil {
		return Found{}, 0, err
	}
	found = survey.found
	found.mentionedIn(s.Info)
	found.Substitutes = found.Substitutes && s.Attributes == ForArchive
	found.UnknownEncodings = found.UnknownEncodings && s.Attributes != ForNothing
	return found, survey.entries, nil
}

// mentionedIn adds what a file of attributes may ask for.
func (f *Found) mentionedIn(content []byte) {
	f.Substitutes = f.Substitutes || attributes.CanMention(content, exportSubst)
	f.UnknownEncodings = f.UnknownEncodings || convert.MentionsUnknownEncoding(content)
}

// survey compares a whole tree with the limits. What paths select of it is only bounded while
// writing.
func (s *Selection) survey(ctx context.Context, budget int) (*survey, error) {
	found := &survey{ctx: ctx, limits: s.Limits, budget: budget, sizes: s.Limits.sizes(), clone: s.Clone}
	err := found.examine(s.top)
	if err == nil && len(s.modules) == 0 { // submodules make the validator weak in any case
		err = s.examineAbove(found)
	}
	for _, m := range s.Modules(s.Strip) {
		if err == nil {
			err = found.examine(m.root)
		}
	}
	if s.spec != nil && errors.Is(err, ErrLimit) {
		found.found, err = Found{Substitutes: true, UnknownEncodings: true, LongLinks: true}, nil
	}
	return found, err
}

// examineAbove examines the attributes of the parents of the surveyed folder, which apply in it as
// well.
func (s *Selection) examineAbove(found *survey) error {
	entries := s.Root.Entries
	for i, folder := range s.Stripped {
		if e, ok := AttributesFile(entries); ok {
			if err := found.mentions(e.ID); err != nil {
				return err
			}
		}
		if i == len(s.Stripped)-1 {
			break // the surveyed folder itself
		}
		var err error
		if entries, err = s.Root.Source.Tree(folder.ID); err != nil {
			return git.MustExist(folder.ID, err)
		}
	}
	return nil
}

// survey examines each different folder of a tree once. So it determines the extent of huge trees
// that consist of few objects, which no walk could count. It reads no file but .gitattributes.
type survey struct {
	ctx     context.Context
	source  Source
	limits  Limits
	sizes   bool // examine the sizes of files
	clone   bool // refuse names: see Options.Clone
	budget  int  // of different folders; negative: unlimited
	folders map[git.ID]extent
	found   Found
	// Sums over all examined folders.
	entries, bytes int64
}

// extent is the extent of a folder. Sums stop growing above all limits.
type extent struct {
	entries int64
	bytes   int64 // of files
	blob    int64 // the largest file
	depth   int
	path    int // length of the longest path below the folder
}

// examine surveys a tree, and compares it and the previous ones with the limits.
func (s *survey) examine(top Folder) error {
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
		return extent{}, git.MustExist(id, err)
	}
	if s.clone {
		if err := checkClone(entries); err != nil {
			return extent{}, err
		}
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

// add counts an entry and everything below it.
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
			return git.MustExist(e.ID, err)
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

// mentions reads a .gitattributes.
func (s *survey) mentions(id git.ID) error {
	content, err := readAttributes(s.source, id)
	s.found.mentionedIn(content)
	return err
}

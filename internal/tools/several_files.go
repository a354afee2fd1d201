package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
)

const (
	// maxFiles bounds the files of one call.
	maxFiles = 20
	// maxProblemBytes bounds the reason why one of them is not shown.
	maxProblemBytes = 500
)

// fileRequest is an element of the argument files.
type fileRequest struct {
	path, ref string
	lines     lineRange
}

// defineFiles adds the argument files. An element may be a path alone.
func defineFiles(p *arguments.List, to *[]fileRequest) {
	p.Objects("files", fmt.Sprintf("Up to %d files instead of path; lines such as 10-20.", maxFiles),
		[]string{"path", "ref", "lines"}, func(elements []any) string {
			if len(elements) > maxFiles {
				return fmt.Sprintf("has more than %d files", maxFiles)
			}
			requests := make([]fileRequest, len(elements))
			for i, element := range elements {
				if err := requests[i].read(element); err != nil {
					return fmt.Sprintf("is wrong in its file %d: %v", i+1, err)
				}
			}
			*to = requests
			return ""
		})
}

// read reads an element as strictly as arguments.
func (r *fileRequest) read(element any) error {
	if path, ok := element.(string); ok {
		element = map[string]any{"path": path}
	}
	p := &arguments.List{Synonyms: synonyms}
	p.Text(&r.path, "path", "").Required = true
	p.Text(&r.ref, "ref", "")
	r.lines.defineLines(p)
	p.Number(&r.lines.start, "start_line", "", 1, math.MaxInt32).Hidden = true
	p.Number(&r.lines.end, "end_line", "", 1, math.MaxInt32).Hidden = true
	if err := p.Read(element); err != nil {
		return err
	}
	return r.lines.check()
}

// isPinned implements target. Each of several files may have a ref of its own.
func (a fileArguments) isPinned() bool {
	return a.revision.isPinned() && !slices.ContainsFunc(a.files, func(f fileRequest) bool {
		return f.ref != "" && !revision{ref: f.ref}.isPinned()
	})
}

// shownFile is a file of a result that has several.
type shownFile struct {
	file
	request fileRequest
	excerpt excerpt.Excerpt
	problem string // why its text is not shown
}

// showFiles shows several files in one result. A file that cannot be shown is told in its place.
func (v *visit) showFiles(ctx context.Context, a fileArguments) error {
	shown := make([]shownFile, len(a.files))
	var reads []resources.Read
	for i, request := range a.files {
		var err error
		if shown[i], err = v.openShown(ctx, a, request); err != nil {
			return err
		}
		if s := &shown[i]; s.problem == "" {
			reads = append(reads, resources.Read{Repository: v.name(), Commit: s.at.ID.String(), Path: s.entry.path})
		}
	}
	if len(reads) == 0 {
		return say("None of the files can be shown. %s", shown[0].problem)
	}
	resources.AccountOf(ctx).Read(reads)
	room := maxListedBytes
	for i := range shown {
		room -= len(shown[i].header()) + len(cutHere("Go on with path and start_line=1000000"))
	}
	if err := shareRoom(ctx, shown, max(room, minPatchBytes)); err != nil {
		return err
	}
	var text strings.Builder
	for i := range shown {
		startLine(&text, text.String())
		text.WriteString(shown[i].header())
		text.WriteString(shown[i].excerpt.Text)
		if x := shown[i].excerpt; x.Cut {
			startLine(&text, x.Text)
			next := fmt.Sprintf("path and start_line=%d", x.Last+1)
			text.WriteString(cutHere("Go on with " + next))
			v.note("%s is truncated after line %d.", quote(clip(shown[i].entry.path)), x.Last)
		}
	}
	v.content, v.isText = text.String(), true
	return nil
}

// openShown finds a file and reads as much of it as a result has room for. Errors are those of the
// server; the caller's are the problem of the file.
func (v *visit) openShown(ctx context.Context, a fileArguments, request fileRequest) (shownFile, error) {
	s := shownFile{request: request}
	of := a.revision
	if request.ref != "" {
		of.ref, of.sha = request.ref, ""
	}
	at, e, err := v.entryOf(ctx, of, request.path)
	if err != nil {
		s.entry.path = request.path
		s.problem, err = problemOf(ctx, err)
		return s, err
	}
	s.file = file{v, at, e}
	s.request.lines = request.lines.orSuffix(request.path, e)
	if !e.Mode.IsRegular() {
		s.problem = fmt.Sprintf("%s is a %s. Ask for it with path alone.", quote(clip(e.path)), kindOf(e.Mode))
		return s, nil
	}
	if a.outline || a.symbol != "" {
		s.problem, err = s.readDefinitions(ctx, a)
		return s, err
	}
	return s, s.read(ctx, maxListedBytes)
}

// readDefinitions takes the outline, or the definition of a symbol, as the text of the file.
func (s *shownFile) readDefinitions(ctx context.Context, a fileArguments) (problem string, err error) {
	part := s.file
	part.visit = &visit{s.service, &result{}, s.repository, s.snapshot}
	if a.outline {
		err = part.showOutline(ctx, s.request.lines)
	} else {
		err = part.showSymbol(ctx, a.symbol)
	}
	if err != nil {
		return problemOf(ctx, err)
	}
	s.excerpt = excerpt.Beginning(part.content, maxListedBytes)
	s.request.lines = lineRange{}
	return "", nil
}

// problemOf returns the message of an error that is about one file alone.
func problemOf(ctx context.Context, err error) (problem string, _ error) {
	text, unexpected := words(err)
	if unexpected || ctx.Err() != nil {
		return "", err
	}
	return quoting.Clip(text, maxProblemBytes), nil
}

// read reads the requested lines, as many as a limit allows.
func (s *shownFile) read(ctx context.Context, limit int) (err error) {
	blob, err := s.snapshot.Blob(ctx, s.entry.ID)
	if err != nil {
		return git.MustExist(s.entry.ID, err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	lines := s.request.lines
	if s.excerpt, err = excerpt.Read(ctx, blob, lines.start, lines.end, limit); err != nil {
		return err
	}
	switch x := s.excerpt; {
	case x.Binary:
		s.problem = quote(clip(s.entry.path)) + " is not a text file. Ask for it with path alone."
	case lines.start > x.Total && lines.start > 1:
		s.problem = fmt.Sprintf("%s has %s.", quote(clip(s.entry.path)), countLines(x))
	}
	return nil
}

// header is the line that marks a file in the result.
func (s *shownFile) header() string {
	name := quote(clip(s.entry.path))
	if s.problem != "" {
		return fmt.Sprintf("==> %s is not shown: %s <==\n", name, s.problem)
	}
	where := ""
	if x := s.excerpt; s.request.lines != (lineRange{}) {
		where = fmt.Sprintf(", lines %d to %d of %d", x.First, x.Last, x.Total)
	}
	return fmt.Sprintf("==> %s of %s%s <==\n", name, s.at, where)
}

// shareRoom cuts the longest files so that all together fit: the short ones stay whole.
func shareRoom(ctx context.Context, shown []shownFile, room int) error {
	bySize := make([]*shownFile, len(shown))
	for i := range shown {
		bySize[i] = &shown[i]
	}
	slices.SortStableFunc(bySize, func(a, b *shownFile) int { return len(a.excerpt.Text) - len(b.excerpt.Text) })
	for i, s := range bySize {
		share := room / (len(bySize) - i)
		if len(s.excerpt.Text) > share {
			first, total, counted := s.excerpt.First, s.excerpt.Total, s.excerpt.Counted
			s.excerpt = excerpt.Beginning(s.excerpt.Text, share)
			s.excerpt.First, s.excerpt.Total, s.excerpt.Counted = first, total, counted
			s.excerpt.Last += first - 1
		}
		room -= len(s.excerpt.Text)
	}
	return ctx.Err()
}

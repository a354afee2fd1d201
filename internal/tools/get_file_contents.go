package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/lfs"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// maxTargetBytes bounds the target of a symbolic link: Linux's PATH_MAX.
const maxTargetBytes = 4096

type fileArguments struct {
	revision
	path, symbol string
	outline      bool
	files        []fileRequest
	lineRange
	paging
}

func (a *fileArguments) define(p *arguments.List) {
	a.revision.define(p)
	p.Text(&a.path, "path", "File or folder; the root if omitted.")
	a.lineRange.define(p, "")
	p.Text(&a.symbol, "symbol", "Only the definition of this function or type.")
	p.Flag(&a.outline, "outline", "Only the lines that define something.")
	defineFiles(p, &a.files)
	a.defineSize(p, 100, 500)
}

// lineRange selects lines of a file, counted from 1; 0 stands for the first or last line.
type lineRange struct {
	start, end    int
	offset, limit int // first line and number of lines, as tools for local files have them
}

// define adds the arguments. The description is that of the last line.
func (a *lineRange) define(p *arguments.List, description string) {
	p.Number(&a.start, "start_line", "", 1, math.MaxInt32)
	p.Number(&a.end, "end_line", description, 1, math.MaxInt32)
	a.defineLines(p).Hidden = true
	p.Number(&a.offset, "offset", "First line, from 1.", 0, math.MaxInt32).Hidden = true
	p.Number(&a.limit, "limit", "Number of lines.", 1, math.MaxInt32).Hidden = true
}

// defineLines adds a range as one argument.
func (a *lineRange) defineLines(p *arguments.List) *arguments.Argument {
	return p.Add("lines", "Such as 10-20.", "string", nil, func(value any) string {
		start, end, ok := excerpt.ParseRange(value)
		if !ok {
			return "must be a range of lines such as 10-20, or one line"
		}
		a.start, a.end = start, end
		return ""
	})
}

// check resolves offset and limit.
func (a *lineRange) check() error {
	if a.offset > 0 {
		a.start = a.offset
	}
	if a.limit > 0 {
		a.end = max(a.start, 1) + a.limit - 1
	}
	if a.end != 0 && a.end < a.start {
		return say("end_line is %d, before start_line, which is %d.", a.end, a.start)
	}
	return nil
}

// orSuffix returns the lines that follow a path, if the file has another name and no lines were
// asked for otherwise. A single number is the first line.
func (a lineRange) orSuffix(asked string, e entry) lineRange {
	suffix := lineSuffix.FindStringSubmatch(asked)
	if suffix == nil || a.start+a.end > 0 || strings.HasSuffix(asked, e.path) {
		return a
	}
	start, end, _ := excerpt.ParseRange(suffix[1] + "-" + suffix[2])
	if end > 0 && end < start {
		return a
	}
	return lineRange{start: start, end: end}
}

// file is a file together with its commit.
type file struct {
	*visit
	at    found
	entry entry
}

func (a *fileArguments) check() error {
	if len(a.files) > 0 && a.path != "" {
		return say("Give path or files, not both.")
	}
	if a.symbol != "" && a.outline {
		return say("Give symbol or outline, not both.")
	}
	return a.lineRange.check()
}

func (v *visit) getFileContents(ctx context.Context, a fileArguments) error {
	if len(a.files) > 0 {
		return v.showFiles(ctx, a)
	}
	at, e, err := v.entryOf(ctx, a.pinned(0, a.revision), a.path)
	if err != nil {
		return err
	}
	f := file{v, at, e}
	switch {
	case (a.symbol != "" || a.outline) && !e.Mode.IsRegular():
		err = say("%s is a %s, which has no definitions. Find files with find_files.", quote("/"+e.path),
			kindOf(e.Mode))
	case a.symbol != "":
		err = f.showSymbol(ctx, a.symbol)
	case a.outline:
		err = f.showOutline(ctx, a.lineRange)
	case e.Mode.IsDir():
		_, err = v.listTree(ctx, at, e, treeView{
			keep: func(string) bool { return true }, paging: a.paging,
		})
	case e.Mode.IsGitlink():
		v.note("%s is a submodule at commit %s: its files are in another repository, which .gitmodules names. Look "+
			"for it with search_repositories.", quote(clip(e.path)), e.ID)
	case e.Mode.IsSymlink():
		err = f.showLink()
	default:
		err = f.showLines(ctx, a.orSuffix(a.path, e))
	}
	return err
}

// showLink notes the target of a symbolic link. The link is not followed: its target is another
// file, with another name and type.
func (f file) showLink() error {
	raw, err := f.snapshot.ReadBlob(f.entry.ID, maxTargetBytes, nil)
	if err != nil {
		return git.MustExist(f.entry.ID, err)
	}
	target := string(raw)
	f.note("%s is a symbolic link to %s.", quote(clip(f.entry.path)), quote(target))
	inside := path.Join(path.Dir(f.entry.path), target)
	if path.IsAbs(target) || inside == ".." || strings.HasPrefix(inside, "../") {
		f.note("That is outside of the repository.")
		return nil
	}
	if inside == "." {
		inside = ""
	}
	e, err := f.snapshot.Lookup(f.at.Tree, inside)
	switch {
	case git.IsAbsent(err):
		f.note("There is nothing of that name in this commit.")
	case err != nil:
		return err
	default:
		f.note("That is the %s %s of this commit; ask for it by that path.", kindOf(e.Mode), quote("/"+inside))
	}
	return nil
}

func (f file) showLines(ctx context.Context, a lineRange) (err error) {
	blob, err := f.snapshot.Blob(ctx, f.entry.ID)
	if err != nil {
		return git.MustExist(f.entry.ID, err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	facts := fmt.Sprintf("%s of %s: %d bytes, blob %s", quote(clip(f.entry.path)), f.at, blob.Size(), f.entry.ID)
	if f.entry.Mode.IsExecutable() {
		facts += ", executable"
	}
	if blob.Size() < lfs.MaxBytes {
		content, err := f.snapshot.ReadBlob(f.entry.ID, lfs.MaxBytes, nil)
		if pointer, ok := lfs.Parse(content); ok && err == nil {
			f.note("%s.", facts)
			return f.showPointer(ctx, pointer)
		}
	}
	x, err := excerpt.Read(ctx, blob, a.start, a.end, maxListedBytes)
	if err != nil {
		return err
	}
	if x.Binary {
		f.note("%s. It is not a text file, so its bytes are not shown.", facts)
		return f.handOver(ctx)
	}
	switch past := a.start > x.Total && a.start > 1; {
	case past && x.Counted:
		return say("start_line is %d, but %s has %s.", a.start, quote(f.entry.path), countLines(x))
	case past:
		f.note("%s. start_line is after its first %d bytes, further than which no lines are looked for.", facts,
			excerpt.MaxReadBytes)
		return f.pointFile(ctx)
	}
	f.content, f.isText = x.Text, true
	f.note("%s, %s.", facts, countLines(x))
	return f.remark(ctx, x)
}

func countLines(x excerpt.Excerpt) string {
	if !x.Counted {
		return fmt.Sprintf("more than %d lines", x.Total)
	}
	return plural(x.Total, "line")
}

// remark notes which part of the file is shown, and how to continue.
func (f file) remark(ctx context.Context, x excerpt.Excerpt) error {
	if x.Replaced {
		f.note("It is not all UTF-8: what is not is shown as U+FFFD. The download has the exact bytes.")
	}
	if x.Cut {
		f.next = fmt.Sprintf("start_line=%d", x.Last+1)
	}
	switch {
	case x.Within > 0:
		f.note("Truncated in line %d, after %d bytes of it: so much of a line is shown at most. Go on with %s; the "+
			"whole line is in the download.", x.Last, x.Within, f.next)
	case x.Cut:
		f.note("Truncated after line %d: a result has at most %d bytes. Go on with %s.", x.Last, maxResultBytes, f.next)
	case x.First > 1 || x.Last < x.Total || !x.Counted:
		f.note("Lines %d to %d are shown.", x.First, x.Last)
	}
	if x.Cut || x.Replaced {
		return f.pointFile(ctx)
	}
	return nil
}

// handOver returns a binary file: attached to the result if the client asked for that and the file
// is small enough, else as a link.
func (f file) handOver(ctx context.Context) error {
	h, err := f.locate(ctx)
	if err != nil {
		return err
	}
	f.note("Its type is %s.", h.MIMEType)
	f.asides = append(f.asides, "Its resource is "+h.URI+".")
	if beside := attachments.Of(ctx); beside != nil {
		err := f.attachFile(ctx, beside, h.URI)
		var refused *resources.Error
		if !errors.As(err, &refused) || refused.Reason != resources.ReasonTooLarge {
			return err
		}
		f.note("%s", refused.Message)
	}
	f.addLink(h, fmt.Sprintf("Bytes of %s in %s", quote(clip(f.entry.path)), f.at))
	return nil
}

// pointFile notes where to download a file whose text is shown.
func (f file) pointFile(ctx context.Context) error {
	h, err := f.locate(ctx)
	if err != nil {
		return err
	}
	f.noteDownload(h, "Its type is %s, its resource %s.", h.MIMEType, h.URI)
	return nil
}

func (f file) locate(ctx context.Context) (resources.Location, error) {
	return f.Resources.Locate(ctx, resources.Resource{
		Repository: f.at.repository, Kind: resources.Contents, Revision: f.at.ID.String(), Path: f.entry.path,
	})
}

// showPointer notes which object a Git LFS pointer stands for. The object itself is in archives.
func (f file) showPointer(ctx context.Context, p lfs.Pointer) error {
	f.note("It is a pointer of git-lfs to an object of %d bytes with SHA-256 %s.", p.Size, p.OID)
	object, err := f.snapshot.LFSObject(p.OID)
	if errors.Is(err, git.ErrNotFound) {
		f.note("This mirror does not have the object. Fetch it from the repository's origin with git lfs.")
		return f.pointFile(ctx)
	}
	if err != nil {
		return err
	}
	if err := object.Close(); err != nil {
		return err
	}
	f.note("This mirror has the object: get it with get_archive_link, lfs=content and in paths %s.",
		quote(":(literal)"+f.entry.path))
	return f.pointFile(ctx)
}

const (
	// maxOutlineText bounds the shown part of a line of an outline.
	maxOutlineText = 200
	// maxOutlineDepth bounds the indent of an outline.
	maxOutlineDepth = 10
	// maxShownDefinitions bounds the definitions of one name that are shown.
	maxShownDefinitions = 20
)

// definitions finds what a file defines: in git's languages what git shows in hunk headers, in others the lines that
// have names.
func (f file) definitions() (text []byte, found []definitions.Definition, err error) {
	name := quote(clip(f.entry.path))
	if text, err = f.snapshot.ReadBlob(f.entry.ID, definitions.MaxBytes, nil); errors.Is(err, git.ErrTooLarge) {
		return nil, nil, say("%s is too large to look for definitions. Read its lines.", name)
	}
	if err != nil {
		return nil, nil, git.MustExist(f.entry.ID, err)
	}
	language, ok := definitions.LanguageOf(f.entry.path, text)
	namer := index.NamerOf(f.entry.path)
	if !ok && namer == nil || diff.Binary(text) {
		return nil, nil, say("There is no pattern for the definitions of files such as %s. Read its lines, or find "+
			"them with search_code and a regexp.", name)
	}
	if ok {
		found, err = language.Find(text)
	} else {
		found, err = namer.Find(text)
	}
	if errors.Is(err, definitions.ErrTooLarge) {
		err = say("%s has too many lines to look for definitions. Read some of them.", name)
	}
	return text, found, err
}

// showOutline shows the lines of a range that define something, with the numbers of their first and
// last lines, indented by what contains them.
func (f file) showOutline(_ context.Context, a lineRange) error {
	text, found, err := f.definitions()
	if err != nil {
		return err
	}
	var shown strings.Builder
	for _, d := range found {
		if d.Line < a.start || a.end != 0 && d.Line > a.end {
			continue
		}
		row := outlineRow(d)
		if shown.Len()+len(row) > maxListedBytes {
			f.next = fmt.Sprintf("start_line=%d", d.Line)
			f.note("Truncated before line %d. Go on with %s.", d.Line, f.next)
			break
		}
		shown.WriteString(row)
	}
	f.content, f.isText = shown.String(), true
	f.note("%s of %s, %s: the lines that define something, as first-last: text.", quote(clip(f.entry.path)), f.at,
		plural(diff.CountLines(text), "line"))
	if shown.Len() == 0 {
		f.note("None of these lines defines something.")
	}
	return nil
}

func outlineRow(d definitions.Definition) string {
	text := quoting.Clip(d.Text, maxOutlineText)
	return fmt.Sprintf("%s%d-%d: %s\n", strings.Repeat("  ", min(d.Depth, maxOutlineDepth)), d.Line, d.End,
		strings.ToValidUTF8(text, "\uFFFD"))
}

// named finds the definitions of a name. There is at least one if there is no error.
func (f file) named(name string) (text []byte, named []definitions.Definition, err error) {
	text, found, err := f.definitions()
	if err != nil {
		return nil, nil, err
	}
	// Hunk headers show no macros of C and nothing that is indented, which search_code finds.
	lines, err := index.NamerOf(f.entry.path).Find(text)
	if err != nil {
		return nil, nil, err
	}
	if named = definitions.Named(name, found, lines); len(named) > 0 {
		return text, named, nil
	}
	known := namesOf(found, lines)
	same := slices.DeleteFunc(slices.Clone(known), func(other string) bool { return !strings.EqualFold(other, name) })
	if len(same) == 1 {
		named = definitions.Named(same[0], found, lines)
	}
	if len(named) == 0 {
		return nil, nil, f.noSymbol(name, known)
	}
	f.note("There is no %s; this is %s.", quote(clip(name)), quote(clip(same[0])))
	return text, named, nil
}

// namesOf returns the names of definitions in alphabetic order.
func namesOf(lists ...[]definitions.Definition) (names []string) {
	for _, d := range slices.Concat(lists...) {
		names = append(names, d.Names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// showSymbol shows the definitions of a name with their comments.
func (f file) showSymbol(_ context.Context, name string) error {
	text, named, err := f.named(name)
	if err != nil {
		return err
	}
	lines := slices.Collect(strings.Lines(string(text)))
	f.isText = true
	room := maxListedBytes
	for i, d := range named {
		whole := strings.Join(lines[d.Start-1:d.End], "")
		part := excerpt.Beginning(whole, room)
		if i > 0 && (part.Cut || i == maxShownDefinitions) {
			f.next = fmt.Sprintf("start_line=%d and end_line=%d instead of symbol", d.Start, d.End)
			f.note("There is no room for the definition in line %d. Go on with %s.", d.Line, f.next)
			break
		}
		f.content += part.Text
		room -= len(part.Text)
		f.note("%s is defined in line %d; lines %d to %d are shown.", quote(clip(name)), d.Line, d.Start,
			d.Start+part.Last-1)
		if part.Cut {
			f.next = fmt.Sprintf("start_line=%d and end_line=%d instead of symbol", d.Start+part.Last, d.End)
			f.note("Truncated: the definition ends in line %d. Go on with %s.", d.End, f.next)
			break
		}
		if i+1 < len(named) && !strings.HasSuffix(f.content, "\n\n") {
			f.content += "\n"
			room--
		}
	}
	f.note("%s of %s, %s.", quote(clip(f.entry.path)), f.at, plural(len(lines), "line"))
	return nil
}

// noSymbol returns the error for a name that is none of those that a file defines, with similar ones.
func (f file) noSymbol(name string, known []string) error {
	return say("%s of %s does not define %s.%s See what it defines with outline=true.", quote(clip(f.entry.path)), f.at,
		quote(clip(name)), didYouMean(spelling.Closest(clip(name), known, maxSuggested)))
}

package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

const (
	// maxOutlineText bounds the shown part of a line of an outline.
	maxOutlineText = 200
	// maxOutlineDepth bounds the indent of an outline.
	maxOutlineDepth = 10
	// maxShownDefinitions bounds the definitions of one name that are shown.
	maxShownDefinitions = 20
)

// definitions finds what a file defines.
func (f file) definitions() (text []byte, found []definitions.Definition, err error) {
	name := quote(clip(f.entry.path))
	if text, err = f.snapshot.ReadBlob(f.entry.ID, definitions.MaxBytes, nil); errors.Is(err, git.ErrTooLarge) {
		return nil, nil, say("%s is too large to look for definitions. Read its lines.", name)
	}
	if err != nil {
		return nil, nil, damageIfMissing(err)
	}
	language, ok := definitions.LanguageOf(f.entry.path, text)
	if !ok || diff.Binary(text) {
		return nil, nil, say("There is no pattern for the definitions of files such as %s, but for these languages: "+
			"%s. Read its lines, or find them with search_code and a regexp.", name,
			strings.Join(definitions.Names(), ", "))
	}
	found, err = language.Find(text)
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
	text := d.Text
	if len(text) > maxOutlineText {
		text = text[:excerpt.WholeRunes([]byte(text[:maxOutlineText]))] + "…"
	}
	return fmt.Sprintf("%s%d-%d: %s\n", strings.Repeat("  ", min(d.Depth, maxOutlineDepth)), d.Line, d.End,
		strings.ToValidUTF8(text, "\uFFFD"))
}

// showSymbol shows the definitions of a name with their comments.
func (f file) showSymbol(_ context.Context, name string) error {
	text, found, err := f.definitions()
	if err != nil {
		return err
	}
	named := definitions.Named(found, name)
	if len(named) == 0 {
		return f.noSymbol(name, found)
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

// noSymbol returns the error for a name that a file does not define, with similar ones.
func (f file) noSymbol(name string, found []definitions.Definition) error {
	var known []string
	for _, d := range found {
		known = append(known, d.Names()...)
	}
	slices.Sort(known)
	return say("%s of %s does not define %s.%s See what it defines with outline=true.", quote(clip(f.entry.path)), f.at,
		quote(clip(name)), didYouMean(spelling.Closest(clip(name), slices.Compact(known), maxSuggested)))
}

package search

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

const (
	// shownBytes bounds the shown part of a line. Hardly any line of source code is longer; a
	// generated file may be one line.
	shownBytes = 500
	// shownBefore is the part of a long line that is shown before its first match.
	shownBefore = 100
	// rankedBytes bounds the shown part of a line among the best of ranked files: it tells whether the file is
	// worth reading.
	rankedBytes = 200
)

// displayLine returns the shown form of a stored line without its LF, of which up to width bytes are
// shown. Its ranges are in the scratch's memory.
func displayLine(number int, line []byte, spans []pattern.Span, width int, sc *scratch) Line {
	shown := Line{Number: number}
	if len(spans) > 0 {
		shown.Column = spans[0].Start + 1
	}
	line = bytes.TrimSuffix(line, []byte{'\r'})
	start, end := shownPart(line, spans, width)
	shown.Before, shown.After = start, len(line)-end
	part := line[start:end]
	shown.Escaped = !utf8.Valid(part)
	if len(spans) > 0 {
		sc.spans = ranges(sc.spans[:0], part, start, spans, shown.Escaped)
		shown.Ranges = sc.spans
	}
	if shown.Escaped {
		part = escape(nil, part)
	}
	shown.Text = string(part)
	return shown
}

// shownPart chooses the part of a line to show: whole runes that include the first match.
func shownPart(line []byte, spans []pattern.Span, width int) (start, end int) {
	if len(line) <= width {
		return 0, len(line)
	}
	if len(spans) > 0 && spans[0].End > width {
		start = min(max(spans[0].Start-shownBefore, 0), len(line)-width)
	}
	return boundary(line, start), boundary(line, start+width)
}

// boundary moves back to the beginning of a rune, if one is near.
func boundary(line []byte, at int) int {
	for back := range utf8.UTFMax {
		if at-back <= 0 || at-back >= len(line) || utf8.RuneStart(line[at-back]) {
			return max(at-back, 0)
		}
	}
	return at
}

// ranges appends the spans within a part of a line; escaped tells whether the part is escaped.
func ranges(list []pattern.Span, part []byte, start int, spans []pattern.Span, escaped bool) []pattern.Span {
	for _, s := range spans {
		lo, hi := max(s.Start-start, 0), min(s.End-start, len(part))
		if lo > hi || lo == hi && s.Start < s.End {
			continue
		}
		if escaped {
			lo, hi = len(escape(nil, part[:lo])), len(escape(nil, part[:hi]))
		}
		list = append(list, pattern.Span{Start: lo, End: hi})
	}
	return list
}

// escape writes invalid UTF-8 in hexadecimal.
func escape(to, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			to = fmt.Appendf(to, `\x%02x`, text[0])
		} else {
			to = append(to, text[:size]...)
		}
		text = text[size:]
	}
	return to
}

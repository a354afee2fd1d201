package pattern

import (
	"bytes"
	"slices"
)

// Span is a part of a line, in bytes from its beginning.
type Span struct{ Start, End int }

// maxSpans bounds the marked matches of one line.
const maxSpans = 32

// Position is where a scan continues: the beginning of a line.
type Position struct {
	Offset int // in bytes
	Number int // of the line, from 1
}

// Start is the beginning of a text.
func Start() Position { return Position{Number: 1} }

// line is a line that a matcher found; start is -1 if there are no more.
type line struct{ start, end int }

// Scanner iterates over the matching lines of a text.
type Scanner struct {
	pattern *Pattern
	text    []byte
	next    Position // the first line that was not examined
	found   []line   // the next line of each matcher
	places  []places
	line    // the current one
	spans   []Span
}

// Reset begins a scan at a position, which is [Start] or was returned by [Scanner.Position] for the
// same text. A scan from the start finds nothing unless each term matches some line of the text.
// Reset reuses the memory of an earlier scan.
func (s *Scanner) Reset(p *Pattern, text []byte, from Position) {
	s.pattern, s.text, s.next = p, text, from
	s.found = s.found[:0]
	s.places = slices.Grow(s.places[:0], len(p.matchers))[:len(p.matchers)]
	if len(text) == 0 || from.Offset >= len(text) {
		s.text = nil
		return
	}
	for i, m := range p.matchers {
		s.places[i].reset()
		start, end := m.line(text, from.Offset, &s.places[i])
		if start < 0 && from.Offset == 0 {
			s.text = nil
			return
		}
		s.found = append(s.found, line{start, end})
	}
}

// Next advances to the next matching line and reports whether there is one.
func (s *Scanner) Next() bool {
	if s.text == nil {
		return false
	}
	first := line{start: -1}
	for _, l := range s.found {
		if l.start >= 0 && (first.start < 0 || l.start < first.start) {
			first = l
		}
	}
	if first.start < 0 {
		s.text = nil
		return false
	}
	s.advanceTo(first)
	return true
}

// advanceTo makes a line the current one, and lets its matchers find their next.
func (s *Scanner) advanceTo(first line) {
	s.line = first
	s.next.Number += bytes.Count(s.text[s.next.Offset:first.start], newline) + 1
	s.next.Offset = min(first.end+1, len(s.text))
	s.spans = s.spans[:0]
	for i, m := range s.pattern.matchers {
		if s.found[i].start != first.start {
			continue
		}
		s.spans = m.spans(s.text[first.start:first.end], s.spans, maxSpans)
		s.found[i] = line{start: -1}
		if s.next.Offset < len(s.text) {
			start, end := m.line(s.text, s.next.Offset, &s.places[i])
			s.found[i] = line{start, end}
		}
	}
	if len(s.pattern.matchers) > 1 {
		s.spans = merge(s.spans)
	}
}

var newline = []byte{'\n'}

// merge sorts spans and joins overlapping ones.
func merge(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.Start < merged[n-1].End {
			merged[n-1].End = max(merged[n-1].End, s.End)
			continue
		}
		merged = append(merged, s)
	}
	return merged[:min(len(merged), maxSpans)]
}

// Number of the current line, from 1.
func (s *Scanner) Number() int { return s.next.Number - 1 }

// Offset of the current line in the text.
func (s *Scanner) Offset() int { return s.start }

// Line returns the current line without its LF, a slice of the text.
func (s *Scanner) Line() []byte { return s.text[s.start:s.end] }

// Spans returns the matches in the current line, from left to right; at most 32 per term. They are
// valid until Next.
func (s *Scanner) Spans() []Span { return s.spans }

// Position returns where to continue after the current line.
func (s *Scanner) Position() Position { return s.next }

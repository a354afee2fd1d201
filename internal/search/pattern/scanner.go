package pattern

import (
	"bytes"
	"slices"
)

// Span is a part of a line, in bytes from its beginning.
type Span struct{ Start, End int }

// maxSpans bounds what is marked in one line.
const maxSpans = 32

// Position is where a scan goes on: the beginning of a line.
type Position struct {
	Offset int // in bytes
	Number int // of the line, from 1
}

// Start returns the beginning of a text.
func Start() Position { return Position{Number: 1} }

// line is where a matcher found one; start is -1 when there is no more.
type line struct{ start, end int }

// Scanner goes through the matching lines of a text.
type Scanner struct {
	pattern *Pattern
	text    []byte
	next    Position // a line that was not looked at
	found   []line   // of each matcher: its next line
	places  []places
	line    // the present one
	spans   []Span
}

// Reset begins a scan at a position, which is [Start] or what [Scanner.Position]
// returned for the same text. From the beginning it finds nothing unless each term
// matches some line of the text. The memory of an earlier scan is used again.
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

// Next goes to the next matching line and reports whether there is one.
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
	s.take(first)
	return true
}

// take makes a line the present one and lets its matchers look for another.
func (s *Scanner) take(first line) {
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

// merge sorts spans and joins those that overlap.
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

// Number of the present line, from 1.
func (s *Scanner) Number() int { return s.next.Number - 1 }

// Line returns the present line without its LF, a part of the text.
func (s *Scanner) Line() []byte { return s.text[s.start:s.end] }

// Spans returns where the present line matches, from left to right; at most 32 of
// each term. They are valid until Next.
func (s *Scanner) Spans() []Span { return s.spans }

// Position returns where to go on after the present line.
func (s *Scanner) Position() Position { return s.next }

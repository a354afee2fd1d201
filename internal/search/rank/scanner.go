package rank

import (
	"bytes"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

const (
	// maxPart and maxIdentifier bound what is looked up, in bytes. Longer ones are data.
	maxPart       = 64
	maxIdentifier = 128
	// maxKnown bounds the spellings that a scanner remembers.
	maxKnown = 4096
)

// Text is the text of one file.
type Text struct {
	Content []byte
	// Name returns the place of the name that a line defines; nil if that is unknown.
	Name func(line []byte) (start, end int, ok bool)
	// Pattern is the one whose lines count as a term; see [Options].
	Pattern *pattern.Pattern
	// Defines reports whether a line that matches Pattern has a definition that is searched for. Other lines
	// do not count then; nil if all do.
	Defines func(number int, line []byte) bool
}

// takes reports whether the current line of the scanner counts.
func (t *Text) takes(lines *pattern.Scanner) bool {
	return t.Defines == nil || t.Defines(lines.Number(), lines.Line())
}

// Scanner finds the terms of queries in texts. One goroutine uses it at a time; the zero value is ready.
type Scanner struct {
	query  *Query
	known  map[string]int // terms by their spelling, -1 for none
	text   []byte
	joined []byte
	found  func(term, start, end int)
	lines  pattern.Scanner
}

// each calls found for each occurrence of a word's term, from left to right. The whole of an identifier comes
// after its parts.
func (s *Scanner) each(q *Query, text []byte, found func(term, start, end int)) {
	if s.query != q {
		s.query, s.known = q, make(map[string]int)
	}
	s.text, s.found = text, found
	visit(text, q.beginnings, s)
	s.text, s.found = nil, nil
}

func (s *Scanner) part(start, end int) {
	if end-start > maxPart {
		return
	}
	if term := s.lookup(s.text[start:end]); term >= 0 {
		s.found(term, start, end)
	}
}

func (s *Scanner) whole(start, end int) {
	if end-start > maxIdentifier {
		return
	}
	s.joined = s.joined[:0]
	for _, c := range s.text[start:end] {
		if c == '_' {
			continue
		}
		if s.joined = append(s.joined, c); len(s.joined) == 2 && !s.query.beginnings.have(s.joined) {
			return
		}
	}
	if term := s.lookup(s.joined); term >= 0 {
		s.found(term, start, end)
	}
}

// lookup returns the term of a part or a whole, or -1.
func (s *Scanner) lookup(part []byte) int {
	term, ok := s.known[string(part)]
	if ok {
		return term
	}
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	if term, ok = s.query.index[s.query.form(string(part))]; !ok {
		term = -1
	}
	s.known[string(part)] = term
	return term
}

// where an occurrence stands.
type where int

const (
	elsewhere where = iota
	inName          // in the name of a definition
	isName          // the whole name of a definition
)

// definition is the line of an occurrence, and the place of the name that it defines, without
// underscores at its ends.
type definition struct {
	text        *Text
	end         int // of the line
	start, stop int // of the name; there is none if stop is not above start
}

// reset begins with another text.
func (d *definition) reset(content []byte) {
	d.text.Content = content
	d.end, d.start, d.stop = 0, 0, 0
}

// place tells where an occurrence stands. Occurrences are asked about from left to right.
func (d *definition) place(start, end int) where {
	if d.text.Name == nil {
		return elsewhere
	}
	if content := d.text.Content; start >= d.end {
		line := bytes.LastIndexByte(content[:start], '\n') + 1
		d.end = len(content)
		if n := bytes.IndexByte(content[start:], '\n'); n >= 0 {
			d.end = start + n
		}
		from, to, _ := d.text.Name(content[line:d.end])
		name := bytes.TrimLeft(content[line+from:line+to], "_")
		d.start, d.stop = line+to-len(name), line+from+len(bytes.TrimRight(content[line+from:line+to], "_"))
	}
	switch {
	case d.start >= d.stop, end <= d.start, start >= d.stop:
		return elsewhere
	case start <= d.start && end >= d.stop:
		return isName
	}
	return inName
}

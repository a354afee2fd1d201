package rank

import (
	"slices"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

// Tally is how often the terms of a query occur in a text. It is immutable.
type Tally struct {
	Bytes     int     // size of the text
	Generated bool    // the text says that a program wrote it
	Counts    []Count // of the terms that occur, in the order of terms
}

// Count is how often one term occurs.
type Count struct {
	Term   int32
	Names  int32 // as the name of a definition
	InName int32 // in longer names
	Other  int32
}

func (c *Count) add(at where) {
	switch at {
	case isName:
		c.Names++
	case inName:
		c.InName++
	default:
		c.Other++
	}
}

// Tally counts the terms of a query in a text. There are no Counts if the query has a pattern that
// matches no line.
func (s *Scanner) Tally(q *Query, text Text) Tally {
	counts := make([]Count, len(q.terms))
	if q.pattern >= 0 && !s.countLines(&counts[q.pattern], text) {
		return Tally{Bytes: len(text.Content)}
	}
	if q.HasWords() {
		names := definition{text: &text}
		s.each(q, text.Content, func(term, start, end int) { counts[term].add(names.place(start, end)) })
	}
	return tallyOf(len(text.Content), func() bool { return isGenerated(text.Content) }, counts)
}

// tallyOf returns the tally of a text with the given counts of all terms.
func tallyOf(bytes int, generated func() bool, counts []Count) Tally {
	for i := range counts {
		counts[i].Term = int32(i)
	}
	counts = slices.DeleteFunc(counts, func(c Count) bool { return c.Names+c.InName+c.Other == 0 })
	return Tally{bytes, len(counts) > 0 && generated(), slices.Clone(counts)}
}

// countLines counts the lines that match the pattern.
func (s *Scanner) countLines(c *Count, text Text) bool {
	names := definition{text: &text}
	for s.lines.Reset(text.Pattern, text.Content, pattern.Start()); s.lines.Next(); {
		if !text.takes(&s.lines) {
			continue
		}
		line, best := s.lines.Offset(), elsewhere
		if text.Defines != nil {
			best = isName
		}
		for _, span := range s.lines.Spans() {
			best = max(best, names.place(line+span.Start, line+span.End))
		}
		c.add(best)
	}
	return c.Names+c.InName+c.Other > 0
}

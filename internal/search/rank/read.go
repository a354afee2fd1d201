package rank

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

// Reading is what a text is found to be when it is read once more for a query.
type Reading struct {
	// Together is what the score is multiplied with, for the words that stand in one passage.
	Together float64
	Lines    []Line // the best, in the order of the text
	Matching int    // lines with a term or a match of the pattern
}

// Line is a line of a text.
type Line struct {
	Number     int // from 1
	Start, End int // in the text, without the LF
	Place      int // among the best, from 1
	Definition bool
	Spans      []pattern.Span // what was found in the line, by its bytes; at most maxSpans

	terms []int // distinct
	value float64
}

const (
	// maxSpans bounds the marked places of a line, as in package pattern.
	maxSpans = 32
	// maxChoice bounds the lines that the best are chosen of.
	maxChoice = 64
	// weightDefinition is how much more a line counts that defines a name with a term in it: it tells most of what
	// is in the file.
	weightDefinition = 4
	// repeatedTerm is what a term counts for in a line after a better one had it.
	repeatedTerm = 0.3
)

// Read reads a text for its best lines, at most count. With a pattern these are lines that match it.
func (s *Scanner) Read(q *Query, all *Statistics, text Text, count int) Reading {
	r := reader{values: make([]float64, len(q.terms)), counts: make([]int, len(q.terms))}
	for i := range r.values {
		r.values[i] = q.value(i, all)
		r.total += r.values[i]
	}
	matching := text.Pattern != nil
	if matching {
		s.lines.Reset(text.Pattern, text.Content, pattern.Start())
		matching = s.lines.Next()
	}
	r.names = definition{text: &Text{Name: text.Name}}
	add := func(term, start, end int) { r.add(term, pattern.Span{Start: start, End: end}) }
	for number, start := 1, 0; start < len(text.Content); number++ {
		end := len(text.Content)
		if n := bytes.IndexByte(text.Content[start:], '\n'); n >= 0 {
			end = start + n
		}
		content := text.Content[start:end]
		r.line = Line{Number: number, Start: start, End: end}
		r.names.reset(content)
		if q.HasWords() {
			s.each(q, content, add)
		}
		isMatch := matching && s.lines.Number() == number
		if isMatch {
			isMatch = text.takes(&s.lines)
			r.line.Definition = r.line.Definition || isMatch && text.Defines != nil
			for _, span := range s.lines.Spans() {
				r.add(q.pattern, span)
			}
			matching = s.lines.Next()
		}
		if isMatch || text.Pattern == nil && len(r.line.terms) > 0 {
			r.choose(r.line)
		}
		start = end + 1
	}
	return r.result(count)
}

// reader is the state of one reading.
type reader struct {
	values   []float64 // of the terms
	total    float64
	window   []occurrence // the last passageBytes
	counts   []int        // of the terms in the window
	sum      float64      // of the values of the terms in the window
	best     float64
	choice   []Line
	matching int

	line  Line       // the present one
	names definition // in it
}

// occurrence is a term at an offset.
type occurrence struct{ term, at int }

// add adds an occurrence in the line.
func (r *reader) add(term int, span pattern.Span) {
	l := &r.line
	if !slices.Contains(l.terms, term) {
		l.terms = append(l.terms, term)
		l.value += r.values[term]
	}
	l.Definition = r.names.place(span.Start, span.End) != elsewhere || l.Definition
	if len(l.Spans) < maxSpans {
		l.Spans = append(l.Spans, span)
	}
	r.enter(occurrence{term, l.Start + span.Start})
}

// enter moves the window to an occurrence.
func (r *reader) enter(o occurrence) {
	if r.counts[o.term]++; r.counts[o.term] == 1 {
		r.sum += r.values[o.term]
	}
	r.window = append(r.window, o)
	gone := 0
	for ; r.window[gone].at < o.at-passageBytes; gone++ {
		term := r.window[gone].term
		if r.counts[term]--; r.counts[term] == 0 {
			r.sum -= r.values[term]
		}
	}
	r.window = r.window[gone:]
	r.best = max(r.best, r.sum)
}

// choose keeps a line if it may be one of the best.
func (r *reader) choose(l Line) {
	r.matching++
	if l.Definition {
		l.value *= weightDefinition
	}
	if r.choice = append(r.choice, l); len(r.choice) == 2*maxChoice {
		slices.SortStableFunc(r.choice, func(a, b Line) int { return cmp.Compare(b.value, a.value) })
		clear(r.choice[maxChoice:])
		r.choice = r.choice[:maxChoice]
	}
}

// result takes the best line, and again the best of the others, for which the terms of those before count less.
func (r *reader) result(count int) Reading {
	result := Reading{Together: 1, Matching: r.matching}
	if r.total > 0 {
		result.Together += weightTogether * r.best / r.total
	}
	for len(result.Lines) < count && len(r.choice) > 0 {
		best := 0
		for i := range r.choice {
			if r.worth(&r.choice[i]) > r.worth(&r.choice[best]) {
				best = i
			}
		}
		for _, term := range r.choice[best].terms {
			r.values[term] *= repeatedTerm
		}
		r.choice[best].Place = len(result.Lines) + 1
		result.Lines = append(result.Lines, r.choice[best])
		r.choice = slices.Delete(r.choice, best, best+1)
	}
	slices.SortFunc(result.Lines, func(a, b Line) int { return cmp.Compare(a.Number, b.Number) })
	return result
}

// worth is the value of a line beside those that were taken.
func (r *reader) worth(l *Line) float64 {
	sum := 0.0
	for _, term := range l.terms {
		sum += r.values[term]
	}
	if l.Definition {
		sum *= weightDefinition
	}
	return sum
}

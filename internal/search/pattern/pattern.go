// Package pattern finds the lines of a text that match a pattern: fixed strings or RE2 expressions
// (syntax of Go's regexp/syntax), all of which must occur in the text.
//
//	p, err := pattern.Compile([]pattern.Term{{Text: "func main"}}, pattern.Smart)
//	var s pattern.Scanner
//	for s.Reset(p, text, pattern.Start()); s.Next(); {
//		use(s.Number(), s.Line(), s.Spans())
//	}
//
// # Promises
//
//   - A match lies within one line, as for git grep: no expression matches a newline, and "^" and
//     "$", "\A" and "\z" are the ends of a line.
//   - Lines end at LF. A CR before it belongs to the line.
//   - The time is linear in the text, whatever the expression is.
//   - Any number of goroutines may use a Pattern, one goroutine a Scanner.
//
// Most expressions have fixed parts that every match contains. The scanner looks for these in the
// whole text at once, many bytes per processor instruction, and runs the expression only on the
// lines that contain one (required.go). Other expressions run on every line.
package pattern

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Case selects case sensitivity.
type Case int

const (
	// Smart is sensitive if a term has an upper case letter.
	Smart Case = iota
	// Sensitive distinguishes upper and lower case.
	Sensitive
	// Insensitive uses the simple folding of Unicode.
	Insensitive
)

// Term is one string or expression to find.
type Term struct {
	Text   string
	Regexp bool // Text is an expression, not a fixed text
}

const (
	// MaxTerms bounds the number of passes over a text.
	MaxTerms = 16
	// MaxBytes bounds the length of a term: programs write longer expressions, people and models do
	// not.
	MaxBytes = 2000
)

// Error is a mistake in a term.
type Error struct {
	Term   int // its index
	Offset int // of the mistake in its text, in bytes
	Text   string
}

func (e *Error) Error() string { return e.Text }

var errNothing = errors.New("there is nothing to search for")

// Pattern is what [Compile] makes of terms.
type Pattern struct {
	matchers []matcher
	key      string
}

// matcher finds the lines that match one term.
type matcher interface {
	// line returns the first matching line at or after from, the start of a line, without its LF;
	// start is -1 if there is none.
	line(text []byte, from int, at *places) (start, end int)
	// spans appends the matches in a line, from left to right, up to max.
	spans(line []byte, to []Span, max int) []Span
	// cost is the maximal number of steps per byte.
	cost() int
	// required returns what each match contains.
	required() Required
}

// Compile compiles 1 to [MaxTerms] terms. Mistakes in a term are an [*Error].
func Compile(terms []Term, c Case) (*Pattern, error) {
	if len(terms) == 0 {
		return nil, errNothing
	}
	if len(terms) > MaxTerms {
		return nil, &Error{
			Term: MaxTerms,
			Text: fmt.Sprintf("there are %d terms; at most %d can be searched for at once", len(terms), MaxTerms),
		}
	}
	for i, t := range terms {
		if err := t.check(); err != nil {
			err.Term = i
			return nil, err
		}
	}
	fold := c.Folds(terms)
	p := &Pattern{key: key(terms, fold)}
	for i, t := range terms {
		m, err := compile(t, fold)
		if err != nil {
			err.Term = i
			return nil, err
		}
		p.matchers = append(p.matchers, m)
	}
	return p, nil
}

// Folds reports whether upper and lower case are the same for the terms.
func (c Case) Folds(terms []Term) bool { return c == Insensitive || c == Smart && !hasUpper(terms) }

func (t Term) check() *Error {
	switch at := strings.IndexByte(t.Text, '\n'); {
	case t.Text == "":
		return &Error{Text: errNothing.Error()}
	case len(t.Text) > MaxBytes:
		return &Error{
			Offset: MaxBytes,
			Text:   fmt.Sprintf("a term of %d bytes is too long; at most %d are possible", len(t.Text), MaxBytes),
		}
	case at >= 0:
		return &Error{Offset: at, Text: errNewline}
	}
	return nil
}

const errNewline = "a match lies within one line, so a newline is never found; search for the lines as separate terms"

func compile(t Term, fold bool) (matcher, *Error) {
	switch {
	case t.Regexp:
		return compileExpression(t.Text, fold)
	case fold && (!isASCII(t.Text) || hasKS(t.Text)):
		return compileExpression(quote(t.Text), fold)
	default:
		return newNeedle(t.Text, fold), nil
	}
}

// hasUpper reports whether a term has an upper case letter to be matched. In an expression, letters
// after a backslash and names of classes do not count.
func hasUpper(terms []Term) bool {
	for _, t := range terms {
		text := t.Text
		if t.Regexp {
			text = literalsOf(text)
		}
		if strings.ContainsFunc(text, unicode.IsUpper) {
			return true
		}
	}
	return false
}

// Cost returns the maximal number of steps of some nanoseconds per byte of the text; for most texts
// a step covers several bytes.
func (p *Pattern) Cost() int {
	cost := 0
	for _, m := range p.matchers {
		cost += m.cost()
	}
	return cost
}

// Required is what the matches of one term contain.
type Required struct {
	// Words are strings of which each match contains one, in any case of ASCII letters; none if unknown.
	Words []string
	// Beyond reports that a k or s of a word may also be a [Kelvin] or [LongS].
	Beyond bool
}

// Required returns what the matches of each term contain. Each term matches some line of a text that matches.
func (p *Pattern) Required() []Required {
	all := make([]Required, len(p.matchers))
	for i, m := range p.matchers {
		all[i] = m.required()
	}
	return all
}

// Key returns equal strings for patterns of the same form, which match the same lines of every
// text: it may be the key of cached results.
func (p *Pattern) Key() string { return p.key }

func key(terms []Term, fold bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%t", fold)
	for _, t := range terms {
		fmt.Fprintf(&b, " %t:%d:%s", t.Regexp, len(t.Text), t.Text)
	}
	return b.String()
}

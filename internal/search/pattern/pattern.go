// Package pattern finds the lines of a text that match a pattern: fixed texts
// or RE2 expressions (syntax of Go's regexp/syntax), of which each must be found
// in the text.
//
//	p, err := pattern.Compile([]pattern.Term{{Text: "func main"}}, pattern.Smart)
//	var s pattern.Scanner
//	for s.Reset(p, text, pattern.Start()); s.Next(); {
//		use(s.Number(), s.Line(), s.Spans())
//	}
//
// # Promises
//
//   - A match lies within one line, as for git grep: no expression matches a
//     newline, and "^" and "$", "\A" and "\z" are the ends of a line.
//   - Lines end at LF. A CR before it belongs to the line.
//   - The time is linear in the text, whatever the expression is.
//   - A Pattern may be used by any number of goroutines, a Scanner by one.
//
// How it is fast: most expressions have fixed parts that every match must
// contain. Those are looked for in the whole text at once, which the processor
// does many bytes at a time, and the expression is tried on the lines that have
// one only (required.go). Others are tried on every line.
package pattern

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Case says whether upper and lower case are told apart.
type Case int

const (
	// Smart tells them apart when a term has an upper case letter.
	Smart Case = iota
	// Sensitive tells them apart.
	Sensitive
	// Insensitive does not, by the simple folding of Unicode.
	Insensitive
)

// Term is one thing to be found.
type Term struct {
	Text   string
	Regexp bool // Text is an expression, not a fixed text
}

const (
	// MaxTerms bounds how many times a text is gone through.
	MaxTerms = 16
	// MaxBytes bounds the text of a term: an expression that is longer is made by
	// a program, not by a person or a model.
	MaxBytes = 2000
)

// Error says what is wrong with a term.
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

// matcher finds the lines that one term matches.
type matcher interface {
	// line returns the first matching line that begins at or after from, where a
	// line begins, without its LF; start is -1 when there is none.
	line(text []byte, from int, at *places) (start, end int)
	// spans appends where the line matches, from left to right, up to max.
	spans(line []byte, to []Span, max int) []Span
	// cost is how many steps a byte may take.
	cost() int
}

// Compile makes a pattern of 1 to [MaxTerms] terms. Mistakes in a term are an
// [*Error].
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
	fold := c == Insensitive || c == Smart && !hasUpper(terms)
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

// hasUpper reports whether a term has an upper case letter that is meant as
// such. In an expression, letters after a backslash and names of classes are not.
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

// Cost returns how many steps of some nanoseconds a scan may take for a byte of the
// text, in the worst case; for most texts a step takes several bytes.
func (p *Pattern) Cost() int {
	cost := 0
	for _, m := range p.matchers {
		cost += m.cost()
	}
	return cost
}

// Key returns the same for patterns that match the same lines of every text by their
// form: results may be kept under it.
func (p *Pattern) Key() string { return p.key }

func key(terms []Term, fold bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%t", fold)
	for _, t := range terms {
		fmt.Fprintf(&b, " %t:%d:%s", t.Regexp, len(t.Text), t.Text)
	}
	return b.String()
}

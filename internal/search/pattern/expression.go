package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// maxInstructions bounds a compiled expression, because time and memory of a match grow with it.
// Expressions that people write have some dozens.
const maxInstructions = 1000

// lineFlags are the flags of Go's regexp, except that "^" and "$" match at the ends of lines.
const lineFlags = syntax.Perl &^ syntax.OneLine

// expression is an RE2 expression whose matches lie within a line, so that it can run over a whole
// text.
type expression struct {
	re           *regexp.Regexp
	needles      *needles // a matching line contains one of them; nil if unknown
	instructions int      // of the compiled expression
}

func compileExpression(text string, fold bool) (*expression, *Error) {
	flags := lineFlags
	if fold {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, mistake(text, err)
	}
	if !withinLine(tree) {
		return nil, &Error{Offset: max(strings.Index(text, `\n`), 0), Text: errNewline}
	}
	if sizeOf(tree) > maxInstructions { // before compiling allocates that much
		return nil, &Error{Text: "the expression is too large: repeat less, or search for its parts as separate terms"}
	}
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, mistake(text, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, mistake(text, err)
	}
	return &expression{re: re, needles: requiredBy(tree), instructions: len(program.Inst)}, nil
}

// sizeOf estimates the number of instructions of a compiled expression; repetitions count at their
// maximum.
func sizeOf(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += sizeOf(sub)
		if size > maxInstructions {
			return size
		}
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}

// mistake translates a parser's error into the terms of the query.
func mistake(text string, err error) *Error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return &Error{Text: err.Error()}
	}
	remedy := `; put a backslash before a character that is meant as itself, or search for a fixed text`
	return &Error{
		Offset: max(strings.Index(text, wrong.Expr), 0),
		Text:   fmt.Sprintf("the expression is not valid RE2: %s: `%s`%s", wrong.Code, wrong.Expr, remedy),
	}
}

// withinLine changes a tree so that no match contains a newline, and so that the ends of the text
// are ends of lines. It returns false if the expression names a newline.
func withinLine(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op, re.Flags = syntax.OpEndLine, re.Flags&^syntax.WasDollar
	case syntax.OpCharClass:
		re.Rune = without(re.Rune, '\n')
		if len(re.Rune) == 0 {
			re.Op, re.Rune0 = syntax.OpNoMatch, [2]rune{}
			return false
		}
	case syntax.OpLiteral:
		return !slices.Contains(re.Rune, '\n')
	}
	for _, sub := range re.Sub {
		if !withinLine(sub) {
			return false
		}
	}
	return true
}

// without removes a rune from a class, which is a list of ranges.
func without(class []rune, out rune) []rune {
	var rest []rune
	for i := 0; i+1 < len(class); i += 2 {
		lo, hi := class[i], class[i+1]
		if out < lo || out > hi {
			rest = append(rest, lo, hi)
			continue
		}
		if lo < out {
			rest = append(rest, lo, out-1)
		}
		if out < hi {
			rest = append(rest, out+1, hi)
		}
	}
	return rest
}

func (e *expression) line(text []byte, from int, at *places) (start, end int) {
	required := e.needles
	if required != nil && !required.fit(text, at) {
		required = nil
	}
	for from < len(text) {
		i := from // tries each line
		if required != nil {
			i = required.next(text, from, at)
		}
		if i < 0 {
			return -1, -1
		}
		start, end = lineAround(text, i)
		if e.re.Match(text[start:end]) {
			return start, end
		}
		from = end + 1
	}
	return -1, -1
}

func (e *expression) cost() int { return e.instructions }

func (e *expression) required() Required {
	if e.needles == nil {
		return Required{}
	}
	r := Required{Beyond: e.needles.ks}
	for _, word := range e.needles.words {
		r.Words = append(r.Words, string(word.text))
	}
	return r
}

func (e *expression) spans(line []byte, to []Span, max int) []Span {
	for _, found := range e.re.FindAllIndex(line, max) {
		to = append(to, Span{found[0], found[1]})
	}
	return to
}

// lineAround returns the line that contains the byte at i, or that ends before it.
func lineAround(text []byte, i int) (start, end int) {
	start = bytes.LastIndexByte(text[:i], '\n') + 1
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return start, i + n
	}
	return start, len(text)
}

// quote returns an expression for a fixed string, which may be invalid UTF-8.
func quote(text string) string { return regexp.QuoteMeta(strings.ToValidUTF8(text, "\uFFFD")) }

// literalsOf returns the runes that an expression names individually, without those of classes such
// as \S.
func literalsOf(text string) string {
	tree, err := syntax.Parse(text, lineFlags)
	if err != nil {
		return "" // Compile reports the mistake
	}
	var b strings.Builder
	var walk func(re *syntax.Regexp)
	walk = func(re *syntax.Regexp) {
		if re.Op == syntax.OpLiteral {
			b.WriteString(string(re.Rune))
		}
		if re.Op == syntax.OpCharClass && onlyUpper(re.Rune) {
			b.WriteRune(re.Rune[0])
		}
		for _, sub := range re.Sub {
			walk(sub)
		}
	}
	walk(tree)
	return b.String()
}

// onlyUpper reports whether a class contains only upper case letters, such as [A-Z].
func onlyUpper(class []rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if !unicode.IsUpper(class[i]) || !unicode.IsUpper(class[i+1]) || class[i+1] == math.MaxInt32 {
			return false
		}
	}
	return len(class) > 0
}

package definitions

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// expression is a regular expression for single lines, and what each line that it matches must have. Most lines define
// nothing, and finding that out by ten expressions takes longer than anything else in an index.
type expression struct {
	*regexp.Regexp
	first    [256]bool // the first bytes of lines that may match
	required []byte    // bytes that are in each match
}

// mustCompile compiles an expression of [patterns], as regexp.MustCompile does.
func mustCompile(text string) *expression {
	e := &expression{Regexp: regexp.MustCompile(text)}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		panic(err)
	}
	e.required = requiredBytes(tree)
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		panic(err)
	}
	if program.StartCond()&syntax.EmptyBeginText == 0 { // a match begins anywhere
		for c := range e.first {
			e.first[c] = true
		}
		return e
	}
	e.addFirst(program, program.Start, make(map[int]bool))
	return e
}

// addFirst adds the bytes with which a match begins that continues with an instruction.
func (e *expression) addFirst(program *syntax.Prog, at int, seen map[int]bool) {
	if seen[at] {
		return
	}
	seen[at] = true
	switch i := &program.Inst[at]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		e.addFirst(program, int(i.Out), seen)
		e.addFirst(program, int(i.Arg), seen)
	case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
		e.addFirst(program, int(i.Out), seen)
	default:
		for c := range e.first {
			e.first[c] = e.first[c] || c >= utf8.RuneSelf || i.Op == syntax.InstMatch || i.MatchRune(rune(c))
		}
	}
}

// requiredBytes returns bytes that are in each match, each once.
func requiredBytes(tree *syntax.Regexp) (all []byte) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			all = []byte(string(tree.Rune))
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range tree.Sub {
			all = append(all, requiredBytes(sub)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mayMatch reports whether the expression has to be tried: it is true for all lines that match.
func (e *expression) mayMatch(line []byte) bool {
	if len(line) > 0 && !e.first[line[0]] {
		return false
	}
	for _, c := range e.required {
		if bytes.IndexByte(line, c) < 0 {
			return false
		}
	}
	return true
}

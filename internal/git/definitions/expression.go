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
	first       bytesOf // the first bytes of lines that may match
	text        bytesOf // likewise the first ones after blanks and tabs
	required    []byte  // bytes that are in each match
	noSemicolon bool    // a line with a semicolon does not match
}

// bytesOf is a set of bytes.
type bytesOf [256]bool

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
			e.first[c], e.text[c] = true, true
		}
		return e
	}
	hasSemicolon := slices.ContainsFunc(program.Inst, func(i syntax.Inst) bool { return i.MatchRune(';') })
	e.noSemicolon = matchesEnd(tree) && !hasSemicolon
	e.first.add(program, program.Start, false, make(map[int]bool))
	e.text.add(program, program.Start, true, make(map[int]bool))
	return e
}

// add adds the bytes with which a match begins that continues with an instruction, or with which it goes on after
// blanks and tabs.
func (b *bytesOf) add(program *syntax.Prog, at int, blanks bool, seen map[int]bool) {
	if seen[at] {
		return
	}
	seen[at] = true
	i := &program.Inst[at]
	switch i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		b.add(program, int(i.Out), blanks, seen)
		b.add(program, int(i.Arg), blanks, seen)
		return
	case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
		b.add(program, int(i.Out), blanks, seen)
		return
	}
	for c := range b {
		b[c] = b[c] || c >= utf8.RuneSelf || i.Op == syntax.InstMatch || i.MatchRune(rune(c))
	}
	if blanks && i.Op != syntax.InstMatch && (i.MatchRune(' ') || i.MatchRune('\t')) {
		b.add(program, int(i.Out), blanks, seen)
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

// matchesEnd reports whether each match goes on to the end of the line.
func matchesEnd(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpEndText:
		return true
	case syntax.OpConcat, syntax.OpCapture:
		return matchesEnd(tree.Sub[len(tree.Sub)-1])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(tree.Sub, func(sub *syntax.Regexp) bool { return !matchesEnd(sub) })
	}
	return false
}

// mayMatch reports whether the expression has to be tried: it is true for all lines that match. None matches a blank
// line, because a name has a letter.
func (e *expression) mayMatch(line []byte) bool {
	if len(line) > 0 && !e.first[line[0]] {
		return false
	}
	if text := bytes.TrimLeft(line, " \t"); len(text) == 0 || !e.text[text[0]] {
		return false
	}
	if e.noSemicolon && bytes.IndexByte(line, ';') >= 0 {
		return false
	}
	for _, c := range e.required {
		if bytes.IndexByte(line, c) < 0 {
			return false
		}
	}
	return true
}

package definitions

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
)

const (
	// MaxBytes and MaxLines bound the texts that are looked through: larger ones are generated. A
	// text takes [MaxMemory] at most while it is looked through.
	MaxBytes = 1 << 20
	// MaxLines is explained at MaxBytes.
	MaxLines = 50_000
	// MaxMemory is explained at MaxBytes.
	MaxMemory = 48 << 20
	// maxCommentLines bounds the comment before a definition.
	maxCommentLines = 300
)

// ErrTooLarge means that a text has more than [MaxBytes] or [MaxLines].
var ErrTooLarge = errors.New("text is too large to look for definitions")

// Definition is a part of a text that defines something. Lines are counted from 1.
type Definition struct {
	// Start is the first line of the comment before the definition, Line is the definition's first
	// line, which git shows in hunk headers, and End the last line.
	Start, Line, End int
	// Depth is the number of definitions that contain this one.
	Depth int
	// Text is the first line without the white space around it.
	Text   string
	parent int // the index of the definition around it plus one; 0 for none
	// names are what the definition defines, where its parser knows that.
	names []string
}

// Find returns the definitions of a text in the order of their lines. Errors are [ErrTooLarge].
func (l *Language) Find(text []byte) ([]Definition, error) {
	if isTooLarge(text) {
		return nil, ErrTooLarge
	}
	if l.Name == "golang" {
		if found, ok := parseGo(text, nil); ok {
			return found, nil
		}
	}
	s := scan(text, notations()[l.Name])
	return s.definitions(func(i int) ([]string, bool) { return nil, l.defines(s.lines[i]) }), nil
}

// Find returns the definitions that begin with the lines whose names [Namer.Name] finds, in the order of their lines.
// Comments and strings of several lines have none. Errors are [ErrTooLarge].
func (n *Namer) Find(text []byte) ([]Definition, error) {
	if isTooLarge(text) {
		return nil, ErrTooLarge
	}
	if n.Language() == "Go" {
		if found, ok := parseGo(text, nil); ok {
			return found, nil
		}
	}
	s := scan(text, notations()[n.Language()])
	names := make([][]string, len(s.lines)) // by the lines that their definitions begin in
	for i, line := range s.lines {
		if start, end, ok := n.Name(line); ok && !s.inside[i] {
			begin := s.beginning(i)
			names[begin] = append(names[begin], string(line[start:end]))
		}
	}
	return s.definitions(func(i int) ([]string, bool) { return names[i], len(names[i]) > 0 }), nil
}

// beginning returns the line with which a definition begins that has its name in a line: another one if that closes a
// block, as the names of types in C do.
func (s *source) beginning(i int) int {
	if s.trimmed[i][0] != '}' {
		return i
	}
	for at := i - 1; at >= 0; at-- {
		line := s.trimmed[at]
		if len(line) > 0 && s.indents[at] <= s.indents[i] && !s.inside[at] && !s.isCode(at) && !isLabel(line) {
			return at
		}
	}
	return i
}

// definitions returns the definitions that begin with the lines that define something.
func (s *source) definitions(defines func(i int) (names []string, ok bool)) (found []Definition) {
	for i := range s.lines {
		if names, ok := defines(i); ok {
			s.begins[i] = true
			found = append(found, Definition{Line: i + 1, Text: string(s.trimmed[i]), names: names})
		}
	}
	s.findStarts(found)
	kept := found[:0]
	for i, d := range found {
		if i+1 == len(found) || found[i+1].Start > d.Line { // otherwise it is the template or the type of the next one
			kept = append(kept, d)
		}
	}
	s.findEnds(kept)
	return kept
}

func isTooLarge(text []byte) bool {
	return len(text) > MaxBytes || bytes.Count(text, []byte("\n")) > MaxLines
}

// source is a text in lines.
type source struct {
	lines    [][]byte // without their ends
	trimmed  [][]byte // without white space around them
	indents  []int    // of the lines; blankLine if there is nothing else
	begins   []bool   // whether the line is a definition
	inside   []bool   // whether the line begins in a comment or a string
	notation notation
}

// blankLine is the indent of lines without anything else.
const blankLine = -1

func scan(text []byte, n notation) *source {
	most := bytes.Count(text, []byte("\n")) + 1
	s := &source{
		lines: make([][]byte, 0, most), trimmed: make([][]byte, 0, most), indents: make([]int, 0, most), notation: n,
	}
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		s.lines, s.trimmed = append(s.lines, line), append(s.trimmed, bytes.TrimSpace(line))
		s.indents, text = append(s.indents, indentOf(line)), rest
	}
	s.begins, s.inside = make([]bool, len(s.lines)), n.inside(s.lines)
	return s
}

// indentOf returns the width of the white space before a line, with tabs to every eighth column.
func indentOf(line []byte) int {
	width := 0
	for _, c := range line {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 8 - width%8
		case '\r', '\f', '\v':
		default:
			return width
		}
	}
	return blankLine
}

// findStarts finds the comments and attributes before definitions.
func (s *source) findStarts(found []Definition) {
	for n := range found {
		d := &found[n]
		d.Start = d.Line
		for d.Start > 1 {
			top := s.leading(d.Start-2, d.Line-1)
			if top < 0 || d.Line-top > maxCommentLines {
				break
			}
			d.Start = top + 1
		}
	}
}

// leading returns the first line of the comment, the attribute or the type that ends in a line, and belongs to the
// definition in another line; -1 if there is none.
func (s *source) leading(last, of int) int {
	within := func(i int) bool {
		return i > 0 && s.inside[i] && !s.inside[of] &&
			(!s.notation.hasPreprocessor || !bytes.HasPrefix(s.trimmed[i], []byte{'"'}))
	}
	top, begins := last, isComment
	switch {
	case within(top):
		for within(top) && of-top <= maxCommentLines {
			top--
		}
	case !isComment(s.trimmed[top]):
		begins = attribute.Match
		for top > 0 && of-top <= maxCommentLines && (within(top) || s.indents[top] > s.indents[of] ||
			len(s.trimmed[top]) > 0 && bytes.IndexByte(brackets, s.trimmed[top][0]) >= 0) {
			top--
		}
	}
	line := s.trimmed[top]
	isType := s.notation.hasPreprocessor && s.indents[top] == s.indents[of] &&
		(templateAlone.Match(line) || top == last && typeAlone.Match(line))
	if len(line) == 0 || s.isCode(top) || s.begins[top] && !isType ||
		!s.begins[top] && !begins(line) {
		return -1
	}
	return top
}

// commentMarks begin comments, attributes and decorators in one of the languages.
var commentMarks = [][]byte{
	[]byte("//"), []byte("/*"), []byte("*"), []byte("#"), []byte("--"), []byte("%"), []byte(";"), []byte("@"),
	[]byte("["), []byte("<!--"), []byte("(*"), []byte("{"), []byte("!"), []byte("template"),
	[]byte("'''"), []byte(`"""`),
}

// attribute matches the first lines of what is between brackets before a definition.
var attribute = regexp.MustCompile(`^(?:@|#?\[|template\b)`)

// typeAlone matches the lines of C and C++ that have the type of the definition below.
var typeAlone = regexp.MustCompile(`^[A-Za-z_][\w:*& \t]*(?:<[^;={}()]*>)?[\w:*& \t]*$`)

// templateAlone matches lines with the parameters of a template, or the first ones of them.
var templateAlone = regexp.MustCompile(`^template\b[^;{}]*[>,(]$`)

func isComment(line []byte) bool {
	if bytes.HasSuffix(line, []byte("*/")) {
		return true
	}
	return slices.ContainsFunc(commentMarks, func(mark []byte) bool { return bytes.HasPrefix(line, mark) })
}

// findEnds finds the ends and depths of definitions. A definition contains the following ones that
// are indented more; sections of Markdown contain those of lower levels.
func (s *source) findEnds(found []Definition) {
	indent := func(d *Definition) int {
		switch {
		case s.notation.hasHeadings:
			return len(d.Text) - len(bytes.TrimLeft([]byte(d.Text), "#"))
		case s.inside[d.Line-1]: // it ends no definition
			return math.MaxInt
		}
		return s.indents[d.Line-1]
	}
	var open []*Definition
	for n := range found {
		d := &found[n]
		for len(open) > 0 && indent(open[len(open)-1]) >= indent(d) {
			s.close(open, d.Start-1)
			open = open[:len(open)-1]
		}
		open = append(open, d)
	}
	for ; len(open) > 0; open = open[:len(open)-1] {
		s.close(open, len(s.lines))
	}
	var around []int // the definitions that contain the next one
	for n := range found {
		d := &found[n]
		for len(around) > 0 {
			last := &found[around[len(around)-1]]
			if indent(last) < indent(d) && last.End >= d.Line {
				break
			}
			around = around[:len(around)-1]
		}
		if d.Depth = len(around); d.Depth > 0 {
			d.parent = around[d.Depth-1] + 1
		}
		around = append(around, n)
	}
}

// maxDepth bounds the nested definitions whose ends are looked for, because each of them may need
// all lines of the text. Deeper ones end before the next definition.
const maxDepth = 64

// close finds the end of the innermost open definition, at the latest in line limit.
func (s *source) close(open []*Definition, limit int) {
	d := open[len(open)-1]
	d.End = s.lastLine(d.Line, limit)
	switch {
	case s.notation.hasHeadings || len(open) > maxDepth:
	case s.inside[d.Line-1]: // code in a string, or text that git takes for a definition
		for limit = d.Line; limit < d.End && s.inside[limit]; {
			limit++
		}
		d.End = s.endOf(d.Line, limit)
	case s.isInstruction(d.Line - 1):
		d.End = s.endOfInstruction(d.Line)
	default:
		d.End = s.endOf(d.Line, d.End)
	}
}

// isCode reports whether a line that may be a comment in other languages is none in this one.
func (s *source) isCode(i int) bool {
	first := s.trimmed[i][0]
	return s.isInstruction(i) || s.notation.hasBlocks && first == '{' ||
		s.notation.hasNoLabels && (first == '"' || first == '\'') // the text at the beginning of a class of Python
}

// isInstruction reports whether a line that is not blank is one for the preprocessor.
func (s *source) isInstruction(i int) bool {
	return s.notation.hasPreprocessor && s.trimmed[i][0] == '#'
}

// endOfInstruction returns the last line of an instruction of the preprocessor, such as the definition of a macro.
func (s *source) endOfInstruction(line int) int {
	for line < len(s.lines) && bytes.HasSuffix(s.trimmed[line-1], []byte("\\")) {
		line++
	}
	return line
}

// lastLine returns the last line up to a limit that is not blank.
func (s *source) lastLine(first, limit int) int {
	for limit > first && s.indents[limit-1] == blankLine {
		limit--
	}
	return max(limit, first)
}

// endOf returns the last line of a definition that ends at the latest in line limit: the first line
// with its own indent or less that closes it, or the line before one that does not belong to it.
func (s *source) endOf(first, limit int) int {
	own, quoted := s.indents[first-1], s.inside[first-1]
	last := first
	signature := true // until something is indented more
	for i := first; i < limit; i++ {
		line := s.trimmed[i]
		switch {
		case s.indents[i] == blankLine || len(line) == 0:
			if signature && s.isWhole(last-1) {
				return last
			}
			continue
		case signature && s.isInstruction(i) && s.isWhole(last-1):
			return last
		case s.indents[i] > own, s.inside[i] && !quoted, !signature && isBranch(line):
			signature = false
		case !s.notation.hasNoLabels && isLabel(line), s.isInstruction(i), s.notation.beginsWithComment(line):
			continue // it belongs to the definition if more of that follows
		case s.indents[i] < own:
			return last
		case signature && isOpening(line), string(line) == "{": // below the signature, which may have several lines
		case signature && continued.Match(line):
		case isClosing(line):
			if last = i + 1; !s.opensBody(i) {
				return last
			}
			signature = true
		case signature && !s.isWhole(last-1) && (!s.endsWithLine(first) || goesOn(s.trimmed[last-1])):
			// a signature of several lines
		default:
			return last
		}
		last = i + 1
	}
	return last
}

// opensBody reports whether a line that closes a bracket is followed by the body: the end of a
// signature of several lines, or another branch such as "} else {".
func (s *source) opensBody(i int) bool {
	line := s.trimmed[i]
	if bytes.ContainsAny(line[1:], "{(") || bytes.HasSuffix(line, []byte(":")) {
		return true
	}
	if line[0] != ')' && line[0] != '>' || i+1 == len(s.trimmed) {
		return false
	}
	next := s.trimmed[i+1]
	return bytes.HasPrefix(next, []byte("{")) || continued.Match(next) ||
		bytes.IndexByte(line, ' ') > 0 && goesOn(line)
}

// continued matches lines below a signature that belong to it.
var continued = regexp.MustCompile(`^(?:where\b|throws\b|(?:[@\w]+ )*constructor\b)`)

// endsWithLine reports whether what begins in a line ends with it, if nothing is open. In C types of parameters may be
// below their names, and in Perl the text of documentation is below its heading.
func (s *source) endsWithLine(line int) bool {
	return !s.notation.hasPreprocessor && s.trimmed[line-1][0] != '='
}

// isWhole reports whether a line ends a statement. A comment may follow.
func (s *source) isWhole(i int) bool {
	line := s.trimmed[i]
	if s.notation.hasBlocks {
		for _, mark := range []string{"//", "/*"} {
			if at := bytes.LastIndex(line, []byte(mark)); at > 0 {
				line = bytes.TrimRight(line[:at], " \t")
			}
		}
	}
	return bytes.HasSuffix(line, []byte(";")) || bytes.HasSuffix(line, []byte("}"))
}

// goesOn reports whether the next line belongs to a line, in languages whose statements end with it.
func goesOn(line []byte) bool {
	return len(line) > 0 && bytes.IndexByte([]byte("([{,=\\"), line[len(line)-1]) >= 0
}

// branches are words at the beginning of parts of a body that are not indented in it: Ruby's.
var branches = [][]byte{[]byte("rescue"), []byte("ensure"), []byte("else")}

func isBranch(line []byte) bool {
	return slices.ContainsFunc(branches, func(word []byte) bool { return bytes.HasPrefix(line, word) })
}

func isOpening(line []byte) bool { return line[0] == '{' || line[0] == '(' && len(line) == 1 }

// isLabel reports whether a line is a label or a visibility, as "out:" and "public:" in C++.
func isLabel(line []byte) bool {
	name, ok := bytes.CutSuffix(line, []byte(":"))
	return ok && len(bytes.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ")) == 0
}

// brackets close what was opened in a line before.
var brackets = []byte("})]>")

// closers are words that close definitions.
var closers = [][]byte{[]byte("end"), []byte("END"), []byte("End"), []byte("esac"), []byte("fi"), []byte("done")}

func isClosing(line []byte) bool {
	if bytes.IndexByte(brackets, line[0]) >= 0 {
		return true
	}
	return slices.ContainsFunc(closers, func(word []byte) bool { return bytes.HasPrefix(line, word) })
}

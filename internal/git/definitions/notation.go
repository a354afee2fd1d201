package definitions

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// notation is how a language is written, as far as the ends of definitions depend on it.
type notation struct {
	hasHeadings     bool   // definitions are headings, which tell their levels
	hasPreprocessor bool   // instructions that begin with "#" may stand anywhere
	hasBlocks       bool   // comments are between /* and */, and strings go on behind a backslash
	hasNoLabels     bool   // a name before a colon at the end of a line is no label
	hasLifetimes    bool   // an apostrophe begins a character or a lifetime, and r#" a string
	endsWithLine    bool   // a statement ends with its line, if nothing is open
	comment         string // what a comment of one line begins with
	quotes          string // what strings are between
	spanning        string // those of the quotes whose strings may have several lines
	tripled         string // those of the quotes of which three enclose strings of several lines
	// document matches the beginning of a here-document, whose lines follow that one; its group is the word that ends
	// it. nil: there are none.
	document *regexp.Regexp
}

// notations are those of languages, by their names in gitattributes(5) and in github-linguist.
var notations = func() map[string]notation {
	blocks := notation{hasBlocks: true, comment: "//", quotes: `"'`}
	with := func(change func(n *notation)) notation {
		n := blocks
		change(&n)
		return n
	}
	// The word of a shell may stand apart, which elsewhere is a shift.
	shell := regexp.MustCompile(`(?:^|[^<])<<-?\s*\\?["']?([A-Za-z_]\w*)`)
	script := regexp.MustCompile("<<[-~]?[\"'`]?([A-Za-z_]\\w*)")
	all := map[string]notation{"markdown": {hasHeadings: true}}
	for _, row := range []struct {
		notation notation
		names    []string
	}{
		{with(func(n *notation) { n.hasPreprocessor = true }), []string{
			"cpp", "csharp", "objc", "C", "C++", "C#", "Objective-C", "Objective-C++", "Cuda", "GLSL", "HLSL", "Metal",
		}},
		{blocks, []string{
			"css", "dts", "ActionScript", "Apex", "D", "Go", "Hack", "Haxe", "Less", "Odin",
			"Protocol Buffer", "SCSS", "Solidity", "SystemVerilog", "Thrift", "Verilog",
		}},
		{with(func(n *notation) {
			n.document = regexp.MustCompile(`<<<[ \t]*["']?([A-Za-z_]\w*)`)
		}), []string{"php", "PHP"}},
		{notation{comment: "#", document: shell}, []string{"bash", "Shell"}},
		{notation{comment: "#", document: script}, []string{"perl", "Perl", "ruby", "Ruby", "Crystal"}},
		{notation{comment: "#", quotes: `"`, tripled: `"`}, []string{"elixir", "Elixir"}},
		{with(func(n *notation) { n.tripled = `"` }), []string{"java", "kotlin", "Java", "Kotlin", "Scala", "Swift"}},
		{with(func(n *notation) { n.tripled = `"'` }), []string{"Dart", "Groovy"}},
		{with(func(n *notation) { n.quotes, n.spanning = "\"'`", "`" }), []string{"JavaScript", "TSX", "TypeScript"}},
		{with(func(n *notation) { n.hasLifetimes, n.quotes, n.spanning = true, `"`, `"` }), []string{"rust", "Rust"}},
		{notation{hasNoLabels: true, comment: "#", quotes: `"'`, tripled: `"'`}, []string{
			"python", "Python", "Cython", "Starlark",
		}},
		{notation{comment: ";", quotes: `"`, spanning: `"`}, []string{
			"scheme", "Clojure", "Common Lisp", "Emacs Lisp", "Racket", "Scheme",
		}},
	} {
		for _, name := range row.names {
			all[name] = row.notation
		}
	}
	return all
}()

// endOfComment ends a comment of several lines, in which a backslash is one.
var endOfComment = []byte("*/")

// inside returns which lines begin in a comment or a string. With a preprocessor these include lines that begin with a
// string, because that is a part of the statement before, and those that an instruction goes on in.
func (n notation) inside(lines [][]byte) []bool {
	inside := make([]bool, len(lines))
	if n.quotes == "" && n.document == nil {
		return inside
	}
	var open []byte // what ends the comment or string; nil outside of them
	opened, instruction := 0, false
	documents, ends := 0, n.endsOfDocuments(lines) // lines up to here are in here-documents
	for i, line := range lines {
		line = bytes.TrimSpace(line)
		if i < documents {
			inside[i] = true
			continue
		}
		if open == nil {
			documents = n.endOfDocuments(line, i, ends)
		}
		inside[i] = open != nil || instruction || n.hasPreprocessor && bytes.HasPrefix(line, []byte{'"'})
		if open == nil {
			opened = i + 1
		}
		open = n.openAfter(line, open)
		instruction = (instruction || n.hasPreprocessor && bytes.HasPrefix(line, []byte{'#'})) &&
			bytes.HasSuffix(line, []byte{'\\'})
	}
	if open != nil { // what has no end was none, but perhaps a regular expression
		clear(inside[opened:])
	}
	return inside
}

// endsOfDocuments returns the lines that can end a here-document, by their words: those with a word alone, or before
// the rest of a statement as in PHP.
func (n notation) endsOfDocuments(lines [][]byte) map[string][]int {
	ends := make(map[string][]int)
	for i, line := range lines {
		if n.document == nil {
			break
		}
		line = bytes.TrimSpace(line)
		rest := bytes.TrimLeftFunc(line, isOfWord)
		if len(rest) < len(line) && (len(rest) == 0 || strings.IndexByte(";,)", rest[0]) >= 0) {
			word := string(line[:len(line)-len(rest)])
			ends[word] = append(ends[word], i)
		}
	}
	return ends
}

func isOfWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// endOfDocuments returns the line after the here-documents that begin in a line, 0 if none does. What has no end was
// none, but perhaps a shift.
func (n notation) endOfDocuments(line []byte, at int, ends map[string][]int) (end int) {
	if n.document == nil || !bytes.Contains(line, []byte("<<")) || n.startsComment(line, nil) {
		return 0
	}
	for _, begun := range n.document.FindAllSubmatch(line, -1) {
		of := ends[string(begun[1])]
		if i, _ := slices.BinarySearch(of, max(end, at+1)); i < len(of) {
			end = of[i] + 1
		}
	}
	return end
}

// openAfter returns what ends the comment or string that is open behind a line, if open is what was before it.
func (n notation) openAfter(line, open []byte) []byte {
	for at := 0; at < len(line); {
		rest := line[at:]
		switch {
		case open != nil && bytes.HasPrefix(rest, open):
			at, open = at+len(open), nil
		case rest[0] == '\\' && (len(open) == 0 || open[0] != '*' && open[len(open)-1] != '#'):
			at += 2
		case open != nil:
			at++
		case n.startsComment(rest, line[:at]):
			return nil
		default:
			var width int
			open, width = n.opening(rest, line[:at])
			at += width
		}
	}
	// A string of one line ends with it, unless a backslash is before the end.
	if len(open) == 1 && !strings.Contains(n.spanning, string(open)) &&
		(!n.hasBlocks || !bytes.HasSuffix(line, []byte{'\\'})) {
		return nil
	}
	return open
}

// beginsWithComment reports whether a line without white space before it begins with a comment.
func (n notation) beginsWithComment(line []byte) bool {
	return n.startsComment(line, nil) || n.hasBlocks && bytes.HasPrefix(line, []byte("/*"))
}

// startsComment reports whether the rest of a line is a comment. A slash in a regular expression starts none.
func (n notation) startsComment(rest, before []byte) bool {
	return n.comment != "" && bytes.HasPrefix(rest, []byte(n.comment)) &&
		(!n.hasBlocks || !bytes.HasSuffix(before, []byte{':'}))
}

// opening returns what ends the comment or string that begins here, or nil, and the width of what begins it or of
// what is no string.
func (n notation) opening(rest, before []byte) (end []byte, width int) {
	quote := rest[:1]
	switch {
	case n.hasBlocks && bytes.HasPrefix(rest, []byte("/*")) && !bytes.HasSuffix(before, []byte{'['}):
		return endOfComment, len(endOfComment)
	case n.hasLifetimes && (quote[0] == 'r' || quote[0] == '\''):
		return openingOfRust(rest)
	case !strings.Contains(n.quotes, string(quote)):
		return nil, 1
	case strings.Contains(n.tripled, string(quote)) && len(rest) > 2 && rest[1] == quote[0] && rest[2] == quote[0]:
		return rest[:3], 3
	}
	return quote, 1
}

// openingOfRust is the opening of a raw string, or the width of a character.
func openingOfRust(rest []byte) (end []byte, width int) {
	if rest[0] == 'r' {
		hashes := len(rest[1:]) - len(bytes.TrimLeft(rest[1:], "#"))
		if hashes > 0 && bytes.HasPrefix(rest[1+hashes:], []byte{'"'}) {
			return append([]byte{'"'}, rest[1:1+hashes]...), hashes + 2
		}
		return nil, 1
	}
	if len(rest) > 2 && rest[1] == '\\' {
		return nil, 3 + bytes.IndexByte(rest[3:], '\'') + 1
	}
	if len(rest) > 2 && rest[2] == '\'' {
		return nil, 3
	}
	return nil, 1
}

package definitions

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// notation is how a language is written, as far as the ends of definitions depend on it.
type notation struct {
	hasHeadings     bool      // definitions are headings, which tell their levels
	hasPreprocessor bool      // instructions that begin with "#" may stand anywhere
	hasBlocks       bool      // comments are between /* and */, and strings go on behind a backslash
	hasNoLabels     bool      // a name before a colon at the end of a line is no label
	hasWords        bool      // a comment begins like a word, and not in one
	comment         string    // what a comment of one line begins with
	literals        []literal // in the order in which they are tried
	// document matches the beginning of a here-document, whose lines follow that one; its group is the word that ends
	// it. nil: there are none.
	document *regexp.Regexp
}

// literal is a form of strings, or of comments of several lines.
type literal struct {
	begin  *expression
	end    string // in which $1 is the group of what begins it; "" if that is the whole literal
	escape string // the next byte does not end it; behind the quote itself it is the second one of ""
	spans  bool   // it may have several lines
}

// text is a string of one line, and texts one of several lines; raw has no escapes.
func text(quote string) literal       { return literal{mustCompile("^" + quote), quote, `\`, false} }
func texts(begin, end string) literal { return literal{mustCompile("^" + begin), end, `\`, true} }
func raw(begin, end string) literal   { return literal{mustCompile("^" + begin), end, "", true} }
func doubled(begin, quote string) literal {
	return literal{mustCompile("^" + begin), quote, quote, true}
}

// notations are those of languages, by their names in gitattributes(5) and in github-linguist.
var notations = sync.OnceValue(func() map[string]notation {
	block, double, single, tripled := raw(`/\*`, "*/"), text(`"`), text(`'`), texts(`"""`, `"""`)
	blocks := func(literals ...literal) notation {
		return notation{hasBlocks: true, comment: "//", literals: append(literals, block, double, single)}
	}
	withPreprocessor := func(literals ...literal) notation {
		n := blocks(literals...)
		n.hasPreprocessor = true
		return n
	}
	numbered := func(document *regexp.Regexp, literals ...literal) notation {
		return notation{comment: "#", document: document, literals: literals}
	}
	lines := texts(`"`, `"`)
	php := blocks(raw(`\?>`, "<?"), raw(`#(?:[^\[].*)?$`, ""), lines, texts(`'`, `'`))
	php.document = regexp.MustCompile(`<<<[ \t]*["']?([A-Za-z_]\w*)`)
	// The word of a shell may stand apart, which elsewhere is a shift.
	shell := numbered(regexp.MustCompile(`(?:^|[^<])<<-?\s*\\?["']?([A-Za-z_]\w*)`),
		texts(`\$'`, `'`), raw(`'`, `'`), lines)
	shell.hasWords = true
	script := regexp.MustCompile("<<[-~]?[\"'`]?([A-Za-z_]\\w*)")
	python := numbered(nil, tripled, texts(`'''`, `'''`), double, single)
	python.hasNoLabels = true
	all := map[string]notation{"markdown": {hasHeadings: true}}
	for _, row := range []struct {
		names string
		notation
	}{
		{"cpp|objc|C|C++|Objective-C|Objective-C++|Cuda|GLSL|HLSL|Metal", withPreprocessor(
			raw(`(?:u8|[uUL])?R"([^\s()\\]{0,16})\(`, `)$1"`))},
		{"csharp|C#", withPreprocessor(raw(`\$*("{3,})`, "$1"), doubled(`(?:@\$?|\$@)"`, `"`))},
		{"css|dts|ActionScript|Apex|D|Haxe|HCL|Less|Odin|Protocol Buffer|SCSS|Solidity|SystemVerilog|Thrift|Verilog",
			blocks()},
		{"golang|Go", blocks(raw("`", "`"))},
		{"java|Java|Dart|Groovy", blocks(tripled, texts(`'''`, `'''`))},
		{"kotlin|Kotlin|Scala", blocks(raw(`"""`, `"""`))},
		{"JavaScript|TSX|TypeScript", blocks(texts("`", "`"))},
		{"Swift", blocks(raw(`(#+)"""`, `"""$1`), raw(`(#+)"`, `"$1`), tripled)},
		{"rust|Rust", notation{hasBlocks: true, comment: "//", literals: []literal{
			block, raw(`[bc]?r(#*)"`, `"$1`), lines, raw(`'(?:\\.[^']*|[^\\'])'`, ""),
		}}},
		{"php|Hack|PHP", php},
		{"bash|Shell", shell},
		{"perl|Perl|ruby|Ruby|Crystal", numbered(script)},
		{"elixir|Elixir|Julia|Nim|GDScript", numbered(nil, tripled, texts(`'''`, `'''`), double)},
		{"python|Python|Cython|Starlark", python},
		{"SQL|PLSQL|PLpgSQL|TSQL", notation{comment: "--", literals: []literal{block, lines, texts(`'`, `'`)}}},
		{"Lua|Luau", notation{comment: "--", literals: []literal{raw(`(?:--)?\[(=*)\[`, "]$1]"), double, single}}},
		{"scheme|Clojure|Common Lisp|Emacs Lisp|Racket|Scheme", notation{comment: ";", literals: []literal{lines}}},
	} {
		for name := range strings.SplitSeq(row.names, "|") {
			all[name] = row.notation
		}
	}
	return all
})

// inside returns which lines begin in a comment or a string. With a preprocessor these include lines that begin with a
// string, because that is a part of the statement before, and those that an instruction goes on in.
func (n notation) inside(lines [][]byte) []bool {
	inside := make([]bool, len(lines))
	if len(n.literals) == 0 && n.document == nil {
		return inside
	}
	var open literal // the one that a line begins in
	opened, instruction := 0, false
	documents, ends := 0, n.endsOfDocuments(lines) // lines up to here are in here-documents
	for i, line := range lines {
		line = bytes.TrimSpace(line)
		if i < documents {
			inside[i] = true
			continue
		}
		if open.end == "" {
			documents = n.endOfDocuments(line, i, ends)
		}
		inside[i] = open.end != "" || instruction || n.hasPreprocessor && bytes.HasPrefix(line, []byte{'"'})
		if open.end == "" {
			opened = i + 1
		}
		open = n.openAfter(line, open)
		instruction = (instruction || n.hasPreprocessor && bytes.HasPrefix(line, []byte{'#'})) &&
			bytes.HasSuffix(line, []byte{'\\'})
	}
	if open.end != "" { // what has no end was none, but perhaps a regular expression
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

// openAfter returns the literal that is open behind a line, if open is the one before it. Its end is that of this one.
func (n notation) openAfter(line []byte, open literal) literal {
	for at := 0; at < len(line); {
		rest, inside := line[at:], open.end != ""
		switch {
		case inside && open.escape == open.end && bytes.HasPrefix(rest, []byte(open.end+open.end)):
			at += 2 * len(open.end)
		case inside && bytes.HasPrefix(rest, []byte(open.end)):
			at, open = at+len(open.end), literal{}
		case rest[0] == '\\' && (!inside || open.escape == `\`):
			at += 2
		case inside:
			at++
		default:
			var width int
			if open, width = n.opening(rest, line[:at]); width == 0 && n.startsComment(rest, line[:at]) {
				return literal{}
			}
			at += max(width, 1)
		}
	}
	// A string of one line ends with it, unless a backslash is before the end.
	if !open.spans && (!n.hasBlocks || !bytes.HasSuffix(line, []byte{'\\'})) {
		return literal{}
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
		(!n.hasBlocks || !bytes.HasSuffix(before, []byte{':'})) &&
		(!n.hasWords || len(before) == 0 || bytes.IndexByte([]byte(" \t;(&|`"), before[len(before)-1]) >= 0)
}

// opening returns the literal that begins here, and the width of what begins it; 0 if none does. A letter in the middle
// of a word begins none, nor does a star in a set of characters.
func (n notation) opening(rest, before []byte) (open literal, width int) {
	last := before[max(len(before)-1, 0):]
	if continues(string(last), true) && continues(string(rest[:1]), false) {
		return literal{}, 0
	}
	// A run is tried once: each try may read all of it.
	if bytes.IndexByte([]byte("#$"), rest[0]) >= 0 && bytes.HasPrefix(rest, last) && len(last) > 0 {
		return literal{}, 0
	}
	for _, l := range n.literals {
		if !l.begin.first[rest[0]] || l.end == "*/" && bytes.HasSuffix(before, []byte{'['}) {
			continue
		}
		if at := l.begin.FindSubmatchIndex(rest); at != nil {
			l.end = string(l.begin.Expand(nil, []byte(l.end), rest, at))
			return l, at[1]
		}
	}
	return literal{}, 0
}

package definitions

import "bytes"

// notation is how a language is written, as far as the ends of definitions depend on it.
type notation struct {
	hasHeadings     bool // definitions are headings, which tell their levels
	hasPreprocessor bool // instructions that begin with "#" may stand anywhere
	hasBlocks       bool // comments are between /* and */, and strings go on behind a backslash
	hasTripleQuotes bool // strings of several lines are between three quotes
	endsWithLine    bool // a statement ends with its line, if nothing is open
}

// notations are those of languages, by their names in gitattributes(5) and in github-linguist.
var notations = func() map[string]notation {
	blocks, preprocessor := notation{hasBlocks: true}, notation{hasBlocks: true, hasPreprocessor: true}
	all := map[string]notation{"markdown": {hasHeadings: true}}
	for _, row := range []struct {
		notation notation
		names    []string
	}{
		{preprocessor, []string{
			"cpp", "csharp", "objc", "C", "C++", "C#", "Objective-C", "Objective-C++", "Cuda", "GLSL", "HLSL", "Metal",
		}},
		{blocks, []string{
			"css", "dts", "java", "kotlin", "php", "rust", "ActionScript", "Apex", "D", "Dart", "Go", "Groovy", "Hack",
			"Haxe", "Java", "JavaScript", "Kotlin", "Less", "Odin", "PHP", "Protocol Buffer", "Rust", "SCSS", "Scala",
			"Solidity", "Swift", "SystemVerilog", "TSX", "Thrift", "TypeScript", "Verilog",
		}},
		{notation{hasTripleQuotes: true}, []string{"python", "Python", "Cython", "Starlark"}},
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
	if !n.hasBlocks && !n.hasTripleQuotes {
		return inside
	}
	var open []byte // what ends the comment or string; nil outside of them
	opened, instruction := 0, false
	for i, line := range lines {
		line = bytes.TrimSpace(line)
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

// openAfter returns what ends the comment or string that is open behind a line, if open is what was before it.
func (n notation) openAfter(line, open []byte) []byte {
	for at := 0; at < len(line); {
		rest := line[at:]
		switch {
		case open != nil && bytes.HasPrefix(rest, open):
			at, open = at+len(open), nil
		case rest[0] == '\\' && !bytes.Equal(open, endOfComment):
			at += 2
		case open != nil:
			at++
		case n.startsComment(rest, line[:at]):
			return nil
		default:
			open = n.opening(rest, line[:at])
			at += max(len(open), 1)
		}
	}
	// A string of one line ends with it, unless a backslash is before the end.
	if len(open) == 1 && (!n.hasBlocks || !bytes.HasSuffix(line, []byte{'\\'})) {
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
	if n.hasTripleQuotes {
		return rest[0] == '#'
	}
	return n.hasBlocks && bytes.HasPrefix(rest, []byte("//")) && !bytes.HasSuffix(before, []byte{':'})
}

// opening returns what ends the comment or string that begins here, or nil.
func (n notation) opening(rest, before []byte) []byte {
	switch {
	case n.hasTripleQuotes && (bytes.HasPrefix(rest, []byte(`"""`)) || bytes.HasPrefix(rest, []byte("'''"))):
		return rest[:3]
	case rest[0] == '"', rest[0] == '\'':
		return rest[:1]
	case n.hasBlocks && bytes.HasPrefix(rest, []byte("/*")) && !bytes.HasSuffix(before, []byte{'['}):
		return endOfComment
	}
	return nil
}

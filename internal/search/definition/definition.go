// Package definition finds the lines of source code that define a name: a function, a type, a constant.
//
//	of := definition.ByPath("src/app.py")
//	start, end, ok := of.Name(line) // the place of the name that the line defines
//
// One line is looked at alone, by patterns for each language (patterns.go). They take what is written
// as the language's users write it: a definition that begins in the middle of a line or has its name on
// another line than its keyword is missed, and a line of a comment or a text that looks like a
// definition counts as one. Go is parsed, by [Go]: its constants and fields in groups look like
// statements.
package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"sync"

	"github.com/repomcp/repomcp/internal/search/language"
)

// maxLine bounds the lines that are looked at: definitions are shorter than lines of data.
const maxLine = 400

// Finder finds the definitions of one language. The nil Finder finds none. Any number of goroutines may
// use it.
type Finder struct {
	language    string
	expressions func() []*regexp.Regexp // the first group that takes part is the name
}

// finders returns the finders by language.
var finders = sync.OnceValue(func() map[string]*Finder {
	all := make(map[string]*Finder)
	for _, row := range patterns {
		compiled := sync.OnceValue(func() []*regexp.Regexp {
			list := make([]*regexp.Regexp, len(row.expressions))
			for i, e := range row.expressions {
				list[i] = regexp.MustCompile(e)
			}
			return list
		})
		for _, name := range row.languages {
			all[name] = &Finder{name, compiled}
		}
	}
	return all
})

// ByPath returns the finder of the language that a file's name tells, or nil if the language has no patterns.
// Of several languages the first with patterns counts.
func ByPath(path string) *Finder {
	for _, name := range language.Of(path) {
		if f := finders()[name]; f != nil {
			return f
		}
	}
	return nil
}

// Knows reports whether a language has patterns, by its name in github-linguist.
func Knows(language string) bool { return finders()[language] != nil }

// Version is another one for other patterns, so that what they found is not mistaken for what they would find.
func Version() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", patterns))
	return hex.EncodeToString(sum[:8])
}

// Language returns the name of the finder's language, "" for nil.
func (f *Finder) Language() string {
	if f == nil {
		return ""
	}
	return f.language
}

// Name returns the place of the name that a line defines.
func (f *Finder) Name(line []byte) (start, end int, ok bool) {
	if f == nil || len(line) > maxLine {
		return 0, 0, false
	}
	for _, e := range f.expressions() {
		groups := e.FindSubmatchIndex(line)
		for i := 2; i < len(groups); i += 2 {
			if groups[i] >= 0 && !keywords[string(line[groups[i]:groups[i+1]])] && !isStatement(line) {
				return groups[i], groups[i+1], true
			}
		}
	}
	return 0, 0, false
}

// Definitions returns a function that returns the names that a line of a text defines. Numbers of lines begin at 1.
func (f *Finder) Definitions(text []byte) func(number int, line []byte) []string {
	if f.Language() == "Go" {
		if defined, ok := goDefinitions(text); ok {
			return func(number int, _ []byte) []string { return defined[number] }
		}
	}
	return func(_ int, line []byte) []string {
		if start, end, ok := f.Name(line); ok {
			return []string{string(line[start:end])}
		}
		return nil
	}
}

// isStatement reports whether a line begins with a word that begins no definition. A case class is one.
func isStatement(line []byte) bool {
	line = bytes.TrimLeft(line, " \t}")
	n := bytes.IndexFunc(line, func(r rune) bool { return r < 'a' || r > 'z' })
	return n > 0 && keywords[string(line[:n])] && !bytes.HasPrefix(line, []byte("case "))
}

// keywords of statements, which look like the names of functions before a parenthesis, or like types
// before a name.
var keywords = map[string]bool{
	"if": true, "else": true, "elif": true, "for": true, "foreach": true, "while": true, "until": true, "switch": true,
	"catch": true, "return": true, "throw": true, "throws": true, "case": true, "do": true, "goto": true, "new": true,
	"sizeof": true, "await": true, "yield": true, "delete": true, "typeof": true, "unless": true, "when": true,
	"with": true, "using": true, "lock": true, "assert": true, "defined": true, "super": true, "import": true,
	"package": true, "from": true, "echo": true, "print": true, "go": true, "defer": true,
}

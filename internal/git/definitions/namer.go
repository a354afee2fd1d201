package definitions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"sync"
	"unicode"
)

// maxLine bounds the lines that are looked at: definitions are shorter than lines of data.
const maxLine = 400

// Namer finds the names that single lines of one language define. The nil Namer finds none. Any number of goroutines
// may use it.
type Namer struct {
	language    string
	expressions func() []*expression // the first group that takes part is the name
}

// namers returns the namers by language.
var namers = sync.OnceValue(func() map[string]*Namer {
	all := make(map[string]*Namer)
	for _, row := range patterns {
		compiled := sync.OnceValue(func() []*expression {
			list := make([]*expression, len(row.expressions))
			for i, e := range row.expressions {
				list[i] = mustCompile(e)
			}
			return list
		})
		for _, name := range row.languages {
			all[name] = &Namer{name, compiled}
		}
	}
	return all
})

// NamerOf returns the namer of the first of some languages that has patterns, by their names in github-linguist. It
// returns nil if none has.
func NamerOf(languages ...string) *Namer {
	for _, name := range languages {
		if n := namers()[name]; n != nil {
			return n
		}
	}
	return nil
}

// Version is another one for other patterns, so that what a namer found once is not mistaken for what it would find.
func Version() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", patterns))
	return hex.EncodeToString(sum[:8])
}

// Language returns the name of the namer's language, "" for nil.
func (n *Namer) Language() string {
	if n == nil {
		return ""
	}
	return n.language
}

// Name returns the place of the name that a line defines.
func (n *Namer) Name(line []byte) (start, end int, ok bool) {
	if n == nil || len(line) > maxLine {
		return 0, 0, false
	}
	for _, e := range n.expressions() {
		if !e.mayMatch(line) {
			continue
		}
		groups := e.FindSubmatchIndex(line)
		for i := 2; i < len(groups); i += 2 {
			if groups[i] < 0 {
				continue
			}
			name := line[groups[i]:groups[i+1]]
			if !statements[string(name)] && !isStatement(line) || definers.Match(line[:groups[i]]) {
				return groups[i], groups[i+1], true
			}
		}
	}
	return 0, 0, false
}

// Names returns a function that returns the names that a line of a text defines. Numbers of lines begin
// at 1. Files of Go are parsed up to [MaxBytes] and [MaxLines]; larger ones are looked at line by line.
func (n *Namer) Names(text []byte) func(number int, line []byte) []string {
	if n.Language() == "Go" && !isTooLarge(text) {
		defined := make(map[int][]string)
		if _, ok := parseGo(text, defined); ok {
			return func(number int, _ []byte) []string { return defined[number] }
		}
	}
	return func(_ int, line []byte) []string {
		if start, end, ok := n.Name(line); ok {
			return []string{string(line[start:end])}
		}
		return nil
	}
}

// isStatement reports whether a line begins with a word that begins no definition. A case class is one.
func isStatement(line []byte) bool {
	line = bytes.TrimLeft(line, " \t}")
	n := bytes.IndexFunc(line, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	_, ok := statements[string(line[:max(n, 0)])]
	return ok && !bytes.HasPrefix(line, []byte("case "))
}

// definers are keywords that only definitions have before the name, so that it may be any word: def delete, fn new.
var definers = regexp.MustCompile(`\b(?:def|defp|defmacro|fn|func|fun|function|sub|proc|method|package|using)\b`)

// statements are the keywords of statements, which look like the names of functions before a parenthesis, or like types
// before a name. The value tells whether it is a keyword in so many languages that it is never a name.
var statements = map[string]bool{
	"if": true, "else": true, "elif": true, "for": true, "foreach": true, "while": true, "until": true, "switch": true,
	"catch": true, "return": true, "throw": true, "throws": true, "case": true, "do": true, "goto": true, "new": true,
	"sizeof": true, "await": true, "yield": true, "typeof": true, "unless": true, "when": true, "function": true,
	"and": true, "or": true, "not": true,
	"assert": false, "defer": false, "defined": false, "delete": false, "echo": false, "from": false, "go": false,
	"import": false, "lock": false, "package": false, "print": false, "super": false, "using": false, "with": false,
}

package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxNeedles bounds the variants of a part of a match. Each costs a pass over the text, which
	// is many times faster than running the expression on every line.
	maxNeedles = 12
	// maxClass bounds the classes whose runes are expanded to variants.
	maxClass = 4
	// maxNeedle bounds the length of a needle: a longer one is no more selective.
	maxNeedle = 60
	// minNeedle is the minimal length of a useful needle.
	minNeedle = 2
)

// word is a string that may be part of a match.
type word struct {
	text string
	fold bool // in any case; the string is lower case ASCII then
}

// content describes the strings that match an expression.
type content struct {
	// exact are all of these strings; nil if there are too many.
	exact []word
	// needed are words; each of these strings contains one. It is nil if nothing is known.
	needed []word
}

// requiredBy finds words of which every match contains at least one. It returns nil if no useful
// ones exist.
func requiredBy(tree *syntax.Regexp) *needles {
	words := contentOf(tree).best()
	if score(words) < minNeedle*wordWeight-maxNeedles {
		return nil
	}
	return newNeedles(words)
}

var empty = []word{{}}

func contentOf(re *syntax.Regexp) content {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return content{exact: empty}
	case syntax.OpLiteral:
		return literal(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpCapture:
		return contentOf(re.Sub[0])
	case syntax.OpQuest:
		return content{exact: union(contentOf(re.Sub[0]).exact, empty)}
	case syntax.OpPlus:
		return content{needed: contentOf(re.Sub[0]).best()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return content{needed: contentOf(re.Sub[0]).best()}
		}
	case syntax.OpConcat:
		parts := make([]content, len(re.Sub))
		for i, sub := range re.Sub {
			parts[i] = contentOf(sub)
		}
		return join(parts)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	}
	return content{}
}

// literal returns the content of a fixed string. Parts that can match bytes other than those of the
// pattern split it: U+FFFD stands for every invalid byte, and folding beyond ASCII changes lengths.
func literal(runes []rune, fold bool) content {
	var parts []content
	for len(runes) > 0 {
		n := 0
		for n < len(runes) && plain(runes[n], fold) {
			n++
		}
		text := string(runes[:n])
		if fold {
			text = strings.ToLower(text)
		}
		parts = append(parts, content{exact: []word{{text, fold}}})
		if n < len(runes) {
			parts = append(parts, content{})
			n++
		}
		runes = runes[n:]
	}
	return join(parts)
}

func plain(r rune, fold bool) bool {
	return r != utf8.RuneError && (!fold || r < utf8.RuneSelf)
}

func class(ranges []rune) content {
	var words []word
	for i := 0; i+1 < len(ranges); i += 2 {
		if len(words)+int(ranges[i+1]-ranges[i])+1 > maxClass {
			return content{}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == utf8.RuneError {
				return content{}
			}
			words = append(words, word{text: string(r)})
		}
	}
	return content{exact: words}
}

// join returns the content of a concatenation. Adjacent exact parts become longer words.
func join(parts []content) content {
	var needed []word
	exact, whole := empty, true
	for _, part := range parts {
		if longer := cross(exact, part.exact); longer != nil {
			exact = longer
			continue
		}
		whole = false
		needed = better(better(needed, exact), part.best())
		if exact = part.exact; exact == nil {
			exact = empty
		}
	}
	if whole {
		return content{exact: exact}
	}
	return content{needed: better(needed, exact)}
}

func alternate(subs []*syntax.Regexp) content {
	var all content
	for i, sub := range subs {
		c := contentOf(sub)
		if i == 0 {
			all = content{c.exact, c.best()}
			continue
		}
		all = content{union(all.exact, c.exact), union(all.needed, c.best())}
	}
	return all
}

// cross lists the concatenations of a and b; nil if there are too many.
func cross(a, b []word) []word {
	if a == nil || b == nil || len(a)*len(b) > maxNeedles {
		return nil
	}
	var words []word
	for _, first := range a {
		for _, second := range b {
			w := word{first.text + second.text, first.fold || second.fold}
			if len(w.text) > maxNeedle {
				return nil
			}
			if w.fold {
				if !isASCII(w.text) {
					return nil
				}
				w.text = strings.ToLower(w.text)
			}
			words = append(words, w)
		}
	}
	return words
}

func union(a, b []word) []word {
	if a == nil || b == nil || len(a)+len(b) > maxNeedles {
		return nil
	}
	words := slices.Clone(a)
	for _, w := range b {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

func (c content) best() []word { return better(c.needed, c.exact) }

func better(a, b []word) []word {
	if score(b) > score(a) {
		return b
	}
	return a
}

const (
	wordWeight = 16
	// enough is the length beyond which a word is hardly more selective.
	enough = 10
)

func score(words []word) int {
	if len(words) == 0 {
		return -1
	}
	shortest := maxNeedle
	for _, w := range words {
		shortest = min(shortest, len(w.text))
	}
	if shortest == 0 {
		return -1
	}
	return min(shortest, enough)*wordWeight - len(words)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

package search

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

// Parse parses a query in GitHub's syntax. Qualifiers may stand between the search terms; "-" or
// NOT before a qualifier excludes:
//
//	repo:owner/name    one repository; repeated, any of them; repo:team/* or repo:*
//	org:team           the repositories below team/
//	path:src/lib       the path contains it; path:/src begins with it; path:src/*.go
//	                   from any folder on, in which "*" and "?" match no slash and
//	                   "**" does; a glob that matches a folder selects what is in it
//	filename:go.mod    the last part of the path, or a glob of it
//	extension:go       with or without a dot
//	language:c++       by name and, where that is not enough, by content
//	symbol:parseURL    defines a function, type or constant of this name
//	case:yes           case-sensitive; case:no, case-insensitive; by default
//	                   case-sensitive if a term has an upper case letter
//
// Values with spaces stand in quotes. Spaces beside a qualifier separate; other spaces are part of
// a [Regexp], also at the ends of the query. Of several values of one qualifier any may match; of
// several qualifiers all must match. Qualifiers ignore case. A word with a colon that is no
// qualifier is a term. Mistakes are a [*QueryError].
func Parse(text string, syntax Syntax) (Query, error) {
	if len(text) > MaxQueryBytes {
		return Query{}, &QueryError{Text: fmt.Sprintf("the query has %d bytes, at most %d are possible: shorten it",
			len(text), MaxQueryBytes)}
	}
	if !utf8.ValidString(text) {
		return Query{}, &QueryError{
			Text: "the query is not UTF-8: write other bytes as \\x{…} in a regular expression"}
	}
	p := parser{text: text, syntax: syntax, either: -1}
	for p.skipSpace(); p.at < len(text); p.skipSpace() {
		if err := p.word(); err != nil {
			return Query{}, err
		}
	}
	if p.either >= 0 {
		return Query{}, p.fail(p.either, "%s", misplacedOr)
	}
	p.endExpression()
	return p.query, p.check(p.endOperands())
}

// parser reads a query from left to right.
type parser struct {
	text   string
	syntax Syntax
	at     int
	query  Query
	found  []operand
	last   string // what OR would join: operandName, the name of a qualifier, or "" at the beginning
	either int    // the position of an OR whose second side is expected, or -1
	rest   []int  // parts of an expression: beginnings and ends
}

// operand is a term or a word, or several that OR joins.
type operand struct {
	any  []pattern.Term
	bare bool // all are words without quotes
	at   int  // position of the first, in bytes
}

// operandName is what parser.last is after an operand.
const operandName = "word"

// fail returns the error for a mistake at a byte offset.
func (p *parser) fail(at int, format string, arguments ...any) error {
	at = min(at, len(p.text))
	return &QueryError{Column: utf8.RuneCountInString(p.text[:at]) + 1, Text: fmt.Sprintf(format, arguments...)}
}

func (p *parser) skipSpace() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

// word parses a qualifier or a term.
func (p *parser) word() error {
	start := p.at
	exclude := p.exclusion()
	if name, ok := p.qualifier(); ok {
		return p.value(start, strings.ToLower(name), exclude)
	}
	p.at = start
	if p.syntax == Regexp {
		p.at += wordLength(p.text[p.at:])
		p.rest = append(p.rest, start, p.at)
		return nil
	}
	return p.term()
}

// exclusion consumes a dash or the word NOT, which exclude what follows.
func (p *parser) exclusion() bool {
	rest := p.text[p.at:]
	if strings.HasPrefix(rest, "-") {
		p.at++
		return true
	}
	if after, ok := strings.CutPrefix(rest, "NOT"); ok && strings.TrimLeftFunc(after, unicode.IsSpace) != after {
		p.at += len("NOT")
		p.skipSpace()
		return true
	}
	return false
}

// qualifier consumes a known name with its colon.
func (p *parser) qualifier() (name string, ok bool) {
	name, _, ok = strings.Cut(p.text[p.at:], ":")
	if !ok {
		return "", false
	}
	lowered := strings.ToLower(name)
	_, known := qualifiers[lowered]
	if _, wrong := refused[lowered]; !known && !wrong {
		return "", false
	}
	// "path::Joined" and "file://…" are source code.
	after := p.text[p.at+len(name)+1:]
	if strings.HasPrefix(after, ":") || strings.HasPrefix(after, "//") {
		return "", false
	}
	p.at += len(name) + 1
	return name, true
}

func (p *parser) value(start int, name string, exclude bool) error {
	if remedy := refused[name]; remedy != "" {
		return p.fail(start, `%s: is not supported: %s, or quote it to search for the text`, name, remedy)
	}
	at := p.at
	value, err := p.bareOrQuoted()
	if err != nil {
		return err
	}
	if value == "" {
		return p.fail(start, `%s: has no value: write it directly after the colon, or quote the word to search for it`,
			name)
	}
	if name == "content" {
		if exclude {
			return p.fail(start, "a text cannot be excluded; exclude files with -path:, -filename:, -extension: or "+
				"-language: instead")
		}
		return p.add(at, pattern.Term{Text: value}, false)
	}
	if p.either >= 0 && p.last != name {
		return p.fail(p.either, "%s", misplacedOr)
	}
	p.last, p.either = name, -1
	values := []string{value}
	if strings.HasPrefix(name, "repo") {
		values = slices.DeleteFunc(strings.Split(value, ","), func(v string) bool { return v == "" })
	}
	for _, v := range values {
		if err := qualifiers[name](&p.query, exclude, v); err != nil {
			return p.fail(start, "%s", err)
		}
	}
	return nil
}

// bareOrQuoted parses a string in quotes, or up to the next space.
func (p *parser) bareOrQuoted() (string, error) {
	if strings.HasPrefix(p.text[p.at:], `"`) {
		return p.quoted()
	}
	n := wordLength(p.text[p.at:])
	p.at += n
	return p.text[p.at-n : p.at], nil
}

func wordLength(text string) int {
	if n := strings.IndexFunc(text, unicode.IsSpace); n >= 0 {
		return n
	}
	return len(text)
}

// afterQuote are the marks of a sentence, which a quote in it may be followed by.
const afterQuote = ".,;:?!)"

func (p *parser) quoted() (string, error) {
	start := p.at
	var b strings.Builder
	for i := start + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			if rest := p.text[p.at:][:wordLength(p.text[p.at:])]; strings.Trim(rest, afterQuote) == "" {
				p.at += len(rest)
			} else {
				return "", p.fail(p.at, `a space must follow the closing quote; write a quote in a text as \"`)
			}
			return b.String(), nil
		case c == '\\' && i+1 < len(p.text) && (p.text[i+1] == '"' || p.text[i+1] == '\\'):
			i++
			b.WriteByte(p.text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fail(start, `the quote is not closed: close it, or write "\"" to search for a quote`)
}

const (
	misplacedOr = `OR stands between two words, or between two values of one qualifier; write "OR" to search for ` +
		`the word`
	noNot = `NOT is followed by a qualifier: a text cannot be excluded; write "NOT" to search for the word`
)

// term parses one term of [Words].
func (p *parser) term() error {
	start := p.at
	if expression, ok := p.expression(); ok {
		return p.add(start+1, pattern.Term{Text: expression, Regexp: true}, false)
	}
	inQuotes := p.text[p.at] == '"'
	word, err := p.bareOrQuoted()
	switch {
	case err != nil:
		return err
	case inQuotes:
		return p.add(start+1, pattern.Term{Text: word}, false)
	case word == "AND": // all terms must match anyway
		return nil
	case word == "OR":
		if p.last == "" || p.either >= 0 {
			return p.fail(start, "%s", misplacedOr)
		}
		p.either = start
		return nil
	case word == "NOT":
		return p.fail(start, "%s", noNot)
	default:
		return p.add(start, pattern.Term{Text: word}, true)
	}
}

// add adds a term, or an alternative of the one before.
func (p *parser) add(at int, t pattern.Term, bare bool) error {
	if p.either < 0 {
		p.found = append(p.found, operand{[]pattern.Term{t}, bare, at})
		p.last = operandName
		return nil
	}
	if p.last != operandName {
		return p.fail(p.either, "%s", misplacedOr)
	}
	last := &p.found[len(p.found)-1]
	last.any, last.bare, p.either = append(last.any, t), last.bare && bare, -1
	return nil
}

// endOperands puts the operands into the query, and returns the positions of the terms.
func (p *parser) endOperands() (places []int) {
	for _, o := range p.found {
		if o.bare {
			var word []string
			for _, t := range o.any {
				word = append(word, t.Text)
			}
			p.query.Words = append(p.query.Words, word)
			continue
		}
		p.query.Terms = append(p.query.Terms, oneOf(o.any))
		places = append(places, o.at)
	}
	return places
}

// oneOf returns a term for whatever one of the terms matches.
func oneOf(terms []pattern.Term) pattern.Term {
	if len(terms) == 1 {
		return terms[0]
	}
	var parts []string
	for _, t := range terms {
		if !t.Regexp {
			t.Text = regexp.QuoteMeta(t.Text)
		}
		parts = append(parts, "(?:"+t.Text+")")
	}
	return pattern.Term{Text: strings.Join(parts, "|"), Regexp: true}
}

// expression parses /…/ if a space or the end follows: /usr/bin is a term.
func (p *parser) expression() (string, bool) {
	rest := p.text[p.at:]
	if !strings.HasPrefix(rest, "/") {
		return "", false
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '/':
			if i == 1 || wordLength(rest[i+1:]) > 0 {
				return "", false
			}
			p.at += i + 1
			return strings.ReplaceAll(rest[1:i], `\/`, `/`), true
		}
	}
	return "", false
}

// endExpression joins the parts between qualifiers to one expression. It keeps spaces at the ends
// of the query, but not line breaks.
func (p *parser) endExpression() {
	if len(p.rest) == 0 {
		return
	}
	const breaks = "\r\n"
	last := len(p.rest) - 1
	if before := p.text[:p.rest[0]]; strings.TrimSpace(before) == "" {
		p.rest[0] = len(before) - len(strings.TrimLeft(before, breaks))
	}
	if after := p.text[p.rest[last]:]; strings.TrimSpace(after) == "" {
		p.rest[last] += len(strings.TrimRight(after, breaks))
	}
	var b strings.Builder
	for i := 0; i < len(p.rest); i += 2 {
		switch {
		case i == 0:
		case strings.TrimSpace(p.text[p.rest[i-1]:p.rest[i]]) == "":
			b.WriteString(p.text[p.rest[i-1]:p.rest[i]])
		default: // a qualifier was between the parts
			b.WriteByte(' ')
		}
		b.WriteString(p.text[p.rest[i]:p.rest[i+1]])
	}
	p.found = append(p.found, operand{[]pattern.Term{{Text: b.String(), Regexp: true}}, false, p.rest[0]})
}

// check compiles the query, to locate mistakes in the string.
func (p *parser) check(places []int) error {
	_, err := compile(p.query, ByRank)
	var term *pattern.Error
	if errors.As(err, &term) && term.Term < len(places) {
		return p.fail(places[term.Term]+term.Offset, "%s", term.Text)
	}
	return err
}

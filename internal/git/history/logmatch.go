package history

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git/mailmap"
)

// matcher matches authors as `git log -i -F --author` does, and lines of the message as `git log
// --grep` does.
type matcher struct {
	author  string // folded
	message *regexp.Regexp
	people  *mailmap.Map
	// literal is in lower case, and in each message that matches; "" if that is not known.
	literal []byte
	lower   []byte // scratch
}

func newMatcher(o LogOptions) matcher {
	m := matcher{author: fold(o.Author), message: o.Message, people: o.Mailmap}
	if o.Message != nil {
		if parsed, err := syntax.Parse(o.Message.String(), syntax.Perl); err == nil {
			m.literal = []byte(strings.ToLower(requiredLiteral(parsed)))
		}
	}
	return m
}

// requiredLiteral returns the longest string of ASCII that all matches contain, in some case; "" if
// there is none.
func requiredLiteral(re *syntax.Regexp) (longest string) {
	switch re.Op {
	case syntax.OpLiteral:
		if literal := string(re.Rune); isASCII([]byte(literal)) {
			return literal
		}
	case syntax.OpConcat:
		for _, part := range re.Sub {
			if literal := requiredLiteral(part); len(literal) > len(longest) {
				longest = literal
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiteral(re.Sub[0])
		}
	}
	return longest
}

func isASCII(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return c >= utf8.RuneSelf })
}

// lacksLiteral reports whether a commit cannot match, because it does not have the literal: most
// commits need no regular expression so. It knows only of ASCII, where case is simple.
func (m *matcher) lacksLiteral(raw []byte) bool {
	if len(m.literal) == 0 || bytes.Contains(raw, []byte("\nencoding ")) {
		return false
	}
	m.lower = append(m.lower[:0], raw...)
	for i, c := range m.lower {
		if c >= utf8.RuneSelf {
			return false
		}
		if 'A' <= c && c <= 'Z' {
			m.lower[i] = c + 'a' - 'A'
		}
	}
	return !bytes.Contains(m.lower, m.literal)
}

// isSet reports whether there is a condition.
func (m *matcher) isSet() bool { return m.author != "" || m.message != nil }

func (m *matcher) match(raw []byte) answer {
	if m.lacksLiteral(raw) {
		return no
	}
	header, message, _ := strings.Cut(readable(raw), "\n\n")
	if m.byAuthor(header) && m.inMessage(message) {
		return yes
	}
	return no
}

// byAuthor reports whether the author's name and address match, without the date.
func (m *matcher) byAuthor(header string) bool {
	if m.author == "" {
		return true
	}
	for line := range strings.SplitSeq(header, "\n") {
		who, ok := strings.CutPrefix(line, "author ")
		if ok && strings.Contains(fold(m.mappedAuthor(who)), m.author) {
			return true
		}
	}
	return false
}

// mappedAuthor returns an author line up to the date, with the mailmap applied.
func (m *matcher) mappedAuthor(who string) string {
	stored := parsePerson(who)
	name, email := m.people.Lookup(stored.Name, stored.Email)
	if name != stored.Name || email != stored.Email {
		return name + " <" + email + ">"
	}
	if end := strings.LastIndexByte(who, '>'); end > 0 {
		who = who[:end+1]
	}
	return who
}

// inMessage reports whether a line of the message matches.
func (m *matcher) inMessage(message string) bool {
	if m.message == nil {
		return true
	}
	for line := range strings.Lines(message) {
		if m.message.MatchString(strings.TrimSuffix(line, "\n")) {
			return true
		}
	}
	return false
}

// fold makes strings equal that differ only in case: each letter becomes the smallest of those that
// Unicode's simple folding equates. Invalid UTF-8 stays.
func fold(s string) string {
	folded := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size <= 1 {
			folded = append(folded, s[i])
		} else {
			folded = utf8.AppendRune(folded, smallestFold(r))
		}
		i += size
	}
	return string(folded)
}

func smallestFold(r rune) rune {
	smallest := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		smallest = min(smallest, other)
	}
	return smallest
}

// question identifies what a matcher looks for.
func (m *matcher) question() string {
	text := fmt.Sprintf("%q %q", m.author, patternOf(m.message))
	if m.author != "" {
		text += fmt.Sprintf(" %x", m.people.Digest())
	}
	sum := sha256.Sum256([]byte(text))
	return "\x00" + string(sum[:]) // no path begins with NUL
}

// matches caches which commits of a repository match: to read all messages again for each page, and
// each time that a client asks the same, would take nearly all of its time. It is safe for
// concurrent use.
type matches struct {
	ancestry *ancestry

	mu sync.Mutex
	growing
	of []answer // by the number of the commit in the ancestry
}

// matches returns the answers to a question about the commits of an ancestry.
func (f *Cache) matches(a *ancestry, question string) *matches {
	fresh := &matches{ancestry: a, growing: f.growing(cacheKey{a.key.repository, question})}
	if known := f.known.GetOrPut(fresh.key, fresh, fresh.bytes).(*matches); known.ancestry == a {
		return known
	}
	f.known.Put(fresh.key, fresh, fresh.bytes) // the numbers of the others belong to an evicted ancestry
	return fresh
}

func (a *matches) recall(n uint32) answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if int(n) >= len(a.of) {
		return unknown
	}
	return a.of[n]
}

func (a *matches) remember(n uint32, matched answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := len(a.of); int(n) >= known {
		a.of = extended(a.of, n+placesAtOnce)
		a.grow(a, int64(len(a.of)-known))
	}
	a.of[n] = matched
}

package history

import (
	"regexp"
	"strings"
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
}

func newMatcher(o LogOptions) matcher {
	return matcher{author: fold(o.Author), message: o.Message, people: o.Mailmap}
}

// isSet reports whether there is a condition.
func (m matcher) isSet() bool { return m.author != "" || m.message != nil }

func (m matcher) match(raw []byte) answer {
	header, message, _ := strings.Cut(readable(raw), "\n\n")
	if m.byAuthor(header) && m.inMessage(message) {
		return yes
	}
	return no
}

// byAuthor reports whether the author's name and address match, without the date.
func (m matcher) byAuthor(header string) bool {
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
func (m matcher) mappedAuthor(who string) string {
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
func (m matcher) inMessage(message string) bool {
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

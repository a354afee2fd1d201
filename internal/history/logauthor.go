package history

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// matcher looks for an author as `git log -i -F --author` does; nil matches
// all.
type matcher []byte

func newMatcher(author string) matcher {
	if author == "" {
		return nil
	}
	return matcher(fold(author))
}

// match looks at the author's name and address, without the date (grep.c,
// strip_timestamp).
func (m matcher) match(raw []byte) answer {
	header, _, _ := strings.Cut(readable(raw), "\n\n")
	for line := range strings.SplitSeq(header, "\n") {
		who, ok := strings.CutPrefix(line, "author ")
		if !ok {
			continue
		}
		if end := strings.LastIndexByte(who, '>'); end > 0 {
			who = who[:end+1]
		}
		if strings.Contains(fold(who), string(m)) {
			return yes
		}
	}
	return no
}

// fold makes texts equal that differ in case only: each letter becomes the
// least of those that are the same to Unicode's simple folding. Bytes that are
// no UTF-8 stay.
func fold(s string) string {
	folded := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size <= 1 {
			folded = append(folded, s[i])
		} else {
			folded = utf8.AppendRune(folded, least(r))
		}
		i += size
	}
	return string(folded)
}

func least(r rune) rune {
	found := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		found = min(found, other)
	}
	return found
}

// Package wildmatch matches paths against the patterns of gitignore(5), with the answers of git.
//
// Attributes and pathspecs use [Match] after comparing the part before the first special byte;
// [Literal] returns its length.
//
// Patterns and strings are bytes without an encoding, and a letter is an ASCII letter:
//
//	?        one byte
//	*        any bytes, also none
//	**       the same
//	[a-z]    one byte of a set; [!a] and [^a] one byte outside it
//	[[:x:]]  a class: alnum alpha blank cntrl digit graph lower print punct
//	         space upper xdigit. A space is a blank, a tab, LF or CR
//	\x       the byte x
//
// With [PathName] neither "?", "*" nor a set matches a slash, and "**" does only if it is a whole
// component: "**/" is any number of folders, also none, and a final "/**" is everything below.
// Elsewhere "**" is "*".
//
// A malformed pattern (an open set, an unknown class, a final backslash) matches nothing, unless
// git never reaches that part: a set ends at the first "]" after its first byte, and a "[:" without
// ":]" is two bytes.
//
// With [CaseFold] git lowers the letters of the string and those of the pattern that are neither
// escaped nor single members of a set, so that "\A" and "[A]" match nothing. Ranges are tried in
// both cases.
//
// Git's own recursion takes exponential time for patterns such as "**/**/**/a". Here a match takes
// at most len(pattern) × len(text) steps for any input, and no memory.
//
// NUL, which ends a pattern or a path in git, is an ordinary byte: callers have none.
package wildmatch

import "bytes"

// Flags change what a pattern means.
type Flags uint8

const (
	// PathName makes only a slash and "**" match a slash.
	PathName Flags = 1 << iota
	// CaseFold makes ASCII letters match in any case.
	CaseFold
)

// Match reports whether the pattern matches the whole text.
func Match(pattern string, text []byte, flags Flags) bool {
	m := matcher{pattern: pattern, text: text, flags: flags, star: none, deep: none}
	for {
		switch m.step() {
		case yes:
			return true
		case no:
			return false
		case mismatch:
			if !m.back() {
				return false
			}
		}
	}
}

// Literal returns the length of the part of the pattern before the first byte that may be special.
func Literal(pattern string) int {
	for i := range len(pattern) {
		switch pattern[i] {
		case '*', '?', '[', '\\':
			return i
		}
	}
	return len(pattern)
}

// none is the position of an asterisk that was not seen.
const none = -1

// matcher walks the pattern and the text once. At a difference it backtracks to the last asterisk,
// which then takes one byte more, or to the last "**/", which then takes one folder more. Earlier
// ones need not be tried again: the part between two asterisks is found at its first place, which
// leaves the most to the parts that follow; and the part between two "**/" has a fixed number of
// slashes, so that its first place also ends first.
//
// Each part between two slashes of the pattern is therefore compared at most once with each part
// between two slashes of the text, which bounds the time.
type matcher struct {
	pattern string
	text    []byte
	flags   Flags

	p, t         int // current positions
	star, starAt int // the pattern after the last asterisk, the text after what it takes
	deep, deepAt int // the same for the last "**/"
}

type outcome int

const (
	advanced outcome = iota
	mismatch
	yes
	no // nor for any other choice for the asterisks
)

// step consumes one element of the pattern.
func (m *matcher) step() outcome {
	switch {
	case m.p == len(m.pattern):
		if m.t == len(m.text) {
			return yes
		}
		return mismatch
	case m.pattern[m.p] == '*':
		return m.asterisks()
	case m.t == len(m.text):
		return no // taking more text elsewhere leaves less here
	}
	c := m.text[m.t]
	n, ok := m.element(c)
	if !ok {
		return mismatch
	}
	m.p, m.t = m.p+n, m.t+1
	if c == '/' && m.flags&PathName != 0 {
		m.star = none // its component is complete, in the only possible way
	}
	return advanced
}

// asterisks consumes a run of asterisks.
func (m *matcher) asterisks() outcome {
	end := m.p
	for end < len(m.pattern) && m.pattern[end] == '*' {
		end++
	}
	rest := m.pattern[end:]
	if m.flags&PathName != 0 && end-m.p > 1 && (m.p == 0 || m.pattern[m.p-1] == '/') {
		switch {
		case rest == "":
			return yes
		case rest[0] == '/':
			m.star, m.deep, m.deepAt = none, end+1, m.t
			m.p = m.deep
			return advanced
		case len(rest) > 1 && rest[:2] == `\/`: // git does not let this one be empty
			m.deep, m.deepAt = end+2, m.t
			m.star = none
			return mismatch
		}
	}
	if rest == "" {
		m.star = none
		if m.flags&PathName != 0 && bytes.IndexByte(m.text[m.t:], '/') >= 0 {
			return mismatch
		}
		return yes
	}
	m.star, m.starAt = end, m.t
	m.p = end
	return advanced
}

// back returns to the last asterisk that can take more, and reports whether there is one.
func (m *matcher) back() bool {
	if m.star != none && m.starAt < len(m.text) && (m.flags&PathName == 0 || m.text[m.starAt] != '/') {
		m.starAt++
		m.p, m.t = m.star, m.starAt
		return true
	}
	m.star = none
	if m.deep == none {
		return false
	}
	slash := bytes.IndexByte(m.text[m.deepAt:], '/')
	if slash < 0 {
		return false
	}
	m.deepAt += slash + 1
	m.p, m.t = m.deep, m.deepAt
	return true
}

// element compares one byte of the text with the pattern's element at m.p, and returns the
// element's length.
func (m *matcher) element(c byte) (length int, ok bool) {
	fold := m.flags&CaseFold != 0
	if fold {
		c = Lower(c)
	}
	switch p := m.pattern[m.p]; p {
	case '\\':
		return 2, m.p+1 < len(m.pattern) && m.pattern[m.p+1] == c
	case '?':
		return 1, m.flags&PathName == 0 || c != '/'
	case '[':
		length, ok = set(m.pattern[m.p:], c, fold)
		return length, ok && (m.flags&PathName == 0 || c != '/')
	default:
		if fold {
			p = Lower(p)
		}
		return 1, p == c
	}
}

// Lower folds the case of an ASCII letter, as [CaseFold] does.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

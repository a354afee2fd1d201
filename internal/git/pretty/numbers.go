package pretty

import (
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git/message"
)

const spaces = message.Blanks

func isSpace(c byte) bool { return c != 0 && strings.IndexByte(spaces, c) >= 0 }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlnum(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

// byteAt returns the byte at position i, 0 beyond the end.
func byteAt(s string, i int) byte {
	if i >= len(s) {
		return 0
	}
	return s[i]
}

// untilNUL returns the string up to the first NUL, where C strings end.
func untilNUL(s string) string {
	text, _, _ := strings.Cut(s, "\x00")
	return text
}

// cutInt parses a decimal number after blanks and a sign. Too large numbers are clamped. Without a
// digit, rest is s and the number 0.
func cutInt(s string) (n int64, rest string) {
	number := strings.TrimLeft(s, spaces+"\v\f")
	end := 0
	if c := byteAt(number, 0); c == '+' || c == '-' {
		end++
	}
	for isDigit(byteAt(number, end)) {
		end++
	}
	n, err := strconv.ParseInt(number[:end], 10, 64)
	if err != nil && n == 0 {
		return 0, s
	}
	return n, number[end:]
}

// hexByte parses two hexadecimal digits at the beginning of s.
func hexByte(s string) (text string, ok bool) {
	if len(s) < 2 {
		return "", false
	}
	n, err := strconv.ParseUint(s[:2], 16, 8)
	return string([]byte{byte(n)}), err == nil
}

// parseBool parses a boolean as in git-config(1): a word, or a number with an optional unit.
func parseBool(s string) (value, ok bool) {
	s = strings.ToLower(s)
	switch s {
	case "true", "yes", "on":
		return true, true
	case "", "false", "no", "off":
		return false, true
	}
	const bits = 32
	shift := map[byte]int{'k': 10, 'm': 20, 'g': 30}[s[len(s)-1]]
	if shift > 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseInt(strings.TrimLeft(s, spaces+"\v\f"), 0, bits-shift)
	return n != 0, err == nil
}

// option is one option of %(describe:…) or %(trailers:…).
type option struct {
	name, value string
	hasValue    bool   // there is a value
	rest        string // the remaining list
}

// flag returns the value of a boolean option, true without a value.
func (o option) flag() (on, ok bool) {
	if !o.hasValue {
		return true, true
	}
	return parseBool(o.value)
}

// cutOption parses the first option of a list, which is separated by commas and ends at a
// parenthesis. It returns the zero option for an unterminated list.
func (m *meter) cutOption(list string) (o option) {
	end := m.indexAny(list, ",)")
	if end < 0 {
		return option{}
	}
	o.name, o.value, o.hasValue = strings.Cut(list[:end], "=")
	o.rest = strings.TrimPrefix(list[end:], ",")
	return o
}

// readOptions parses the options of a placeholder, if any, up to the closing parenthesis.
func (m *meter) readOptions(args string, read func(option) bool) (rest string, ok bool) {
	if list, found := strings.CutPrefix(args, ":"); found {
		for args = list; m.ok() && args != "" && args[0] != ')'; {
			o := m.cutOption(args)
			if !read(o) {
				return "", false
			}
			args = o.rest
		}
	}
	return strings.CutPrefix(args, ")")
}

package subst

import (
	"math"
	"strings"

	"github.com/repomcp/repomcp/internal/message"
)

// What C code sees in text, as git's ctype.c and libc's strtol have it: ASCII
// whatever the locale, and a NUL after the end.

const spaces = message.Blanks

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

// at is the byte at position i, 0 beyond the end.
func at(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

func byteAt(s []byte, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// untilNUL is the text as C sees it.
func untilNUL(s string) string {
	text, _, _ := strings.Cut(s, "\x00")
	return text
}

// digitsOf gives the length of what strtol and strtoul read at the beginning
// of s: blanks, a sign and digits; 0 when there is no digit.
func digitsOf(s string) (start, end int, negative bool) {
	i := 0
	for isSpace(at(s, i)) || at(s, i) == '\v' || at(s, i) == '\f' {
		i++
	}
	if c := at(s, i); c == '+' || c == '-' {
		negative = c == '-'
		i++
	}
	start = i
	for isDigit(at(s, i)) {
		i++
	}
	if i == start {
		return 0, 0, false
	}
	return start, i, negative
}

// parseUnsigned is strtoumax: the value, and how many bytes it took. A number
// that is too large is the largest, a negative one wraps around.
func parseUnsigned(s string) (value uint64, length int) {
	start, end, negative := digitsOf(s)
	for _, c := range []byte(s[start:end]) {
		digit := uint64(c - '0')
		if value > (math.MaxUint64-digit)/10 {
			return math.MaxUint64, end
		}
		value = value*10 + digit
	}
	if negative {
		value = -value
	}
	return value, end
}

// parseSigned is strtol: the value, and how many bytes it took. Numbers that
// are too large become the largest.
func parseSigned(s string) (value int64, length int) {
	start, end, negative := digitsOf(s)
	magnitude, _ := parseUnsigned(s[start:end])
	switch {
	case negative && magnitude > math.MaxInt64:
		return math.MinInt64, end
	case negative:
		return -int64(magnitude), end
	case magnitude > math.MaxInt64:
		return math.MaxInt64, end
	default:
		return int64(magnitude), end
	}
}

// parseBool is git_parse_maybe_bool (config.c): words, and numbers with a unit.
func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "", "false", "no", "off":
		return false, true
	}
	n, ok := parseScaled(s)
	return n != 0, ok
}

// units are the multipliers of numbers in git's configuration.
var units = map[string]int64{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

// parseScaled reads a number that fits in a C int, in C's notation: 0x and 0
// for other bases.
func parseScaled(s string) (int64, bool) {
	i := 0
	for isSpace(at(s, i)) || at(s, i) == '\v' || at(s, i) == '\f' {
		i++
	}
	negative := at(s, i) == '-'
	if negative || at(s, i) == '+' {
		i++
	}
	base, digits := numberBase(s[i:])
	var n int64
	end := i + digits
	for ; end < len(s); end++ {
		d := hexValue(s[end])
		if d < 0 || int64(d) >= base {
			break
		}
		if n = n*base + int64(d); n > math.MaxInt32 {
			return 0, false
		}
	}
	unit, known := units[strings.ToLower(s[end:])]
	if end == i || !known || n > math.MaxInt32/unit {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n * unit, true
}

// numberBase gives the base of a C number and the length of its mark.
func numberBase(s string) (base int64, mark int) {
	if at(s, 0) != '0' {
		return 10, 0
	}
	if at(s, 1)|0x20 == 'x' && hexValue(at(s, 2)) >= 0 {
		return 16, 2
	}
	return 8, 0
}

// hexValue is the value of a hexadecimal digit, -1 for other bytes.
func hexValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	default:
		return -1
	}
}

// hexPair is the byte that two hexadecimal digits mean.
func hexPair(s string) (byte, bool) {
	high, low := hexValue(at(s, 0)), hexValue(at(s, 1))
	if high < 0 || low < 0 {
		return 0, false
	}
	return byte(high<<4 | low), true
}

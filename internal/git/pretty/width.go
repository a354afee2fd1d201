package pretty

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	softHyphen = 0xad
	// Vowels and final consonants of Hangul combine with the preceding character.
	firstCombiningHangul = 0x1160
	lastCombiningHangul  = 0x11ff
)

// columns returns a character's width on a terminal, -1 for a control character.
func columns(char rune) int {
	switch {
	case ' ' <= char && char <= '~' || char == softHyphen:
		return 1
	case char == 0:
		return 0
	case unicode.IsControl(char):
		return -1
	case unicode.In(char, unicode.Mn, unicode.Me, unicode.Cf),
		firstCombiningHangul <= char && char <= lastCombiningHangul:
		return 0
	}
	switch width.LookupRune(char).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// escapeLength returns the length of a colour's escape sequence at the start of s, 0 for none.
func escapeLength(s string) int {
	if byteAt(s, 0) != '\x1b' || byteAt(s, 1) != '[' {
		return 0
	}
	end := 2
	for isDigit(byteAt(s, end)) || byteAt(s, end) == ';' {
		end++
	}
	if byteAt(s, end) != 'm' {
		return 0
	}
	return end + 1
}

// pieces yields the characters of a string, and its escape sequences with width 0. In invalid UTF-8
// each byte has width 1.
func pieces(s string, valid bool) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for s != "" {
			length, wide := escapeLength(s), 0
			switch {
			case length > 0:
			case valid:
				var char rune
				char, length = utf8.DecodeRuneInString(s)
				wide = columns(char)
			default:
				length, wide = 1, 1
			}
			if !yield(s[:length], wide) {
				return
			}
			s = s[length:]
		}
	}
}

// widthOf returns the width of a string; escape sequences count only in invalid UTF-8.
func widthOf(s string) int {
	if !utf8.ValidString(s) {
		return len(s)
	}
	total := 0
	for _, wide := range pieces(s, true) {
		total += max(wide, 0)
	}
	return total
}

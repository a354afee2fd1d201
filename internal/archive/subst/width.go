package subst

import "slices"

// decodeChar reads one character of UTF-8 as pick_one_utf8_char (utf8.c): no
// overlong forms, no surrogates, nothing beyond U+10FFFF, and neither U+FFFE nor
// U+FFFF. At the end there is a NUL, as in C. It gives the length 0 for bytes
// that are no UTF-8.
func decodeChar(s []byte, i int) (char rune, length int) {
	first := byteAt(s, i)
	if first < 0x80 {
		return rune(first), 1
	}
	for _, form := range utf8Forms {
		if first&form.mask != form.mark {
			continue
		}
		char = rune(first &^ form.mask)
		for k := 1; k < form.length; k++ {
			next := byteAt(s, i+k)
			if next&0xc0 != 0x80 {
				return 0, 0
			}
			char = char<<6 | rune(next&0x3f)
		}
		if char < form.least || char > 0x10ffff || 0xd800 <= char && char <= 0xdfff || char == 0xfffe || char == 0xffff {
			return 0, 0
		}
		return char, form.length
	}
	return 0, 0
}

// utf8Forms are the first bytes of longer characters.
var utf8Forms = []struct {
	mask, mark byte
	length     int
	least      rune
}{
	{0xe0, 0xc0, 2, 0x80},
	{0xf0, 0xe0, 3, 0x800},
	{0xf8, 0xf0, 4, 0x10000},
}

// columns is how many columns of a terminal a character takes, -1 for a control
// character: git_wcwidth.
func columns(char rune) int {
	switch {
	case char == 0:
		return 0
	case char < 0x20 || 0x7f <= char && char < 0xa0:
		return -1
	case char < noColumn[0].first:
		return 1
	case within(noColumn, char):
		return 0
	case within(twoColumns, char):
		return 2
	default:
		return 1
	}
}

func within(table []span, char rune) bool {
	_, found := slices.BinarySearchFunc(table, char, func(s span, c rune) int {
		switch {
		case s.last < c:
			return -1
		case s.first > c:
			return 1
		default:
			return 0
		}
	})
	return found
}

// escapeLength is the length of a colour's escape sequence at i, 0 for none.
func escapeLength(s []byte, i int) int {
	if byteAt(s, i) != '\x1b' || byteAt(s, i+1) != '[' {
		return 0
	}
	end := i + 2
	for isDigit(byteAt(s, end)) || byteAt(s, end) == ';' {
		end++
	}
	if byteAt(s, end) != 'm' {
		return 0
	}
	return end + 1 - i
}

// widthOf is the columns of a text without its colours, and its length in bytes
// when it is no UTF-8: utf8_strnwidth.
func widthOf(s []byte) int {
	width := 0
	for i := 0; i < len(s); {
		for n := escapeLength(s, i); n > 0; n = escapeLength(s, i) {
			i += n
		}
		char, length := decodeChar(s, i)
		if length == 0 {
			return len(s)
		}
		width += max(columns(char), 0)
		i += length
	}
	return width
}

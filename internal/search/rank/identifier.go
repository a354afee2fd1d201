package rank

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// kind is what a character is within identifiers.
type kind uint8

const (
	other kind = iota // not in identifiers
	lower             // also a letter of a script without cases
	upper
	digit
	joint // the underscore, which separates parts
	sign  // a letter of a script without spaces between words: a part of its own
	wide  // a byte of a character beyond ASCII, which has one of the other kinds
)

// kinds are those of bytes.
var kinds = func() (k [256]kind) {
	for c := range k {
		switch {
		case c >= utf8.RuneSelf:
			k[c] = wide
		case c >= 'a' && c <= 'z':
			k[c] = lower
		case c >= 'A' && c <= 'Z':
			k[c] = upper
		case c >= '0' && c <= '9':
			k[c] = digit
		case c == '_':
			k[c] = joint
		}
	}
	return k
}()

// wideKind returns the kind of the first character of a text, and its length.
func wideKind(text []byte) (kind, int) {
	r, size := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && size == 1:
		return other, 1
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return sign, size
	case unicode.IsUpper(r):
		return upper, size
	case unicode.IsDigit(r):
		return digit, size
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower, size
	}
	return other, size
}

// boundary tells where a part ends.
type boundary uint8

const (
	noBoundary boundary = iota
	beforeThis          // character
	beforeLast          // the character before this one
)

// boundaries are those between a character and the next one.
var boundaries = func() (b [wide + 1][wide + 1]boundary) {
	for k := range b {
		b[k][joint], b[k][sign], b[sign][k] = beforeThis, beforeThis, beforeThis
	}
	b[lower][upper], b[digit][upper], b[upper][lower] = beforeThis, beforeThis, beforeLast
	return b
}()

// visitor is told of the identifiers of a text, from left to right.
type visitor interface {
	// part gets the place of a part of an identifier.
	part(start, end int)
	// whole gets the place of an identifier with several parts, after these.
	whole(start, end int)
}

// beginnings has a bit for each two bytes that parts of interest begin with; the second of one byte is 0.
type beginnings [1 << 16 / 64]uint64

func (b *beginnings) add(first, second byte) {
	at := uint16(first)<<8 | uint16(second)
	b[at/64] |= 1 << (at % 64)
}

func (b *beginnings) have(part []byte) bool {
	at := uint16(part[0]) << 8
	if len(part) > 1 {
		at |= uint16(part[1])
	}
	return b[at/64]&(1<<(at%64)) != 0
}

// visit goes through the identifiers of a text: sequences of letters, digits and underscores. A part begins
// after an underscore, with an upper case letter after a lower case one or a digit, and with the last of
// several upper case letters before a lower case one: HTTP2ServerURL has HTTP2, Server and URL. It passes over parts
// that begin otherwise than of.
func visit(text []byte, of *beginnings, v visitor) {
	for at := 0; at < len(text); {
		if kinds[text[at]] == other {
			at++
			continue
		}
		at = visitIdentifier(text, at, of, v)
	}
}

// visitIdentifier goes through the identifier at first, and returns its end; that of the character if it is in none.
func visitIdentifier(text []byte, first int, of *beginnings, v visitor) int {
	parts, start, before, last := 0, first, first, joint // before is the place of the last character
	at := first
	for at < len(text) {
		k, size := kinds[text[at]], 1
		if k == wide {
			k, size = wideKind(text[at:])
		}
		if k == other {
			break
		}
		if b := boundaries[last][k]; b != noBoundary {
			end := at
			if b == beforeLast {
				end = before
			}
			if end > start {
				if parts++; of.have(text[start:end]) {
					v.part(start, end)
				}
				start = end
			}
		}
		last, before = k, at
		at += size
		switch k {
		case joint:
			start = at
		case lower: // most characters follow others of this kind
			for at < len(text) && kinds[text[at]] == lower {
				at++
			}
		}
	}
	if at == first {
		_, size := wideKind(text[at:])
		return at + size
	}
	if at > start {
		if parts++; of.have(text[start:at]) {
			v.part(start, at)
		}
	}
	if parts > 1 {
		v.whole(first, at)
	}
	return at
}

// list collects the parts of an identifier.
type list struct {
	text  string
	parts []string
}

func (l *list) part(start, end int) { l.parts = append(l.parts, l.text[start:end]) }
func (l *list) whole(int, int)      {}

// identifiers returns the parts of each identifier of a text.
func identifiers(text string) (all [][]string) {
	var every beginnings
	for i := range every {
		every[i] = math.MaxUint64
	}
	for at := 0; at < len(text); {
		l := list{text: text}
		at = visitIdentifier([]byte(text), at, &every, &l)
		if len(l.parts) > 0 {
			all = append(all, l.parts)
		}
	}
	return all
}

// Package printable keeps what repositories call things from changing how the text around it is seen:
// by control characters for terminals, by characters that turn the direction of a line around
// (U+202E), and by those that are drawn as nothing.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ignorable are characters that are not seen although they are no control or
// format characters: fillers, variation selectors and the like.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

const brailleBlank = '\u2800'

// IsUnseen reports whether a character is a control or format character (bidirectional and
// zero-width ones among them), a private or unassigned one, a blank but the common one, or drawn as
// nothing.
func IsUnseen(r rune) bool {
	return !unicode.IsPrint(r) || unicode.IsOneOf(ignorable, r) || r == brailleBlank
}

// Text returns a text with U+FFFD for bytes that are no UTF-8 and for each character that is unseen,
// but for tabs.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if IsUnseen(r) && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

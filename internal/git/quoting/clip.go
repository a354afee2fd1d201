package quoting

import "unicode/utf8"

// Clip returns at most so many bytes of a text, with "…" after them if that is not all, and no part of a character.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:WholeRunes(text[:most])] + "…"
}

// WholeRunes returns the length of the text without an incomplete last character.
func WholeRunes[T string | []byte](text T) int {
	for at := len(text) - 1; at >= 0 && at > len(text)-utf8.UTFMax; at-- {
		if !utf8.RuneStart(text[at]) {
			continue
		}
		if utf8.FullRuneInString(string(text[at:])) {
			break
		}
		return at
	}
	return len(text)
}

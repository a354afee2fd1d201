// Package charset turns text into UTF-8 and back, by the names of encodings that
// are found in commits and attributes. The tables are those of golang.org/x/text.
//
// [Same] says whether there is anything to do, [Decode] and [Encode] convert a
// text, and a [Charset] from [Find] converts one character at a time. Nothing
// fails loudly: git keeps text that cannot be converted as it is.
package charset

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/repomcp/repomcp/internal/message"
)

// UTF8 is git's name of the encoding in which it shows text.
const UTF8 = "UTF-8"

// Same reports whether git takes two names for the same encoding.
func Same(a, b string) bool {
	return message.FoldCase(a) == message.FoldCase(b) || sameUTF(a, b)
}

func sameUTF(a, b string) bool {
	a, okA := strings.CutPrefix(message.FoldCase(a), "utf")
	b, okB := strings.CutPrefix(message.FoldCase(b), "utf")
	return okA && okB && strings.TrimPrefix(a, "-") == strings.TrimPrefix(b, "-")
}

// firstOfPair is the least byte in the pairs of EUC.
const firstOfPair = 0xa1

// inPairs reports whether all bytes beyond ASCII are pairs of EUC.
func inPairs(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < utf8.RuneSelf {
			continue
		}
		if text[i] < firstOfPair || i+1 == len(text) || text[i+1] < firstOfPair {
			return false
		}
		i++
	}
	return true
}

// Decode turns text into UTF-8. As in git, text that is not in its encoding, or
// in one that is not known, stays as it is.
func Decode(text, name string) string {
	known, ok := Find(name)
	if !ok || known == (Charset{}) || known.variant == pairs && !inPairs(text) {
		return text
	}
	if table, ok := known.encoding.(*charmap.Charmap); ok {
		return decodeTable(text, table)
	}
	decoded, err := known.encoding.NewDecoder().String(text)
	if err != nil || strings.ContainsRune(decoded, utf8.RuneError) {
		return text // the library's sign for bytes that mean nothing
	}
	if known.variant == jis {
		decoded = signsFromWindows().Replace(decoded)
	}
	return decoded
}

// Encode turns UTF-8 into another encoding, false when that cannot be done.
func Encode(text []byte, name string) ([]byte, bool) {
	known, ok := Find(name)
	if !ok || !utf8.Valid(text) {
		return nil, false
	}
	if known == (Charset{}) {
		return text, true
	}
	encoder, encoded := known.NewEncoder(), make([]byte, 0, len(text))
	for len(text) > 0 {
		_, n := utf8.DecodeRune(text)
		if encoded, ok = encoder.Append(encoded, text[:n]); !ok {
			return nil, false
		}
		text = text[n:]
	}
	return encoded, true
}

// hasControls reports whether the bytes from 0x80 to 0x9f are the control
// characters of ISO 6429: iconv's tables of ISO 8859 have them, the library's
// do not.
func hasControls(table *charmap.Charmap) bool { return strings.HasPrefix(table.String(), "ISO 8859-") }

func isControl(r rune) bool { return 0x80 <= r && r <= 0x9f }

func decodeTable(text string, table *charmap.Charmap) string {
	controls := hasControls(table)
	var decoded strings.Builder
	for i := range len(text) {
		r := table.DecodeByte(text[i])
		if r == utf8.RuneError {
			if r = rune(text[i]); !controls || !isControl(r) {
				return text
			}
		}
		decoded.WriteRune(r)
	}
	return decoded.String()
}

func encodeRune(table *charmap.Charmap, r rune) (byte, bool) {
	b, ok := table.EncodeRune(r)
	if !ok && isControl(r) && hasControls(table) {
		return byte(r), true
	}
	return b, ok
}

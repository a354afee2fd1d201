// Package charset converts text to UTF-8 and back, by the names of encodings in commits and
// attributes. The tables are those of golang.org/x/text.
//
// [Same] reports whether a conversion is needed, [Decode] and [Encode] convert a text, and a
// [Charset] from [Find] converts one character at a time. Failures are silent: git keeps text that
// cannot be converted.
package charset

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/repomcp/repomcp/internal/git/message"
)

// UTF8 is git's name of the encoding of its output.
const UTF8 = "UTF-8"

// Same reports whether git treats two names as the same encoding.
func Same(a, b string) bool {
	return message.FoldCase(a) == message.FoldCase(b) || sameUTF(a, b)
}

func sameUTF(a, b string) bool {
	a, okA := strings.CutPrefix(message.FoldCase(a), "utf")
	b, okB := strings.CutPrefix(message.FoldCase(b), "utf")
	return okA && okB && strings.TrimPrefix(a, "-") == strings.TrimPrefix(b, "-")
}

// firstOfPair is the lowest byte in EUC pairs.
const firstOfPair = 0xa1

// inPairs reports whether all bytes beyond ASCII are EUC pairs.
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

// Decode converts text to UTF-8. As in git, text that violates its encoding, or whose encoding is
// unknown, stays unchanged.
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
		return text // the library's replacement for invalid bytes
	}
	if known.variant == jis {
		decoded = signsFromWindows().Replace(decoded)
	}
	return decoded
}

// Encode converts UTF-8 to another encoding. It returns false if that is impossible.
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

// hasControls reports whether the bytes from 0x80 to 0x9f are the control characters of ISO 6429,
// which the library's tables of ISO 8859 lack and iconv's have.
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

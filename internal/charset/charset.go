// Package charset turns text into UTF-8 and back, by the names of encodings that
// are found in commits and attributes. The tables are those of golang.org/x/text.
//
// [Same] says whether there is anything to do, [Decode] and [Encode] convert a
// text, and a [Charset] from [Find] converts one character at a time. Nothing
// fails loudly: git keeps text that cannot be converted as it is.
package charset

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"

	"github.com/repomcp/repomcp/internal/message"
)

// UTF8 is git's name of the encoding in which it shows text.
const UTF8 = "UTF-8"

// toASCII is ISO-2022-JP's way back to ASCII.
const toASCII = "\x1b(B"

// Same reports whether git takes two names for the same encoding.
func Same(a, b string) bool {
	return message.FoldCase(a) == message.FoldCase(b) || sameUTF(a, b)
}

func sameUTF(a, b string) bool {
	a, okA := strings.CutPrefix(message.FoldCase(a), "utf")
	b, okB := strings.CutPrefix(message.FoldCase(b), "utf")
	return okA && okB && strings.TrimPrefix(a, "-") == strings.TrimPrefix(b, "-")
}

// aliases are names that iconv knows and IANA does not.
var aliases = map[string]string{
	"":        "US-ASCII",
	"ascii":   "US-ASCII",
	"latin-1": "ISO-8859-1",
	"cp1250":  "windows-1250",
	"cp1251":  "windows-1251",
	"cp1252":  "windows-1252",
	"cp932":   "Shift_JIS",
	"sjis":    "Shift_JIS",
	"koi8r":   "KOI8-R",
	"koi8u":   "KOI8-U",
	"eucjp":   "EUC-JP",
	"euckr":   "EUC-KR",
	"cp936":   "GBK",
	"big-5":   "Big5",
	"gb2312":  "GBK",
	"euc-cn":  "GBK",
	"euccn":   "GBK",
}

// pairs are encodings for which the library has a larger one: what is more
// there uses bytes that are no part of the plain ones.
var pairs = map[string]bool{"euc-kr": true, "euckr": true, "gb2312": true, "euc-cn": true, "euccn": true}

// firstOfPair is the least byte in the pairs of EUC.
const firstOfPair = 0xa1

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

func lookupEncoding(name string) encoding.Encoding {
	name = message.FoldCase(name)
	if number, ok := strings.CutPrefix(name, "iso8859"); ok {
		name = "iso-8859-" + strings.TrimLeft(number, "-_")
	}
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	found, err := ianaindex.IANA.Encoding(name)
	if err != nil {
		return nil
	}
	return found
}

// Decode turns text into UTF-8. As in git, text that is not in its encoding, or
// in one that is not known, stays as it is.
func Decode(text, name string) string {
	known := lookupEncoding(name)
	if known == nil || pairs[message.FoldCase(name)] && !inPairs(text) {
		return text
	}
	if table, ok := known.(*charmap.Charmap); ok {
		return decodeTable(text, table)
	}
	decoded, err := known.NewDecoder().String(text)
	if err != nil || strings.ContainsRune(decoded, utf8.RuneError) {
		return text // the library's sign for bytes that mean nothing
	}
	return decoded
}

// Encode turns UTF-8 into another encoding, false when that cannot be done.
func Encode(text []byte, name string) ([]byte, bool) {
	known := lookupEncoding(name)
	if known == nil || !utf8.Valid(text) {
		return nil, false
	}
	if table, ok := known.(*charmap.Charmap); ok {
		return encodeTable(text, table)
	}
	encoded, err := known.NewEncoder().Bytes(text)
	if err != nil || pairs[message.FoldCase(name)] && !inPairs(string(encoded)) {
		return nil, false
	}
	if len(text) > 0 && text[len(text)-1] >= utf8.RuneSelf {
		// git does not ask iconv to go back to ASCII at the end.
		encoded = bytes.TrimSuffix(encoded, []byte(toASCII))
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

func encodeTable(text []byte, table *charmap.Charmap) ([]byte, bool) {
	encoded := make([]byte, 0, len(text))
	for _, r := range string(text) {
		b, ok := encodeRune(table, r)
		if !ok {
			return nil, false
		}
		encoded = append(encoded, b)
	}
	return encoded, true
}

func encodeRune(table *charmap.Charmap, r rune) (byte, bool) {
	b, ok := table.EncodeRune(r)
	if !ok && isControl(r) && hasControls(table) {
		return byte(r), true
	}
	return b, ok
}

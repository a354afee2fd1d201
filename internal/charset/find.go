package charset

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/repomcp/repomcp/internal/message"
)

// Charset is an encoding other than UTF-8 in which each character has bytes of
// its own, whatever comes before it. Charsets can be compared; the zero value is
// none.
type Charset struct {
	encoding encoding.Encoding
	// BOM begins each content that is not empty.
	BOM string
	// ASCII says that the characters of ASCII stay as they are.
	ASCII bool
	pairs bool // only pairs of bytes from 0xa1 on are codes
}

var (
	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16BE = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	utf32LE = utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	utf32BE = utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
)

// unicodeCharsets are the encodings of Unicode, by their names without hyphen
// after "utf". A name that says nothing of the order of bytes is written as on
// nearly every machine, the lowest first, with a mark of that order. The names
// that end in "-bom" are git's own: gitattributes(5).
var unicodeCharsets = map[string]Charset{
	"utf16":       {encoding: utf16LE, BOM: "\xff\xfe"},
	"utf16le":     {encoding: utf16LE},
	"utf16be":     {encoding: utf16BE},
	"utf16le-bom": {encoding: utf16LE, BOM: "\xff\xfe"},
	"utf16be-bom": {encoding: utf16BE, BOM: "\xfe\xff"},
	"utf32":       {encoding: utf32LE, BOM: "\xff\xfe\x00\x00"},
	"utf32le":     {encoding: utf32LE},
	"utf32be":     {encoding: utf32BE},
}

// Find returns the encoding of a name. It is false for UTF-8, for a name that is
// not known, and for encodings that switch between tables as they go, such as
// ISO-2022-JP.
func Find(name string) (Charset, bool) {
	if rest, ok := strings.CutPrefix(message.FoldCase(name), "utf"); ok {
		c, ok := unicodeCharsets["utf"+strings.TrimPrefix(rest, "-")]
		return c, ok
	}
	known := lookupEncoding(name)
	switch known {
	case nil, japanese.ISO2022JP, simplifiedchinese.HZGB2312:
		return Charset{}, false
	}
	capital, err := known.NewEncoder().String("A")
	return Charset{encoding: known, ASCII: err == nil && capital == "A", pairs: pairs[message.FoldCase(name)]}, true
}

// Encoder encodes the characters of one content.
type Encoder struct {
	table   *charmap.Charmap // or nil
	encoder *encoding.Encoder
	pairs   bool
	code    [utf8.UTFMax]byte // no encoding has longer codes
}

// NewEncoder returns an encoder for a content.
func (c Charset) NewEncoder() *Encoder {
	table, _ := c.encoding.(*charmap.Charmap)
	return &Encoder{table: table, encoder: c.encoding.NewEncoder(), pairs: c.pairs}
}

// Append appends the code of a character, which is given in UTF-8, to dst. It is
// false when the encoding does not have the character.
func (e *Encoder) Append(dst, character []byte) ([]byte, bool) {
	if e.table != nil {
		r, _ := utf8.DecodeRune(character)
		b, ok := encodeRune(e.table, r)
		if !ok {
			return dst, false
		}
		return append(dst, b), true
	}
	n, _, err := e.encoder.Transform(e.code[:], character, true)
	if err != nil || e.pairs && !inPairs(string(e.code[:n])) {
		return dst, false
	}
	return append(dst, e.code[:n]...), true
}

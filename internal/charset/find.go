package charset

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/repomcp/repomcp/internal/message"
)

// Charset is an encoding other than UTF-8. Charsets can be compared; the zero
// value is none.
type Charset struct {
	encoding encoding.Encoding
	variant  variant
	// ASCII says that the characters of ASCII stay as they are.
	ASCII bool
}

// variant is how a charset differs from the encoding that the library has for it.
type variant byte

const (
	same  variant = iota
	pairs         // beside ASCII only pairs of bytes from 0xa1 on are codes: EUC
	basic         // there is nothing beyond U+FFFF: UCS-2
	jis           // signs are those of JIS X 0208, and not those of Windows: see signsOfJIS
)

// has reports whether a character with the code that the library has for it is in the
// charset.
func (v variant) has(r rune, code []byte) bool {
	switch v {
	case pairs:
		return inPairs(string(code))
	case basic:
		return r <= 0xffff
	default:
		return true
	}
}

// Find returns the encoding that git takes a name for, and the zero Charset for UTF-8,
// in which nothing has to be converted. known is false for a name that is not in the
// tables.
func Find(name string) (c Charset, known bool) {
	if Same(name, UTF8) {
		return Charset{}, true
	}
	c = lookup(message.FoldCase(name))
	switch c.encoding {
	case nil, simplifiedchinese.HZGB2312: // whose encoder leaves "~" among characters of two bytes
		return Charset{}, false
	case unicode.UTF8:
		return Charset{}, true
	case japanese.ISO2022JP: // an ASCII character after another needs an escape sequence
	default:
		capital, err := c.encoding.NewEncoder().String("A")
		c.ASCII = err == nil && capital == "A"
	}
	return c, true
}

// lookup goes from the names that mean something of their own in git to those that most
// programs share.
func lookup(name string) Charset {
	if c, ok := unicodeCharsets[hyphenless(name)]; ok {
		return c
	}
	if canonical, ok := aliases()[name]; ok {
		name = canonical
	}
	c := Charset{variant: variants[name]}
	var err error
	if c.encoding, err = ianaindex.IANA.Encoding(name); err == nil && c.encoding != nil {
		return c
	}
	if c.encoding, err = htmlindex.Get(name); err != nil || c.encoding == encoding.Replacement {
		return Charset{}
	}
	return c
}

// maxCode is the length in bytes of the longest code, with the escape sequence or byte
// order mark before it.
const maxCode = 8

// Encoder encodes the characters of one content.
type Encoder struct {
	charset  Charset
	table    *charmap.Charmap // or nil
	encoder  *encoding.Encoder
	japanese bool
	code     [maxCode]byte
}

// NewEncoder returns an encoder for a content.
func (c Charset) NewEncoder() *Encoder {
	table, _ := c.encoding.(*charmap.Charmap)
	return &Encoder{
		charset: c, table: table, encoder: c.encoding.NewEncoder(), japanese: slices.Contains(japanese.All, c.encoding),
	}
}

// Append appends the code of a character, which is given in UTF-8, to dst: the first with
// a byte order mark where the encoding has one, and each with the escape sequence that it
// needs after the one before. As in git no escape sequence follows the last. It is false
// when the encoding does not have the character.
func (e *Encoder) Append(dst, character []byte) ([]byte, bool) {
	r, _ := utf8.DecodeRune(character)
	if e.table != nil {
		b, ok := encodeRune(e.table, r)
		if !ok {
			return dst, false
		}
		return append(dst, b), true
	}
	if e.japanese {
		if sign, ok := signsOfJIS[r]; ok {
			character = []byte(string(sign))
		}
	}
	n, _, err := e.encoder.Transform(e.code[:], character, false)
	if err != nil || !e.charset.variant.has(r, e.code[:n]) {
		return dst, false
	}
	return append(dst, e.code[:n]...), true
}

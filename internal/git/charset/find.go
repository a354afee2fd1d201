package charset

import (
	"slices"
	"strings"
	unicodes "unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/repomcp/repomcp/internal/git/message"
)

// Charset is an encoding other than UTF-8. Charsets are comparable; the zero value means UTF-8.
type Charset struct {
	encoding encoding.Encoding
	variant  variant
	// ASCII reports that ASCII characters are encoded as themselves.
	ASCII bool
}

// variant is the difference between a charset and the library's encoding for it.
type variant byte

const (
	same  variant = iota
	pairs         // beside ASCII, all codes are pairs of bytes from 0xa1 on: EUC
	basic         // no characters beyond U+FFFF: UCS-2
	jis           // signs of JIS X 0208 instead of those of Windows: see signsOfJIS
)

// has reports whether the charset contains a character, given the library's code for it.
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

// Find returns git's encoding for a name, and the zero Charset for UTF-8, which needs no
// conversion. known is false for an unknown name.
func Find(name string) (c Charset, known bool) {
	if Same(name, UTF8) {
		return Charset{}, true
	}
	if c = lookup(message.FoldCase(name)); c.encoding == nil {
		if plain := withoutMarks(name); !strings.HasSuffix(plain, "-bom") { // git's own names
			c = lookup(plain)
		}
	}
	switch c.encoding {
	case nil, simplifiedchinese.HZGB2312: // its encoder leaves "~" among two-byte characters
		return Charset{}, false
	case unicode.UTF8:
		return Charset{}, true
	case japanese.ISO2022JP: // each ASCII character after another kind needs an escape sequence
	default:
		capital, err := c.encoding.NewEncoder().String("A")
		c.ASCII = err == nil && capital == "A"
	}
	return c, true
}

// withoutMarks drops the characters that the C library ignores in a name, such as quotation marks around it, and
// what may end one (iconv_open(3)).
func withoutMarks(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicodes.IsLetter(r) || unicodes.IsDigit(r) || strings.ContainsRune("_-./:,", r)) {
			return r
		}
		return -1
	}, message.FoldCase(name))
	return strings.TrimRight(name, ",/")
}

// lookup tries names with a special meaning in git first, then names that most programs share.
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

// maxCode is the maximal length of a code in bytes, with its escape sequence or byte order mark.
const maxCode = 8

// Encoder encodes the characters of one content.
type Encoder struct {
	charset  Charset
	table    *charmap.Charmap // or nil
	encoder  *encoding.Encoder
	japanese bool
	code     [maxCode]byte
}

// NewEncoder returns an encoder for one content.
func (c Charset) NewEncoder() *Encoder {
	table, _ := c.encoding.(*charmap.Charmap)
	return &Encoder{
		charset: c, table: table, encoder: c.encoding.NewEncoder(), japanese: slices.Contains(japanese.All, c.encoding),
	}
}

// Append appends the code of a UTF-8 character to dst: the first with a byte order mark if the
// encoding has one, and each with the necessary escape sequence. As in git, no escape sequence
// follows the last. It returns false if the encoding lacks the character.
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

package convert

import (
	"strings"

	"golang.org/x/text/encoding"
)

// charset is an encoding that differs from UTF-8.
type charset struct {
	names    string // in glibc, separated by spaces
	encoding encoding.Encoding
	ascii    bool   // ASCII is itself
	unicode  bool   // has all of Unicode
	bom      string // begins each content

	// What glibc does otherwise than golang.org/x/text. differs goes first; only
	// says which codes of x/text there are.
	differs func() map[rune]string
	only    func(encoded []byte) bool
	c1      bool // the control characters U+0080 to U+009F are themselves
}

// drops reports whether a character that cannot be encoded is left out. glibc
// does so with the tags of Unicode, which mark the language of a text.
func (cs *charset) drops(r rune) bool {
	return !cs.unicode && r>>7 == 0xe0000>>7
}

// findCharset returns the encoding of that name, or nil for UTF-8 and for one
// that is not in the table.
func findCharset(name string) *charset {
	for _, own := range gitCharsets {
		if sameUTF(name, own.names) {
			return own
		}
	}
	if strings.EqualFold(name, "latin-1") {
		name = "ISO-8859-1" // fallback_encoding in git's utf8.c
	}
	return charsetsByName[normalName(name)]
}

// normalName is the name as glibc looks it up: in capitals, without what no
// name has, and without what follows two slashes (iconv/gconv_charspec.c).
//
// That can be IGNORE, which changes nothing since git takes its result for a
// failure, or TRANSLIT. The latter replaces characters that the encoding has
// not by others, in a way that depends on the locale of the process; here the
// content then stays as it is.
func normalName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("_-.,:/", r):
			return r
		}
		return -1
	}, name)
	name, _, _ = strings.Cut(name, "//")
	return strings.TrimSuffix(name, "/")
}

func byName(table []*charset) map[string]*charset {
	m := make(map[string]*charset)
	for _, cs := range table {
		for _, name := range strings.Fields(cs.names) {
			m[name] = cs
		}
	}
	return m
}

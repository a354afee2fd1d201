package history

import "strings"

// escapes are the bytes that have a letter of their own in C.
var escapes = map[byte]byte{
	'\a': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\',
}

// mustQuote reports whether a path is written in quotes: when it has control
// characters, quotes, backslashes, or anything beyond ASCII, as git does unless
// core.quotePath is false.
func mustQuote(path string) bool {
	return strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) >= 0
}

func plain(r rune) bool { return ' ' <= r && r < 0x7f && r != '"' && r != '\\' }

// appendPath writes a path as core.quotePath of git-config(1) says: as it is, or
// in quotes with escapes. The prefix, such as "a/", comes within the quotes.
func appendPath(b []byte, prefix, path string) []byte {
	if !mustQuote(path) {
		return append(append(b, prefix...), path...)
	}
	b = append(append(b, '"'), prefix...)
	for i := range len(path) {
		c := path[i]
		switch letter, named := escapes[c]; {
		case named:
			b = append(b, '\\', letter)
		case plain(rune(c)):
			b = append(b, c)
		default:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		}
	}
	return append(b, '"')
}

package attributes

import "bytes"

// unquote reads the string in double quotes, with the escapes of C, that the
// text begins with, and returns what follows it.
func unquote(text []byte) (content, rest []byte, ok bool) {
	text = text[1:]
	for {
		special := bytes.IndexAny(text, `"\`)
		if special < 0 {
			return nil, nil, false
		}
		content = append(content, text[:special]...)
		quote := text[special] == '"'
		text = text[special+1:]
		if quote {
			return content, text, true
		}
		c, n := escape(text)
		if n == 0 {
			return nil, nil, false
		}
		content = append(content, c)
		text = text[n:]
	}
}

// escapes are the letters after a backslash.
var escapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '"': '"',
}

// escape reads what comes after a backslash; n is 0 when that is nothing.
func escape(text []byte) (c byte, n int) {
	if len(text) == 0 {
		return 0, 0
	}
	if c, ok := escapes[text[0]]; ok {
		return c, 1
	}
	const digits = 3
	if len(text) < digits || text[0] > '3' {
		return 0, 0
	}
	for _, d := range text[:digits] {
		if d < '0' || d > '7' {
			return 0, 0
		}
		c = c<<3 | (d - '0')
	}
	return c, digits
}

// untilNUL is what C sees of a string.
func untilNUL(text []byte) []byte {
	before, _, _ := bytes.Cut(text, []byte{0})
	return before
}

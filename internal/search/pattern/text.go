package pattern

import (
	"bytes"
	"strings"
)

// needle is a fixed string: exact bytes, or ASCII in any case.
type needle struct {
	text []byte // in lower case when fold is set
	fold bool
}

func newNeedle(text string, fold bool) needle {
	if fold {
		text = strings.ToLower(text)
	}
	return needle{[]byte(text), fold}
}

func (n needle) line(text []byte, from int, _ *places) (start, end int) {
	i := n.index(text[from:])
	if i < 0 {
		return -1, -1
	}
	return lineAround(text, from+i)
}

// spans appends the matches, which do not overlap.
func (n needle) spans(line []byte, to []Span, limit int) []Span {
	for from := 0; limit > 0; limit-- {
		i := n.index(line[from:])
		if i < 0 {
			break
		}
		to = append(to, Span{from + i, from + i + len(n.text)})
		from += i + len(n.text)
	}
	return to
}

func (n needle) cost() int { return 1 }

func (n needle) required() Required { return Required{Words: []string{string(n.text)}} }

// index returns the position of the first match, or -1.
func (n needle) index(text []byte) int {
	if !n.fold {
		return bytes.Index(text, n.text)
	}
	return indexFolded(text, n.text)
}

// indexFolded returns the position of the first match in any case, or -1. It searches for the
// rarest byte of the word in both cases, many bytes at a time, and compares the rest there.
func indexFolded(text, word []byte) int {
	rare := rarest(word)
	low := word[rare]
	up := low
	if 'a' <= low && low <= 'z' {
		up = low - ('a' - 'A')
	}
	nextLow, nextUp := -1, -1
	for from := rare; from < len(text); {
		if nextLow < from {
			nextLow = indexFrom(text, from, low)
		}
		if up == low {
			nextUp = len(text)
		} else if nextUp < from {
			nextUp = indexFrom(text, from, up)
		}
		at := min(nextLow, nextUp)
		start := at - rare
		if start+len(word) > len(text) {
			return -1
		}
		if equalFolded(text[start:start+len(word)], word) {
			return start
		}
		from = at + 1
	}
	return -1
}

func indexFrom(text []byte, from int, c byte) int {
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

func equalFolded(text, word []byte) bool {
	for i, c := range text {
		if lower(c) != word[i] {
			return false
		}
	}
	return true
}

// common are the frequent bytes of source code, the most frequent first; all others are rarer.
const common = " etnaoirsdlcupmfhgb_y.vw(),\t1x0k=\"2/:;*-j3q4z{}5678[]9"

// rarest returns the position of the word's rarest byte in source code.
func rarest(word []byte) int {
	best, at := -1, 0
	for i, c := range word {
		rank := strings.IndexByte(common, c)
		if rank < 0 {
			return i
		}
		if rank > best {
			best, at = rank, i
		}
	}
	return at
}

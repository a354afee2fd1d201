package pattern

import "bytes"

// fixedText is bytes to be found as they are.
type fixedText string

func (f fixedText) line(text []byte, from int, _ *places) (start, end int) {
	i := bytes.Index(text[from:], []byte(f))
	if i < 0 {
		return -1, -1
	}
	return lineAround(text, from+i)
}

func (f fixedText) spans(line []byte, to []Span, limit int) []Span {
	return spansOf(line, to, limit, len(f), func(rest []byte) int { return bytes.Index(rest, []byte(f)) })
}

func (f fixedText) cost() int { return 1 }

// foldedText is ASCII in lower case, to be found in any case.
type foldedText string

func (f foldedText) line(text []byte, from int, _ *places) (start, end int) {
	i := f.index(text[from:])
	if i < 0 {
		return -1, -1
	}
	return lineAround(text, from+i)
}

func (f foldedText) spans(line []byte, to []Span, limit int) []Span {
	return spansOf(line, to, limit, len(f), f.index)
}

func (f foldedText) cost() int { return 1 }

// spansOf collects the places of a text of that length that do not overlap.
func spansOf(line []byte, to []Span, limit, length int, index func([]byte) int) []Span {
	for from := 0; limit > 0; limit-- {
		i := index(line[from:])
		if i < 0 {
			break
		}
		to = append(to, Span{from + i, from + i + length})
		from += i + length
	}
	return to
}

// index returns the first place of the text, or -1. It looks for the rarest of its
// bytes in both cases, many bytes at a time, and compares the rest there.
func (f foldedText) index(text []byte) int {
	rare := f.rarest()
	low := f[rare]
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
		if start+len(f) > len(text) {
			return -1
		}
		if f.equal(text[start : start+len(f)]) {
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

func (f foldedText) equal(text []byte) bool {
	for i, c := range text {
		if lower(c) != f[i] {
			return false
		}
	}
	return true
}

// common are the bytes of source code, the most frequent first; all others are
// rarer.
const common = " etnaoirsdlcupmfhgb_y.vw(),\t1x0k=\"2/:;*-j3q4z{}5678[]9"

// rarest returns the place of the byte that source code has least of.
func (f foldedText) rarest() int {
	best, at := -1, 0
	for i := range len(f) {
		rank := bytes.IndexByte([]byte(common), f[i])
		if rank < 0 {
			return i
		}
		if rank > best {
			best, at = rank, i
		}
	}
	return at
}

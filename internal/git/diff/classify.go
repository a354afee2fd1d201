package diff

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// side is one of the texts, divided into lines.
type side struct {
	text    []byte
	starts  []int32 // start of each line, and the end of the text
	class   []int32 // per line; lines with equal bytes have equal classes
	changed []bool  // per line; absent from the other text
	indents []int16 // per line; nil until first use
}

type pair struct {
	a, b    side
	classes []class
}

// class is a set of equal lines.
type class struct {
	hash  uint64
	first int32    // its first line, counted through a and then b
	lines [2]int32 // number of lines in a and in b
}

func (s *side) lines() int { return len(s.class) }

func (s *side) line(i int) []byte { return s.text[s.starts[i]:s.starts[i+1]] }

// CountLines returns the number of lines of a text, including a last one without "\n".
func CountLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

func splitLines(text []byte) side {
	n := CountLines(text)
	s := side{text: text, starts: make([]int32, 1, n+1), class: make([]int32, n), changed: make([]bool, n)}
	for end := 0; end < len(text); {
		if length := bytes.IndexByte(text[end:], '\n'); length >= 0 {
			end += length + 1
		} else {
			end = len(text)
		}
		s.starts = append(s.starts, int32(end))
	}
	return s
}

// classify assigns equal lines to one class, with a hash table of open addressing. Its seed is
// random, so that no text can provoke collisions.
func classify(a, b []byte) *pair {
	p := &pair{a: splitLines(a), b: splitLines(b)}
	total := p.a.lines() + p.b.lines()
	seed := maphash.MakeSeed()
	// A slot holds a class + 1, or 0.
	mask := uint64(1)<<bits.Len(uint(2*total)) - 1
	slots := make([]int32, mask+1)
	number := int32(0)
	for which, s := range []*side{&p.a, &p.b} {
		for i := range s.class {
			s.class[i] = p.classOf(number, maphash.Bytes(seed, s.line(i)), mask, slots)
			p.classes[s.class[i]].lines[which]++
			number++
		}
	}
	return p
}

func (p *pair) classOf(number int32, hash, mask uint64, slots []int32) int32 {
	line := p.line(number)
	at := hash & mask
	for ; slots[at] != 0; at = (at + 1) & mask {
		if c := p.classes[slots[at]-1]; c.hash == hash && bytes.Equal(p.line(c.first), line) {
			return slots[at] - 1
		}
	}
	p.classes = append(p.classes, class{hash: hash, first: number})
	slots[at] = int32(len(p.classes))
	return slots[at] - 1
}

// line returns a line by its number in both texts.
func (p *pair) line(number int32) []byte {
	if n := int(number); n >= p.a.lines() {
		return p.b.line(n - p.a.lines())
	}
	return p.a.line(int(number))
}

// trimStep is the unit in which git compares the ends of texts.
const trimStep = 1024

// trimTail removes the common end in whole steps, but keeps the line in which it begins complete.
func trimTail(a, b []byte) (shorterA, shorterB []byte) {
	common := 0
	for common+trimStep <= min(len(a), len(b)) &&
		bytes.Equal(a[len(a)-common-trimStep:len(a)-common], b[len(b)-common-trimStep:len(b)-common]) {
		common += trimStep
	}
	tail := a[len(a)-common:]
	if end := bytes.IndexByte(tail, '\n'); end >= 0 {
		common -= end + 1
	} else {
		common = 0
	}
	return a[:len(a)-common], b[:len(b)-common]
}

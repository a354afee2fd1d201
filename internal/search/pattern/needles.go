package pattern

import (
	"bytes"
	"strings"
)

// needles are words; a matching line contains at least one of them.
type needles struct {
	words []needle
	ks    bool // a folded needle has a letter that is also written beyond ASCII
}

// newNeedles folds all words if one of them is folded: the additional finds cost little.
func newNeedles(words []word) *needles {
	n := new(needles)
	fold := false
	for _, w := range words {
		fold = fold || w.fold && hasLetters(w.text)
	}
	for _, w := range words {
		n.words = append(n.words, newNeedle(w.text, fold && isASCII(w.text)))
		n.ks = n.ks || w.fold && hasKS(w.text)
	}
	return n
}

func hasLetters(lower string) bool {
	return strings.ContainsAny(lower, "abcdefghijklmnopqrstuvwxyz")
}

// hasKS reports whether folding matches letters beyond ASCII: the Kelvin sign is a k, and the long
// s an s.
func hasKS(text string) bool { return strings.ContainsAny(text, "ksKS") }

// Kelvin and LongS are the letters beyond ASCII that are a k and an s in another case.
const (
	Kelvin = "\u212A"
	LongS  = "\u017F"
)

var kelvin, longS = []byte(Kelvin), []byte(LongS)

// places remembers where needles were found in one text, so that no part is searched twice for a
// needle.
type places struct {
	next   []int // of each needle, len(text) if absent
	fitted bool  // fit was called
	fits   bool
}

func (p *places) reset() { p.next, p.fitted = p.next[:0], false }

// fit reports whether the needles find all matches in the text.
func (n *needles) fit(text []byte, at *places) bool {
	if !at.fitted {
		at.fitted = true
		at.fits = !n.ks || !bytes.Contains(text, longS) && !bytes.Contains(text, kelvin)
	}
	return at.fits
}

// next returns the first place of any needle at or after from, or -1.
func (n *needles) next(text []byte, from int, at *places) int {
	if len(at.next) == 0 {
		for range n.words {
			at.next = append(at.next, -1)
		}
	}
	first := len(text)
	for i, word := range n.words {
		if at.next[i] < from {
			at.next[i] = len(text)
			if found := word.index(text[from:]); found >= 0 {
				at.next[i] = from + found
			}
		}
		first = min(first, at.next[i])
	}
	if first == len(text) {
		return -1
	}
	return first
}

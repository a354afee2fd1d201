package index

import "github.com/repomcp/repomcp/internal/search/pattern"

// classBits is the size of a class of bytes, gramBits that of three.
const (
	classBits = 6
	gramBits  = 3 * classBits
	grams     = 1 << gramBits
)

// classes fold bytes, so that there are few trigrams: a letter with its upper case, spaces, and some punctuation
// with each other. A folded trigram only finds more candidates.
var classes = func() (of [256]byte) {
	const digits, joint, space, punctuation, beyond = 26, 36, 37, 38, 56
	for c := range of {
		switch {
		case c >= 'a' && c <= 'z':
			of[c] = byte(c - 'a')
		case c >= 'A' && c <= 'Z':
			of[c] = byte(c - 'A')
		case c >= '0' && c <= '9':
			of[c] = byte(digits + c - '0')
		case c == '_':
			of[c] = joint
		case c <= ' ':
			of[c] = space
		case c < 0x80:
			of[c] = byte(punctuation + c*7%(beyond-punctuation))
		default:
			of[c] = byte(beyond + c%(1<<classBits-beyond))
		}
	}
	return of
}()

// gramSet is a set of trigrams.
type gramSet [grams / 64]uint64

// add adds the trigrams of a text. None contains a newline, because matches do not.
func (s *gramSet) add(text []byte) {
	gram, length := uint32(0), 0
	for _, c := range text {
		if c == '\n' {
			length = 0
			continue
		}
		gram = (gram<<classBits | uint32(classes[c])) & (grams - 1)
		if length++; length >= 3 {
			s[gram/64] |= 1 << (gram % 64)
		}
	}
}

// gramsOf returns the trigrams of a string in its order, without repetitions.
func gramsOf(word string) []uint32 {
	var all []uint32
	var seen = make(map[uint32]bool)
	gram := uint32(0)
	for i := range len(word) {
		gram = (gram<<classBits | uint32(classes[word[i]])) & (grams - 1)
		if i >= 2 && !seen[gram] {
			seen[gram] = true
			all = append(all, gram)
		}
	}
	return all
}

// Need is what a file with matches has: for each usable term at least one of some strings.
type Need []alternatives

// alternatives are the trigrams of strings of which a file has one.
type alternatives struct {
	words [][]uint32
	// beyond reports that the file may have one of these strings with a letter beyond ASCII instead.
	beyond bool
}

// NeedOf returns what the files that match a pattern have. It is empty if no term has three letters that
// each match contains: then all files must be read.
func NeedOf(p *pattern.Pattern) (need Need) {
	for _, r := range p.Required() {
		a := alternatives{beyond: r.Beyond}
		for _, word := range r.Words {
			if len(word) < 3 {
				a.words = nil
				break
			}
			a.words = append(a.words, gramsOf(word))
		}
		if len(a.words) > 0 {
			need = append(need, a)
		}
	}
	return need
}

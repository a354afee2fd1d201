package rank

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxWords bounds the words of a query. A question of some sentences has less.
const MaxWords = 64

// Query is what files are ranked by. Any number of goroutines may use it.
type Query struct {
	words []word
	terms []term
	index map[string]int // terms by their forms
	exact bool
	// beginnings are those of the spellings of terms. Most parts of identifiers begin otherwise.
	beginnings *beginnings
	fileNames  []string // words that are written as names of files
	pattern    int      // the term for the lines of a pattern, or -1
}

// Options of a [Query].
type Options struct {
	// Exact tells upper from lower case and keeps endings.
	Exact bool
	// Pattern adds a term for the lines that match [Text].Pattern.
	Pattern bool
}

// term is a form that is counted in texts.
type term struct {
	form   string
	weight float64
	times  int // in the query
}

// word is a word of the query; a file that has one of its options has the word.
type word []option

// option is a list of identifiers, of which all are needed.
type option []identifier

// identifier is had as a whole or, if no file has it so, by all its parts.
type identifier struct {
	text  string
	whole int
	parts []int // none if there is only one
}

// Parse makes a query of words. Each has one or more alternatives; a text that is no single identifier stands
// for the identifiers in it. Words beyond [MaxWords] are dropped.
func Parse(words [][]string, o Options) *Query {
	q := &Query{index: make(map[string]int), exact: o.Exact, beginnings: newBeginnings(), pattern: -1}
	if !q.add(words, false) {
		q.add(words, true)
	}
	if o.Pattern {
		q.pattern = len(q.terms)
		q.terms = append(q.terms, term{weight: weightWhole, times: 1})
	}
	return q
}

// add adds the words, and reports whether there were any. Without all it leaves out stop words.
func (q *Query) add(words [][]string, all bool) bool {
	for _, alternatives := range words {
		var options word
		for _, text := range alternatives {
			var needed option
			q.addFileName(text)
			for _, parts := range identifiers(text) {
				if all || len(parts) > 1 || !stopWords[strings.ToLower(parts[0])] {
					needed = append(needed, q.identifier(parts))
				}
			}
			if len(needed) > 0 {
				options = append(options, needed)
			}
		}
		if len(options) > 0 && len(q.words) < MaxWords {
			q.words = append(q.words, options)
		}
	}
	return len(q.words) > 0
}

func (q *Query) identifier(parts []string) identifier {
	if len(parts) == 1 {
		return identifier{text: parts[0], whole: q.term(parts[0], weightWhole)}
	}
	name := strings.Join(parts, "")
	i := identifier{text: name, whole: q.term(name, weightSpecific)}
	for _, p := range parts {
		i.parts = append(i.parts, q.term(p, weightPart))
	}
	return i
}

// term returns the index of a term, which it adds if it is new.
func (q *Query) term(text string, weight float64) int {
	form := q.form(text)
	i, ok := q.index[form]
	if !ok {
		i = len(q.terms)
		q.index[form] = i
		q.terms = append(q.terms, term{form: form})
	}
	for _, spelling := range []string{form, q.fold(text), otherBeginnings[form]} { // they differ: dying becomes die
		if len(spelling) == 1 && !q.exact { // eing becomes e
			q.addAllBeginnings(spelling[0])
		}
		q.addBeginnings(spelling + "\x00\x00")
	}
	t := &q.terms[i]
	t.weight = max(t.weight, weight)
	if weight != weightPart {
		t.times++
	}
	return i
}

// Empty reports whether there is nothing to rank by.
func (q *Query) Empty() bool { return len(q.terms) == 0 }

// HasWords reports whether there is a word.
func (q *Query) HasWords() bool { return len(q.words) > 0 }

// Key returns equal strings for queries with equal tallies of every text.
func (q *Query) Key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%t", q.exact)
	for _, t := range q.terms {
		b.WriteString(" " + t.form)
	}
	return b.String()
}

func (q *Query) fold(text string) string {
	if q.exact {
		return text
	}
	return strings.ToLower(text)
}

// form returns what a part of an identifier is counted as.
func (q *Query) form(text string) string {
	if q.exact {
		return text
	}
	return formOf(text)
}

// newBeginnings returns all beginnings with letters beyond ASCII, because folding may change their bytes.
func newBeginnings() *beginnings {
	b := new(beginnings)
	for i := range b { // each has those of one first byte and 64 second ones
		if first, second := 64*i>>8, 64*i&0xff; first >= utf8.RuneSelf || second >= utf8.RuneSelf {
			b[i] = math.MaxUint64
		}
	}
	return b
}

// otherBeginnings are spellings of forms that do not begin as these do: exceptions of the stemmer.
var otherBeginnings = map[string]string{"die": "dying", "lie": "lying", "tie": "tying"}

// addAllBeginnings adds all that begin with a letter.
func (q *Query) addAllBeginnings(letter byte) {
	for second := range 256 {
		q.beginnings.add(letter, byte(second))
		q.beginnings.add(strings.ToUpper(string(letter))[0], byte(second))
	}
}

// addBeginnings adds the first two bytes of a spelling in upper and lower case.
func (q *Query) addBeginnings(spelling string) {
	upper := strings.ToUpper(spelling)
	if q.exact {
		upper = spelling
	}
	for _, first := range []byte{spelling[0], upper[0]} {
		for _, second := range []byte{spelling[1], upper[1]} {
			q.beginnings.add(first, second)
		}
	}
}

// value is what a term counts for at most, but for saturation.
func (q *Query) value(i int, s *Statistics) float64 {
	t := &q.terms[i]
	return t.weight * s.rarity(i) * math.Pow(float64(max(t.times, 1)), repeatedWord)
}

// isOnly reports whether a term is all that the query looks for, or one of its alternatives: the only word as a whole,
// or the pattern. A question has more words, none of which need be a name.
func (q *Query) isOnly(term int) bool {
	switch len(q.words) {
	case 0:
		return term == q.pattern
	case 1:
		return slices.ContainsFunc(q.words[0], func(o option) bool { return len(o) == 1 && o[0].whole == term })
	}
	return false
}

// hasAll reports whether a file with the given weights of terms has all words.
func (q *Query) hasAll(have []float64, all *Statistics) bool {
	for _, w := range q.words {
		if !w.in(have, all) {
			return false
		}
	}
	return true
}

func (w word) in(have []float64, all *Statistics) bool {
	return slices.ContainsFunc(w, func(o option) bool { return o.in(have, all) })
}

func (o option) in(have []float64, all *Statistics) bool {
	for _, i := range o {
		switch {
		case have[i.whole] > 0:
		case len(i.parts) == 0 || all.with[i.whole] > 0:
			return false
		case slices.ContainsFunc(i.parts, func(p int) bool { return have[p] == 0 }):
			return false
		}
	}
	return true
}

// hasName reports whether the query is one name of several parts, and a file has that as a whole.
func (q *Query) hasName(have []float64) bool {
	return len(q.words) == 1 && slices.ContainsFunc(q.words[0], func(o option) bool {
		return len(o) == 1 && len(o[0].parts) > 0 && have[o[0].whole] > 0
	})
}

// Missing returns the names of several parts in the query, without their underscores, that no file has as a whole.
func (q *Query) Missing(all *Statistics) (names []string) {
	for _, w := range q.words {
		for _, i := range w[0] {
			if len(w) == 1 && len(i.parts) > 0 && all.with[i.whole] == 0 {
				names = append(names, i.text)
			}
		}
	}
	return names
}

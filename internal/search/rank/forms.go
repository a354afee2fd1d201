package rank

import (
	"math"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// maxForms bounds the spellings and forms that an [Indexer] remembers from text to text: some MiB. With
// more of them looking them up takes longer, as they do not fit into a processor's cache; with fewer there are more
// stems to find.
const maxForms = 1 << 15

// FormsVersion changes with what [Indexer] counts, and with what [IsGenerated] reports.
const FormsVersion = 2

// Indexer counts the words of texts before a query is known. One goroutine uses it at a time.
type Indexer struct {
	every     beginnings
	spellings map[string]int32 // forms by what was written
	ids       map[string]int32 // forms
	forms     []string
	counts    []Count
	touched   []int32 // forms of the present text
	names     definition
	joined    []byte
}

// NewIndexer returns an indexer.
func NewIndexer() *Indexer {
	x := &Indexer{spellings: make(map[string]int32), ids: make(map[string]int32)}
	for i := range x.every {
		x.every[i] = math.MaxUint64
	}
	return x
}

// Count calls found once for each form in a text, with what [Scanner.Tally] counts for a query that has the
// form as a term; Term is not set. Text.Pattern is not used.
func (x *Indexer) Count(text Text, found func(form string, c Count)) {
	x.names = definition{text: &text}
	visit(text.Content, &x.every, x)
	for _, id := range x.touched {
		found(x.forms[id], x.counts[id])
		x.counts[id] = Count{}
	}
	x.touched, x.names = x.touched[:0], definition{}
	if len(x.forms) > maxForms || len(x.spellings) > maxForms {
		clear(x.spellings)
		clear(x.ids)
		x.forms, x.counts = nil, nil
	}
}

func (x *Indexer) part(start, end int) {
	if end-start <= maxPart {
		x.add(x.names.text.Content[start:end], start, end)
	}
}

func (x *Indexer) whole(start, end int) {
	if end-start > maxIdentifier {
		return
	}
	x.joined = x.joined[:0]
	for _, c := range x.names.text.Content[start:end] {
		if c != '_' {
			x.joined = append(x.joined, c)
		}
	}
	x.add(x.joined, start, end)
}

func (x *Indexer) add(spelling []byte, start, end int) {
	id, ok := x.spellings[string(spelling)]
	if !ok {
		id = x.form(string(spelling))
	}
	c := &x.counts[id]
	if *c == (Count{}) {
		x.touched = append(x.touched, id)
	}
	c.add(x.names.place(start, end))
}

// form returns the form of a new spelling.
func (x *Indexer) form(spelling string) int32 {
	form := formOf(spelling)
	id, ok := x.ids[form]
	if !ok {
		id = int32(len(x.forms))
		x.ids[form] = id
		x.forms = append(x.forms, form)
		x.counts = append(x.counts, Count{})
	}
	x.spellings[spelling] = id
	return id
}

// formOf returns what a part of an identifier is counted as where case does not matter.
func formOf(text string) string {
	word := snowballstem.NewEnv(strings.ToLower(text))
	english.Stem(word)
	return word.Current()
}

// Forms returns the forms that an [Indexer] counts for the query's terms, in the order of terms and without that of
// the pattern. exact reports that their counts include other spellings.
func (q *Query) Forms() (forms []string, exact bool) {
	for i := range q.terms {
		if i == q.pattern {
			continue
		}
		form := q.terms[i].form
		if q.exact {
			form = formOf(form)
		}
		forms = append(forms, form)
	}
	return forms, q.exact
}

// HasPattern reports whether lines that match a pattern count.
func (q *Query) HasPattern() bool { return q.pattern >= 0 }

// IndexedTally returns the tally of a text from its counts, which are in the order of [Query.Forms].
func IndexedTally(bytes int, generated bool, counts []Count) Tally {
	return tallyOf(bytes, func() bool { return generated }, counts)
}

// IsGenerated reports whether a text says that a program wrote it.
func IsGenerated(content []byte) bool { return isGenerated(content) }

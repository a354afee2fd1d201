package index

import "github.com/repomcp/repomcp/internal/search/rank"

// counts are the occurrences of a query's terms in the documents of all segments.
type counts struct {
	terms int
	last  []uint32 // by the number of a document, its entry that was added last, counted from 1
	all   []count
	given []rank.Count // see of
}

// count is an entry of a document: one term.
type count struct {
	before uint32 // the document's entry before this one
	term   int32
	occurrence
}

// unknownTerm is the term of a document whose words are not counted.
const unknownTerm = -1

func newCounts(documents, terms int) *counts {
	return &counts{terms: terms, last: make([]uint32, documents), given: make([]rank.Count, terms)}
}

// add adds a term of a document. Two segments that have the document say the same.
func (c *counts) add(at number, term int, o occurrence) {
	for e := c.last[at]; e > 0; e = c.all[e-1].before {
		if c.all[e-1].term == int32(term) {
			return
		}
	}
	c.all = append(c.all, count{c.last[at], int32(term), o})
	c.last[at] = uint32(len(c.all))
}

// lack notes that the words of documents are not counted.
func (c *counts) lack(s *segment, docs []uint32) {
	for _, d := range docs {
		c.add(s.numbers[d], unknownTerm, occurrence{})
	}
}

// of returns the counts of a document by terms, which are valid until the next call; false if its words are not
// counted.
func (c *counts) of(at number) ([]rank.Count, bool) {
	clear(c.given)
	for e := c.last[at]; e > 0; e = c.all[e-1].before {
		entry := &c.all[e-1]
		if entry.term == unknownTerm {
			return nil, false
		}
		c.given[entry.term] = entry.count()
	}
	return c.given, true
}

package index

import "github.com/repomcp/repomcp/internal/search/rank"

// counts are the occurrences of a query's terms in the documents of all segments.
type counts struct {
	last   []uint32 // by the number of a document, its entry that was added last, counted from 1
	all    []count
	others []occurrence // see count.value
	isFull bool         // some entries are missing
}

// count is an entry of a document: one term, and how often it occurs.
type count struct {
	before uint32 // the document's entry before this one
	term   int16
	// value is the number of occurrences outside of names. If it is isOther, the entry before this one in the list
	// has the place in others instead.
	value uint16
}

const (
	// maxCounts bounds the entries: 8 MiB, and up to twice as much if all were in names. It is enough for ten words
	// that are each in a hundred thousand files.
	maxCounts = 1 << 20
	// unknownTerm is the term of a document whose words are not counted.
	unknownTerm = -1
	// maxTerms bounds the terms of a query whose words are looked up.
	maxTerms = 1 << 10
	isOther  = 0xffff
)

func newCounts(documents int) *counts { return &counts{last: make([]uint32, documents)} }

// cost is the memory.
func (c *counts) cost() int64 {
	const last, entry, other = 4, 8, 16
	return int64(last*cap(c.last) + entry*cap(c.all) + other*cap(c.others))
}

// add adds a term of a document. Two segments that have the document say the same.
func (c *counts) add(at number, term int, o occurrence) {
	for e := c.last[at]; e > 0; e = c.all[e-1].before {
		if c.all[e-1].term == int16(term) {
			return
		}
	}
	if c.isFull = c.isFull || len(c.all)+1 >= maxCounts; c.isFull {
		return
	}
	value := uint16(isOther)
	if o.names|o.inName == 0 && o.other < isOther {
		value = uint16(o.other)
	} else { // its place is in an entry of its own
		c.others = append(c.others, o)
		c.all = append(c.all, count{before: uint32(len(c.others) - 1)})
	}
	c.all = append(c.all, count{c.last[at], int16(term), value})
	c.last[at] = uint32(len(c.all))
}

// lack notes that the words of documents are not counted.
func (c *counts) lack(s *segment, docs []uint32) {
	for _, d := range docs {
		c.add(s.numbers[d], unknownTerm, occurrence{})
	}
}

// of returns the counts of a document by terms, in the memory of given; false if its words are not counted.
func (c *counts) of(at number, given []rank.Count) ([]rank.Count, bool) {
	clear(given)
	for e := c.last[at]; e > 0; e = c.all[e-1].before {
		switch entry := c.all[e-1]; {
		case entry.term == unknownTerm:
			return nil, false
		case entry.value == isOther:
			given[entry.term] = c.others[c.all[e-2].before].count()
		default:
			given[entry.term].Other = int32(entry.value)
		}
	}
	return given, !c.isFull
}

package index

import (
	"bytes"
	"slices"
	"sort"
)

// lookup looks up lists in a segment, and then in the next one. What a method returns is valid until the next call:
// the memory is used again, because a search looks up hundreds of lists, and would leave megabytes to the garbage
// collector.
type lookup struct {
	*segment
	block  []byte
	list   []uint32 // of a key
	both   []uint32 // of all trigrams of a string
	any    []uint32 // of any of some strings
	counts []occurrence
}

// find returns the list of a key, or nil.
func (l *lookup) find(key string) ([]byte, error) {
	at := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].first > key }) - 1
	if at < 0 {
		return nil, nil
	}
	in, err := l.read(&l.blocks[at], l.block)
	if err != nil {
		return nil, err
	}
	l.block = in.block
	wanted := []byte(key)
	for in.next() {
		if c := bytes.Compare(in.key, wanted); c == 0 {
			return in.list, nil
		} else if c > 0 { // keys are in order
			return nil, nil
		}
	}
	return nil, in.err()
}

// docs returns the documents of a key in ascending order.
func (l *lookup) docs(key string) ([]uint32, error) {
	list, err := l.find(key)
	if err != nil || list == nil {
		return nil, err
	}
	l.list, err = decodeDocs(l.list[:0], list, l.count)
	return l.list, err
}

// occurrences returns those of a word, by documents in ascending order.
func (l *lookup) occurrences(form string) ([]occurrence, error) {
	list, err := l.find(keyWord + form)
	if err != nil {
		return nil, err
	}
	l.counts, err = decodeOccurrences(l.counts[:0], list, l.count)
	return l.counts, err
}

// having returns the documents that have one of some strings, as far as trigrams tell.
func (l *lookup) having(a alternatives) ([]uint32, error) {
	l.any = l.any[:0]
	if a.beyond {
		some, err := l.docs(keyBeyond)
		if err != nil {
			return nil, err
		}
		l.any = append(l.any, some...)
	}
	for _, word := range a.words {
		some, err := l.havingAll(word)
		if err != nil {
			return nil, err
		}
		l.any = append(l.any, some...)
	}
	if len(a.words) > 1 || a.beyond {
		slices.Sort(l.any)
		l.any = slices.Compact(l.any)
	}
	return l.any, nil
}

// fewDocs are read faster than further lists.
const fewDocs = 3

// havingAll returns the documents that have all trigrams of a string.
func (l *lookup) havingAll(word []uint32) ([]uint32, error) {
	l.both = l.both[:0]
	for i, gram := range word {
		some, err := l.docs(gramKey(gram))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			l.both = append(l.both, some...)
		} else {
			l.both = intersect(l.both, some)
		}
		if len(l.both) <= fewDocs {
			break
		}
	}
	return l.both, nil
}

// intersect returns what is in both of two ascending lists, in the memory of the first.
func intersect(a, b []uint32) []uint32 {
	both := a[:0]
	for _, d := range a {
		for len(b) > 0 && b[0] < d {
			b = b[1:]
		}
		if len(b) == 0 {
			break
		}
		if b[0] == d {
			both = append(both, d)
		}
	}
	return both
}

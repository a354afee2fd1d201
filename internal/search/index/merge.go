package index

import (
	"io"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// cursor goes through the entries of a segment.
type cursor struct {
	segment *segment
	next    int // block
	entries entries
	into    []uint32 // the new numbers of its documents
	ended   bool
}

// dropped is the new number of a document that another segment has, too.
const dropped = ^uint32(0)

func (c *cursor) advance() error {
	for !c.entries.next() {
		if err := c.entries.err(); err != nil {
			return err
		}
		if c.next == len(c.segment.blocks) {
			c.ended = true
			return nil
		}
		var err error
		if c.entries, err = c.segment.read(&c.segment.blocks[c.next], c.entries.block); err != nil {
			return err
		}
		c.next++
	}
	return nil
}

// damage is the failure of a segment.
type damage struct {
	segment *segment
	err     error
}

func (d *damage) Error() string { return d.err.Error() }

// merge writes a segment with the documents of others. It returns a [*damage] if it cannot read one.
func merge(to io.Writer, version string, list []*segment) (name string, err error) {
	m := merger{writer: newWriter(to)}
	known := make(map[git.ID]bool)
	for _, s := range list {
		_, documents, err := openSegment(s.from, s.size)
		if err != nil {
			return "", &damage{s, err}
		}
		c := &cursor{segment: s, into: make([]uint32, len(documents))}
		for i := range documents {
			d := &documents[i]
			if known[d.id] {
				c.into[i] = dropped
			} else {
				known[d.id] = true
				c.into[i] = uint32(len(m.documents))
				m.documents = append(m.documents, *d)
				m.text += int64(d.size)
			}
		}
		m.cursors = append(m.cursors, c)
	}
	if err := m.run(); err != nil {
		return "", err
	}
	return m.writer.finish(version, m.text, m.documents)
}

// merger merges segments. A new number is higher than those of all earlier segments, so that lists stay in order.
type merger struct {
	writer    *writer
	documents []document
	text      int64
	cursors   []*cursor
	docs      []uint32
	counts    []occurrence
	list      []byte
}

func (m *merger) run() error {
	for _, c := range m.cursors {
		if err := c.advance(); err != nil {
			return &damage{c.segment, err}
		}
	}
	for {
		key, found := m.first()
		if !found {
			return m.writer.err
		}
		if err := m.mergeKey(key); err != nil {
			return err
		}
	}
}

// first returns the lowest key.
func (m *merger) first() (key string, found bool) {
	for _, c := range m.cursors {
		if !c.ended && (!found || string(c.entries.key) < key) {
			key, found = string(c.entries.key), true
		}
	}
	return key, found
}

func (m *merger) mergeKey(key string) error {
	m.docs, m.counts = m.docs[:0], m.counts[:0]
	isWord := strings.HasPrefix(key, keyWord)
	for _, c := range m.cursors {
		if c.ended || string(c.entries.key) != key {
			continue
		}
		var err error
		if isWord {
			err = m.addCounts(c)
		} else {
			err = m.addDocs(c)
		}
		if err == nil {
			err = c.advance()
		}
		if err != nil {
			return &damage{c.segment, err}
		}
	}
	switch {
	case isWord && len(m.counts) > 0:
		m.list = appendOccurrences(m.list[:0], m.counts)
	case len(m.docs) > 0:
		m.list = appendDocs(m.list[:0], m.docs, len(m.documents))
	default:
		return nil
	}
	m.writer.add(key, m.list)
	return nil
}

func (m *merger) addDocs(c *cursor) (err error) {
	start := len(m.docs)
	if m.docs, err = decodeDocs(m.docs, c.entries.list, c.segment.count); err != nil {
		return err
	}
	for i, d := range m.docs[start:] {
		m.docs[start+i] = c.into[d]
	}
	m.docs = slices.DeleteFunc(m.docs, func(d uint32) bool { return d == dropped })
	return nil
}

func (m *merger) addCounts(c *cursor) (err error) {
	start := len(m.counts)
	if m.counts, err = decodeOccurrences(m.counts, c.entries.list, c.segment.count); err != nil {
		return err
	}
	for i := range m.counts[start:] {
		m.counts[start+i].doc = c.into[m.counts[start+i].doc]
	}
	m.counts = slices.DeleteFunc(m.counts, func(o occurrence) bool { return o.doc == dropped })
	return nil
}

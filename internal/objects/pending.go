package objects

import (
	"slices"

	"github.com/repomcp/repomcp/internal/objects/sha1x8"
)

// Pending are objects in one buffer that are yet to be compared with their ids.
// Comparing many at a time takes a fraction of the time, on processors that can.
// It is for one goroutine at a time; the zero value is ready, and is best used
// again.
type Pending struct {
	claims   []claim
	messages []sha1x8.Message
	hasher   sha1x8.Hasher
}

// claim is that a part of the buffer is an object.
type claim struct {
	id         ID
	start, end int
	header     [sha1x8.MaxHeader]byte // that is hashed before the content
	length     int                    // of the header
}

func (p *Pending) add(id ID, t Type, start, end int) {
	c := claim{id: id, start: start, end: end}
	c.length = len(appendHeader(c.header[:0], t, int64(end-start)))
	p.claims = append(p.claims, c)
}

// Matches compares all that were read into buf since the last time, but for those
// that were not kept there. When it is false one of them at least is damaged, and
// nothing of the buffer may be used: [Snapshot.ReadVerified] finds which, and takes
// another copy where there is one.
func (p *Pending) Matches(buf []byte) bool {
	p.messages = p.messages[:0]
	p.claims = slices.DeleteFunc(p.claims, func(c claim) bool { return c.end > len(buf) })
	for i := range p.claims {
		c := &p.claims[i]
		p.messages = append(p.messages, sha1x8.Message{Header: c.header[:c.length], Content: buf[c.start:c.end]})
	}
	p.hasher.Sum(p.messages)
	matches := true
	for i := range p.messages {
		matches = matches && ID(p.messages[i].Sum) == p.claims[i].id
	}
	clear(p.messages)
	p.claims = p.claims[:0]
	return matches
}

// Package sha1x8 computes the SHA-1 sums of several messages at a time.
//
// One sum is a chain of steps that each wait for the one before, so that a
// processor is mostly idle in it. With AVX-512 eight sums take little longer than
// one. Use it where there are several messages and the processor has what it
// takes ([Available]); else crypto/sha1 is better, and [Hasher.Sum] takes that.
//
// A git object's id is compared with it, where the object is one of many that are
// read: see [github.com/repomcp/repomcp/internal/objects].
package sha1x8

import (
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"hash"
	"slices"
)

const (
	// lanes is how many messages are hashed side by side.
	lanes = 8
	// MaxHeader bounds a message's header.
	MaxHeader = 32

	// A byte in lanes of which all are full costs a fifth to a quarter of what it
	// costs in crypto/sha1; a lane alone costs as much as eight. In the same unit:
	costAlone, costLanes = 2, 3
)

// Available says whether this processor can hash messages side by side.
func Available() bool { return available }

// Message is what is hashed: the header, of at most [MaxHeader] bytes, and then
// the content.
type Message struct {
	Header  []byte
	Content []byte
	Sum     [sha1.Size]byte // the result
}

func (m *Message) size() int { return len(m.Header) + len(m.Content) }

// Hasher computes sums. It is for one goroutine at a time, and allocates nothing
// once it has met as many messages at a time as it will. The zero value is ready.
type Hasher struct {
	state [5][lanes]uint32
	at    [lanes]*byte
	lanes [lanes]lane
	queue []*Message // that no lane has begun, the shortest first
	plain hash.Hash
	out   []byte
}

// Sum fills in the sums of all messages, whose order it does not change.
func (h *Hasher) Sum(messages []Message) {
	h.order(messages)
	for len(h.queue) > 0 && (!available || h.alone()) {
		last := len(h.queue) - 1
		h.single(h.queue[last])
		h.queue = h.queue[:last]
	}
	h.together()
	clear(h.queue[:cap(h.queue)]) // they point to contents
}

// order queues the messages by their size: the long ones are begun first, so that
// lanes end at about the same time.
func (h *Hasher) order(messages []Message) {
	h.queue = h.queue[:0]
	for i := range messages {
		h.queue = append(h.queue, &messages[i])
	}
	slices.SortFunc(h.queue, func(a, b *Message) int { return cmp.Compare(a.size(), b.size()) })
}

// alone reports whether the longest message is better hashed by itself: the others
// would be done long before it, and their lanes idle.
func (h *Hasher) alone() bool {
	total, longest, second := 0, 0, 0
	for _, m := range h.queue {
		total, longest, second = total+m.size(), m.size(), longest
	}
	with := costLanes * max(longest, total/lanes)
	without := costAlone*longest + costLanes*max(second, (total-longest)/lanes)
	return with > without
}

func (h *Hasher) single(m *Message) {
	if h.plain == nil {
		h.plain = sha1.New()
	}
	h.plain.Reset()
	h.plain.Write(m.Header)
	h.plain.Write(m.Content)
	h.out = h.plain.Sum(h.out[:0])
	copy(m.Sum[:], h.out)
}

// next takes the longest message that no lane has begun.
func (h *Hasher) next() *Message {
	if len(h.queue) == 0 {
		return nil
	}
	last := len(h.queue) - 1
	m := h.queue[last]
	h.queue = h.queue[:last]
	return m
}

// together hashes what is in the queue side by side.
func (h *Hasher) together() {
	for i := range h.lanes {
		h.begin(i)
	}
	for {
		count, any := 0, (*byte)(nil)
		for i := range h.lanes {
			if part := h.lanes[i].part; len(part) > 0 && (any == nil || len(part)/sha1.BlockSize < count) {
				count, any = len(part)/sha1.BlockSize, &part[0]
			}
		}
		if any == nil {
			return
		}
		for i := range h.lanes {
			h.at[i] = any // an idle lane reads what another one does
			if part := h.lanes[i].part; len(part) > 0 {
				h.at[i] = &part[0]
			}
		}
		blocks(&h.state, &h.at, count)
		h.advance(count * sha1.BlockSize)
	}
}

// advance goes past bytes that all lanes have taken, and gives those that are at
// their end another message.
func (h *Hasher) advance(taken int) {
	for i := range h.lanes {
		l := &h.lanes[i]
		if len(l.part) == 0 {
			continue
		}
		if l.part = l.part[taken:]; len(l.part) > 0 || l.turn() {
			continue
		}
		for word := range h.state {
			binary.BigEndian.PutUint32(l.message.Sum[4*word:], h.state[word][i])
		}
		h.begin(i)
	}
}

// initial is the state that a sum begins with (FIPS 180-4, section 5.3.1).
var initial = [5]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}

// begin gives a lane the next message, if there is one.
func (h *Hasher) begin(i int) {
	m := h.next()
	if m == nil {
		h.lanes[i].clear()
		return
	}
	h.lanes[i].begin(m)
	for word, value := range initial {
		h.state[word][i] = value
	}
}

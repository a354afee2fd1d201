package sha1x8

import (
	"crypto/sha1"
	"encoding/binary"
)

// lane is a message on its way. It consists of whole blocks in up to three parts:
// the header with the beginning of the content, the blocks of the content as they
// are in memory, and the end with the padding.
type lane struct {
	message *Message
	part    []byte // what is left of the part; empty: the lane is idle
	body    []byte // the part after it, unless it is that one
	tail    []byte // the last part, unless it is that one

	head   [sha1.BlockSize]byte
	padded [2 * sha1.BlockSize]byte
}

// lengthBytes is how long the number of bits is that ends the padding.
const lengthBytes = 8

func (l *lane) begin(m *Message) {
	l.message, l.part, l.body = m, nil, nil
	rest := l.padded[:copy(l.padded[:], m.Header)]
	content := m.Content
	if m.size() >= sha1.BlockSize {
		n := copy(l.head[:], m.Header)
		content = content[copy(l.head[n:], content):]
		l.part = l.head[:]
		whole := len(content) / sha1.BlockSize * sha1.BlockSize
		l.body, content, rest = content[:whole], content[whole:], l.padded[:0]
	}
	l.tail = pad(append(rest, content...), m.size())
	if len(l.part) == 0 {
		l.turn()
	}
}

// pad completes the last bytes of a message of the given size (FIPS 180-4,
// section 5.1.1).
func pad(last []byte, size int) []byte {
	last = append(last, 0x80)
	for len(last)%sha1.BlockSize != sha1.BlockSize-lengthBytes {
		last = append(last, 0)
	}
	return binary.BigEndian.AppendUint64(last, uint64(size)*8) //nolint:gosec // a length
}

// turn goes on to the next part. It is false after the last.
func (l *lane) turn() bool {
	l.part, l.body, l.tail = l.body, l.tail, nil
	if len(l.part) == 0 {
		l.part, l.body = l.body, nil
	}
	return len(l.part) > 0
}

func (l *lane) clear() { l.message, l.part, l.body, l.tail = nil, nil, nil, nil }

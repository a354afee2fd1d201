package binarypatch

import (
	"context"
	"encoding/binary"
)

const (
	// minMatch is the length from which a copy is shorter than its bytes.
	minMatch = 4
	// longMatch is the length from which no longer match is searched.
	longMatch = 4096
	// maxInsert and maxCopy are the most bytes of one instruction.
	maxInsert = 0x7f
	maxCopy   = 0x10000
	// checkEvery is how many positions are searched between two looks at the context.
	checkEvery = 1024
)

// deltaWriter makes a delta: gitformat-pack(5), "Deltified representation".
type deltaWriter struct {
	index  *index
	target []byte
	at     int // position in the target
	delta  []byte
	held   int // bytes before at that are to be inserted
}

// makeDelta returns the delta that makes target of source. ok is false if it has more than most
// bytes.
func makeDelta(ctx context.Context, source, target []byte, most int) (delta []byte, ok bool, err error) {
	d := deltaWriter{index: newIndex(source), target: target}
	d.delta = binary.AppendUvarint(d.delta, uint64(len(source)))
	d.delta = binary.AppendUvarint(d.delta, uint64(len(target)))
	d.at = min(windowBytes, len(target))
	d.held = d.at
	f := fingerprintOf(target[:d.at])
	offset, length := 0, 0
	for step := 0; d.at < len(target); step++ {
		if step%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, false, err
			}
		}
		if length < longMatch {
			f = (f ^ contributions[target[d.at-windowBytes]]).followed(target[d.at])
			if o, n := d.index.longest(f, target[d.at:], length); n > length {
				offset, length = o, n
			}
		}
		if length < minMatch {
			d.hold()
			length = 0
		} else {
			offset, length = d.copy(offset, length)
			if length < longMatch {
				f = fingerprintOf(target[d.at-windowBytes : d.at])
			}
		}
		if d.size() > most {
			return nil, false, nil
		}
	}
	d.insert()
	return d.delta, len(d.delta) <= most, nil
}

// size returns the length of the delta with the bytes that are to be inserted.
func (d *deltaWriter) size() int {
	if d.held == 0 {
		return len(d.delta)
	}
	return len(d.delta) + 1 + d.held
}

// hold adds a byte to those that are to be inserted.
func (d *deltaWriter) hold() {
	d.at++
	if d.held++; d.held == maxInsert {
		d.insert()
	}
}

func (d *deltaWriter) insert() {
	if d.held > 0 {
		d.delta = append(append(d.delta, byte(d.held)), d.target[d.at-d.held:d.at]...)
		d.held = 0
	}
}

// copy writes an instruction for a match, which it extends backwards over bytes that are to be
// inserted. It returns the rest of a match that is too long for one instruction.
func (d *deltaWriter) copy(offset, length int) (restOffset, rest int) {
	for d.held > 0 && offset > 0 && d.index.content[offset-1] == d.target[d.at-1] {
		offset, length = offset-1, length+1
		d.at, d.held = d.at-1, d.held-1
	}
	d.insert()
	n := min(length, maxCopy)
	place := len(d.delta)
	d.delta = append(d.delta, 0x80)
	appendBytes := func(value, bytes int, first byte) {
		for i := range bytes {
			if c := byte(value >> (8 * i)); c != 0 {
				d.delta = append(d.delta, c)
				d.delta[place] |= first << i
			}
		}
	}
	appendBytes(offset, 4, 0x01)
	appendBytes(n, 2, 0x10)
	d.at += n
	return offset + n, length - n
}

package search

import (
	"encoding/binary"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

// packedLines is the matching lines of a file in a compact encoding: a common word has a hundred
// thousand of them in a large tree. It is immutable.
type packedLines struct {
	packed string
	lines  int
	spans  int
	// next is the position to continue at if there are more lines.
	next pattern.Position
	more bool
}

// packedCost is the cost of packed lines besides their string, including the slot in a map.
const packedCost = 150

func (f *packedLines) cost() int { return packedCost + len(f.packed) }

// collectLines collects matching lines that a filter takes, from a position on, up to a limit of bytes.
func collectLines(sc *scratch, p *pattern.Pattern, takes lineFilter, content []byte, from pattern.Position,
	limit int) *packedLines {
	f := &packedLines{next: from}
	b := sc.packed[:0]
	number := 0
	for sc.scanner.Reset(p, content, from); sc.scanner.Next(); {
		if len(b) > limit {
			f.more = true
			break
		}
		if takes != nil && !takes(sc.scanner.Number(), sc.scanner.Line()) {
			continue
		}
		line := displayLine(sc.scanner.Number(), sc.scanner.Line(), sc.scanner.Spans(), shownBytes, sc)
		b = pack(b, &line, number)
		number = line.Number
		f.lines++
		f.spans += len(line.Ranges)
		f.next = sc.scanner.Position()
	}
	sc.packed = b
	f.packed = string(b)
	return f
}

// pack appends a line: the difference of its number to that of the line before, the omitted bytes,
// its ranges and its text.
func pack(b []byte, l *Line, before int) []byte {
	escaped := 0
	if l.Escaped {
		escaped = 1
	}
	for _, n := range []int{l.Number - before, l.Column, l.Before<<1 | escaped, l.After, len(l.Ranges)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	at := 0
	for _, r := range l.Ranges {
		b = binary.AppendUvarint(b, uint64(r.Start-at))
		b = binary.AppendUvarint(b, uint64(r.End-r.Start))
		at = r.Start
	}
	b = binary.AppendUvarint(b, uint64(len(l.Text)))
	return append(b, l.Text...)
}

type unpacker struct {
	packed string
	number int
	spans  []pattern.Span // room for the ranges of all lines
}

// unpack returns an unpacker before the first line. The lines share the memory of f.
func (f *packedLines) unpack() *unpacker {
	return &unpacker{packed: f.packed, spans: make([]pattern.Span, 0, f.spans)}
}

func (u *unpacker) next() (l Line, ok bool) {
	if u.packed == "" {
		return l, false
	}
	u.number += u.int()
	l.Number, l.Column = u.number, u.int()
	before := u.int()
	l.Before, l.Escaped, l.After = before>>1, before&1 != 0, u.int()
	ranges, from := u.int(), len(u.spans)
	at := 0
	for range ranges {
		at += u.int()
		u.spans = append(u.spans, pattern.Span{Start: at, End: at + u.int()})
	}
	l.Ranges = u.spans[from:len(u.spans):len(u.spans)]
	n := u.int()
	l.Text, u.packed = u.packed[:n], u.packed[n:]
	return l, true
}

func (u *unpacker) int() int {
	var n uint64
	for shift := 0; ; shift += 7 {
		c := u.packed[0]
		u.packed = u.packed[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int(n)
		}
	}
}

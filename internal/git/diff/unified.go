package diff

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"unicode/utf8"
)

const (
	// BinaryBytes is the number of bytes that decide whether a file is binary.
	BinaryBytes = 8000
	// headingBytes bounds the part of a line after the numbers of a hunk.
	headingBytes = 80
)

// Binary reports whether git treats a file as binary: there is a NUL among its first [BinaryBytes].
func Binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), BinaryBytes)], 0) >= 0
}

// Unified writes changes as hunks with the given number of context lines, as git does below the
// line "+++". The second "@@" is followed by the nearest line before the hunk that begins with a
// letter, "_" or "$", cut to 80 bytes and at invalid UTF-8: git's rule for files of no special
// kind. A last line without "\n" is followed by "\ No newline at end of file".
//
// The changes are those of [Lines] for a and b. For a context of 0, git computes them with
// [Options.TrimTail]. The error is the writer's.
func Unified(w io.Writer, a, b []byte, changes []Change, context int) error {
	out := bufio.NewWriter(w)
	p := printer{
		out: out, a: reader{rest: a}, b: reader{rest: b},
		aLines: CountLines(a), bLines: CountLines(b),
	}
	p.context = min(max(context, 0), max(p.aLines, p.bLines))
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].A-changes[n-1].A-changes[n-1].ALines <= 2*p.context {
			n++
		}
		if err := p.hunk(changes[:n]); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return out.Flush()
}

type printer struct {
	out            *bufio.Writer
	context        int
	a, b           reader
	aLines, bLines int
}

// hunk writes changes that share their context.
func (p *printer) hunk(changes []Change) error {
	first, last := changes[0], changes[len(changes)-1]
	aEnd, bEnd := last.A+last.ALines, last.B+last.BLines
	before := min(p.context, first.A, first.B)
	after := min(p.context, p.aLines-aEnd, p.bLines-bEnd)
	p.a.skip(first.A - before)
	p.header(first.A-before, aEnd+after, first.B-before, bEnd+after)
	for _, c := range changes {
		p.lines(' ', &p.a, c.A)
		p.lines('-', &p.a, c.A+c.ALines)
		p.b.skip(c.B)
		p.lines('+', &p.b, c.B+c.BLines)
	}
	p.lines(' ', &p.a, aEnd+after)
	// The writer keeps its first error.
	_, err := p.out.Write(nil)
	return err
}

func (p *printer) header(a, aEnd, b, bEnd int) {
	h := append(p.out.AvailableBuffer(), "@@ -"...)
	h = appendRange(h, a, aEnd-a)
	h = append(h, " +"...)
	h = appendRange(h, b, bEnd-b)
	h = append(h, " @@"...)
	if heading := p.a.heading; heading != nil {
		h = append(h, ' ')
		h = append(h, validPrefix(bytes.TrimRight(heading[:min(len(heading), headingBytes)], " \t\r\n"))...)
	}
	_, _ = p.out.Write(append(h, '\n'))
}

// validPrefix ends before the first invalid UTF-8, such as a cut character. As in git, the last two
// code points of the basic plane, which are no characters, count as invalid.
func validPrefix(text []byte) []byte {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
			return text[:at]
		}
		at += size
	}
	return text
}

// appendRange writes a range of lines: counted from 1, without a count for one line, and the
// preceding line for an empty range.
func appendRange(h []byte, first, count int) []byte {
	if count > 0 {
		first++
	}
	h = strconv.AppendInt(h, int64(first), 10)
	if count != 1 {
		h = append(h, ',')
		h = strconv.AppendInt(h, int64(count), 10)
	}
	return h
}

func (p *printer) lines(sign byte, r *reader, end int) {
	for r.number < end {
		line := r.next()
		_ = p.out.WriteByte(sign)
		_, _ = p.out.Write(line)
		if line[len(line)-1] != '\n' {
			_, _ = p.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// reader reads a text line by line and remembers the last line that can be a heading.
type reader struct {
	rest    []byte
	number  int // of the next line
	heading []byte
}

func (r *reader) skip(to int) {
	for r.number < to {
		r.next()
	}
}

func (r *reader) next() []byte {
	end := bytes.IndexByte(r.rest, '\n') + 1
	if end == 0 {
		end = len(r.rest)
	}
	line := r.rest[:end]
	r.rest = r.rest[end:]
	r.number++
	if opensHeading(line[0]) {
		r.heading = line
	}
	return line
}

func opensHeading(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$'
}

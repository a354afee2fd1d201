package objects

const (
	// firstSpan holds nearly every tree, commit and delta, and most source files,
	// deflated.
	firstSpan = 8 << 10
	// aheadSpan is read where objects are read one after another as they lie in
	// the pack, as git lays out the files of a commit: a call of the system costs
	// as much as copying that many bytes.
	aheadSpan = 32 << 10
	// nearSpan is how far behind the end of a span the next one still goes on.
	nearSpan = 32 << 10
	// largestSpan is up to which size a stream is read in one go, which is
	// faster; a longer one goes through a fixed buffer.
	largestSpan = 8 << 20
	// keptSpan is the largest buffer that stays in the pool: that of the largest
	// file that an archive reads in one go.
	keptSpan = 5 << 20
)

// span is the part of a pack that was read last. A pack never changes, so what
// was read stays right, also when the pack is gone.
type span struct {
	pack  *pack
	start int64
	bytes []byte // of buf
	buf   []byte
}

func (s *span) end() int64 { return s.start + int64(len(s.bytes)) }

// leadsTo reports whether a place is within the span, or so near behind it that
// objects are likely read as they lie.
func (s *span) leadsTo(p *pack, off int64) bool {
	return s.pack == p && off >= s.start && off <= s.end()+nearSpan
}

// from returns at least n bytes of a pack from off on, and fewer only at its end.
// They stay until the next call.
func (s *span) from(p *pack, off, n int64) ([]byte, error) {
	onward := s.leadsTo(p, off)
	if onward && min(off+n, p.end) <= s.end() {
		return s.bytes[off-s.start:], nil
	}
	if n = max(n, firstSpan); onward {
		n = max(n, aheadSpan)
	}
	if int64(cap(s.buf)) < n {
		s.buf = make([]byte, n)
	}
	s.pack = nil
	bytes, err := p.window(off, s.buf[:n])
	if err != nil {
		return nil, err
	}
	s.pack, s.start, s.bytes = p, off, bytes
	return bytes, nil
}

// trim drops what one huge object made of the buffer.
func (s *span) trim() {
	if cap(s.buf) > keptSpan {
		*s = span{}
	}
}

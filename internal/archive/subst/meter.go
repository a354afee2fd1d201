package subst

import "context"

// meter keeps the account of one file. Its error is the first thing that went
// wrong and stays; loops ask ok, and what they wrote is thrown away.
type meter struct {
	ctx   context.Context
	work  int64 // that is left
	limit int64
	err   error
}

func newMeter(ctx context.Context, work int64) *meter {
	return &meter{ctx: ctx, work: work, limit: work}
}

func (m *meter) ok() bool { return m.err == nil }

func (m *meter) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// spend accounts for looking at n bytes, and is where the context is asked.
func (m *meter) spend(n int) {
	m.work -= int64(n) + 1
	if m.work < 0 {
		m.fail(&LimitError{What: "bytes examined", Limit: m.limit})
		return
	}
	if err := m.ctx.Err(); err != nil {
		m.fail(err)
	}
}

// fastScan is how many bytes a search for one byte passes while a character's
// width is looked up.
const fastScan = 16

func (m *meter) spendFast(n int) { m.spend(n / fastScan) }

// buffer is text that is being written, up to a size.
type buffer struct {
	*meter
	b   []byte
	max int
}

// room reports whether n more bytes fit; when not, the meter fails.
func (s *buffer) room(n int) bool {
	if n <= s.max-len(s.b) {
		return true
	}
	s.fail(&LimitError{What: "bytes added", Limit: maxExpansion})
	return false
}

func (s *buffer) add(text string) {
	if s.room(len(text)) {
		s.b = append(s.b, text...)
	}
}

func (s *buffer) addBytes(text []byte) {
	if s.room(len(text)) {
		s.b = append(s.b, text...)
	}
}

func (s *buffer) addByte(c byte) {
	if s.room(1) {
		s.b = append(s.b, c)
	}
}

func (s *buffer) addSpaces(n int) {
	if n <= 0 || !s.room(n) {
		return
	}
	for ; n > len(blanks); n -= len(blanks) {
		s.b = append(s.b, blanks...)
	}
	s.b = append(s.b, blanks[:n]...)
}

// blanks are added at a time.
const blanks = "                                                                "

// insert puts text before position at.
func (s *buffer) insert(at int, text string) {
	if !s.room(len(text)) {
		return
	}
	s.spendFast(len(s.b) - at)
	s.b = append(s.b, text...)
	copy(s.b[at+len(text):], s.b[at:])
	copy(s.b[at:], text)
}

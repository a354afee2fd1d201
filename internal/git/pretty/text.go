package pretty

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/charset"
)

const (
	// maxExpansion bounds by how many bytes formats lengthen a text: one
	// placeholder of ten bytes can ask for 16 KiB of padding, and one of five
	// repeats a message of megabytes.
	maxExpansion = 64 << 20
	// maxWork bounds the bytes that are looked at for one text, a few seconds of
	// work: a placeholder may read the whole text before it, or the whole message,
	// and add nothing.
	maxWork = 256 << 20
	// maxHistory bounds the commits that %(describe) visits, some 150 bytes each;
	// Linux has 1.4 million.
	maxHistory = 2 << 20
)

// FatalError is a placeholder for which git ends without a result.
type FatalError struct {
	// Reason says what is wrong with it.
	Reason string
}

func (e *FatalError) Error() string { return e.Reason }

// LimitError is an expansion that is out of all proportion.
type LimitError struct {
	// What is bounded: "bytes added", "bytes examined" or "commits visited".
	What string
	// Limit is the bound.
	Limit int64
}

func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Limit, e.What) }

// Text is a text that formats are expanded into, between other text or one after
// the other. It is used by one goroutine.
type Text struct {
	*Formatter
	*meter
	out      *buffer
	readText bool // the last format looked at the commit's text
}

// NewText begins a text, which is appended to dst[len(dst):].
func (f *Formatter) NewText(ctx context.Context, dst []byte) *Text {
	m := &meter{ctx: ctx, left: f.work, limit: f.work}
	return &Text{Formatter: f, meter: m, out: &buffer{meter: m, bytes: dst[len(dst):], max: maxExpansion}}
}

// Add adds text as it is.
func (t *Text) Add(text []byte) {
	t.out.max += len(text)
	t.out.bytes = append(t.out.bytes, text...)
}

// Expand adds what a format comes to, which is in UTF-8 as far as the commit can
// be read. What is before it is the line that %<| counts columns of, and %- takes
// line feeds from its end.
func (t *Text) Expand(format string) {
	x := &expansion{Text: t, begin: len(t.out.bytes), wrapFrom: len(t.out.bytes)}
	t.readText = false
	x.expand(untilNUL(format))
	x.wrapAs(t.out, wrapping{})
}

// Encode turns the text so far into the encoding that the commit's header names,
// if the last format looked at the commit's text and all can be said in it. That
// is what `git archive` does.
func (t *Text) Encode() {
	if !t.ok() || !t.readText {
		return
	}
	c, err := t.commit()
	if err != nil || c.Encoding == nil || charset.Same(*c.Encoding, charset.UTF8) {
		return
	}
	t.spend(len(t.out.bytes))
	if encoded, ok := charset.Encode(t.out.bytes, *c.Encoding); ok {
		t.out.bytes = append(t.out.bytes[:0], encoded...)
		t.out.room(0)
	}
}

// Bytes returns the text. Its error is a [*FatalError], a [*LimitError], the
// context's or the repository's.
func (t *Text) Bytes() ([]byte, error) { return t.out.bytes, t.err }

// meter counts what one text costs. Its error is the first that occurred and is kept;
// loops ask ok, and what they wrote is thrown away.
type meter struct {
	ctx         context.Context
	left, limit int64
	err         error
}

func (m *meter) ok() bool { return m.err == nil }

func (m *meter) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// spend accounts for looking at n bytes, and is where the context is asked.
func (m *meter) spend(n int) {
	m.left -= int64(n) + 1
	if m.left < 0 {
		m.fail(&LimitError{What: "bytes examined", Limit: m.limit})
	}
	if err := m.ctx.Err(); err != nil {
		m.fail(err)
	}
}

// spendFast accounts for a search for one byte, which passes sixteen bytes while
// the width of a character is looked up.
func (m *meter) spendFast(n int) { m.spend(n / 16) }

// indexAny is strings.IndexAny, on account.
func (m *meter) indexAny(s, chars string) int {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		m.spend(len(s))
	} else {
		m.spend(i)
	}
	return i
}

// buffer is text that is being written, up to a size.
type buffer struct {
	*meter
	bytes []byte
	max   int
}

// room reports whether n more bytes fit; when not, the meter fails.
func (b *buffer) room(n int) bool {
	if n <= b.max-len(b.bytes) {
		return true
	}
	b.fail(&LimitError{What: "bytes added", Limit: maxExpansion})
	return false
}

func (b *buffer) add(text string) {
	if b.room(len(text)) {
		b.bytes = append(b.bytes, text...)
	}
}

func (b *buffer) addSpaces(n int) { b.add(strings.Repeat(" ", max(n, 0))) }

// insert puts text before a position.
func (b *buffer) insert(position int, text string) {
	if b.room(len(text)) {
		b.spendFast(len(b.bytes) - position)
		b.bytes = slices.Insert(b.bytes, position, []byte(text)...)
	}
}

// trimEnd removes bytes of the set from the end.
func (b *buffer) trimEnd(set string) {
	for n := len(b.bytes); n > 0 && strings.IndexByte(set, b.bytes[n-1]) >= 0; n-- {
		b.bytes = b.bytes[:n-1]
	}
}

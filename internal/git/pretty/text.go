package pretty

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/charset"
)

const (
	// maxExpansion bounds the bytes that formats add to a text: one placeholder of ten bytes can
	// ask for 16 KiB of padding, and one of five repeats a message of megabytes.
	maxExpansion = 64 << 20
	// maxWork bounds the bytes that are examined for one text, a few seconds of work: a placeholder
	// may read the whole text before it, or the whole message, and add nothing.
	maxWork = 256 << 20
	// maxHistory bounds the commits that %(describe) visits, some 150 bytes each; Linux has 1.4
	// million.
	maxHistory = 2 << 20
)

// FatalError is a placeholder at which git fails.
type FatalError struct {
	// Reason says what is wrong with it.
	Reason string
}

func (e *FatalError) Error() string { return e.Reason }

// LimitError is an expansion beyond a limit.
type LimitError struct {
	// What names the limit: "bytes added", "bytes examined" or "commits visited".
	What  string
	Limit int64
}

func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Limit, e.What) }

// Text is a text with expanded formats. It is used by one goroutine.
type Text struct {
	*Formatter
	*meter
	out      *buffer
	readText bool // the last format read the commit's text
}

// NewText begins a text, which is appended to dst[len(dst):].
func (f *Formatter) NewText(ctx context.Context, dst []byte) *Text {
	m := &meter{ctx: ctx, left: f.work, limit: f.work}
	return &Text{Formatter: f, meter: m, out: &buffer{meter: m, bytes: dst[len(dst):], max: maxExpansion}}
}

// Add appends literal text.
func (t *Text) Add(text []byte) {
	t.out.max += len(text)
	t.out.bytes = append(t.out.bytes, text...)
}

// Expand appends the expansion of a format, in UTF-8 as far as the commit is readable. Earlier text
// is the line whose columns %<| counts; %- removes line feeds from its end.
func (t *Text) Expand(format string) {
	x := &expansion{Text: t, begin: len(t.out.bytes), wrapFrom: len(t.out.bytes)}
	t.readText = false
	x.expand(untilNUL(format))
	x.wrapAs(t.out, wrapping{})
}

// Encode converts the text so far to the encoding in the commit's header, if the last format read
// the commit's text and the encoding can represent it, as `git archive` does.
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

// Bytes returns the text. The error is a [*FatalError], a [*LimitError], the context's or the
// repository's.
func (t *Text) Bytes() ([]byte, error) { return t.out.bytes, t.err }

// meter counts the cost of one text. It keeps its first error; loops check ok, and their output is
// discarded.
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

// spend counts n examined bytes, and checks the context.
func (m *meter) spend(n int) {
	m.left -= int64(n) + 1
	if m.left < 0 {
		m.fail(&LimitError{What: "bytes examined", Limit: m.limit})
	}
	if err := m.ctx.Err(); err != nil {
		m.fail(err)
	}
}

// spendFast counts the search for one byte, which passes sixteen bytes in the time of looking up a
// character's width.
func (m *meter) spendFast(n int) { m.spend(n / 16) }

// indexAny is strings.IndexAny with its cost counted.
func (m *meter) indexAny(s, chars string) int {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		m.spend(len(s))
	} else {
		m.spend(i)
	}
	return i
}

// buffer is the output, up to a size.
type buffer struct {
	*meter
	bytes []byte
	max   int
}

// room reports whether n more bytes fit; otherwise the meter fails.
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

func (b *buffer) insert(position int, text string) {
	if b.room(len(text)) {
		b.spendFast(len(b.bytes) - position)
		b.bytes = slices.Insert(b.bytes, position, []byte(text)...)
	}
}

func (b *buffer) trimEnd(set string) {
	for n := len(b.bytes); n > 0 && strings.IndexByte(set, b.bytes[n-1]) >= 0; n-- {
		b.bytes = b.bytes[:n-1]
	}
}

package archive

import (
	"context"
	"errors"
	"io"
	"sort"
	"sync"

	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/base/span"
)

// mark is a position between two entries of an archive: the number of entries and of bytes before
// it.
type mark struct {
	entries, offset int64
}

const (
	// markStep is the least distance between two marks. A range begins with generating at most as
	// many bytes that are dropped, which takes milliseconds.
	markStep = 1 << 20
	// maxMarks bounds the marks of one archive to 16 KiB. Beyond a gigabyte they are further apart.
	maxMarks = 1024
	// maxTrails is how many archives have marks: 4 MiB at most.
	maxTrails = 256
)

// trail is the marks of a plain tar, in order. They come from archives that were written, after all
// content was compared with its id. So they are certain, unlike the sizes in object headers, and
// permanent, since the tag of an archive names one sequence of bytes.
type trail struct {
	mu    sync.Mutex
	marks []mark
	step  int64
}

// trail returns the trail of the plan's archive; nil if its bytes depend on more than its tag, or if
// it cannot begin in the middle: the end of a checkout is made of all of its files.
func (p *Plan) trail() *trail {
	if p.options.Format != Tar || p.options.takesOutside() || p.clone != nil {
		return nil
	}
	return p.engine.trails.GetOrPut(p.tag(), &trail{step: markStep}, 1)
}

// note adds a mark, if it is far enough from the last.
func (t *trail) note(m mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := int64(0)
	if n := len(t.marks); n > 0 {
		last = t.marks[n-1].offset
	}
	if m.offset < last+t.step {
		return
	}
	if t.marks = append(t.marks, m); len(t.marks) < maxMarks {
		return
	}
	for i := range maxMarks / 2 {
		t.marks[i] = t.marks[2*i+1]
	}
	t.marks, t.step = t.marks[:maxMarks/2], 2*t.step
}

// before returns the last mark at or before an offset, or the beginning.
func (t *trail) before(offset int64) mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].offset > offset })
	if i == 0 {
		return mark{}
	}
	return t.marks[i-1]
}

// position is a position between two entries of an archive from which generation can continue.
type position struct {
	mark
	walk   walk
	opener *content.Opener
}

// start returns the position of the first entry; the archive header is not counted.
func (p *Plan) start(ctx context.Context) (*position, error) {
	w, err := p.newWalk(ctx)
	if err != nil {
		return nil, err
	}
	return &position{walk: w, opener: p.newOpener(ctx)}, nil
}

// WriteRange writes length bytes of the archive from an offset on; a negative length means to its
// end. An offset beyond the end writes nothing. A plain tar is generated from the last known mark
// before the offset; other formats are generated from the beginning. The position of the offset is
// not computed from sizes in object headers, which may be damaged.
func (p *Plan) WriteRange(ctx context.Context, w io.Writer, offset, length int64) error {
	if length == 0 {
		return nil
	}
	part := &span.Writer{W: w, Skip: offset, Left: length}
	err := p.writeFrom(ctx, part)
	if part.Left == 0 && errors.Is(err, span.ErrEnd) {
		return nil
	}
	return err
}

// writeFrom begins with a run of entries at or before the range.
func (p *Plan) writeFrom(ctx context.Context, part *span.Writer) error {
	trail := p.trail()
	if trail == nil {
		return p.WriteTo(ctx, part)
	}
	from := trail.before(part.Skip)
	if from == (mark{}) {
		return p.WriteTo(ctx, part)
	}
	at, err := p.start(ctx)
	if err != nil {
		return err
	}
	more, err := at.skip(ctx, p, from)
	if err != nil {
		return err
	}
	part.Skip -= from.offset
	l := p.newPipeline(ctx, part, p.tarLayout(), at)
	l.more = more
	return l.rest()
}

// errMark says that a mark does not belong to this archive.
var errMark = errors.New("archive: the entries are not those of before")

// skip skips the entries before a mark, and reports whether there are more.
func (at *position) skip(ctx context.Context, p *Plan, to mark) (more bool, err error) {
	var b tree.Batch
	for more = true; at.entries < to.entries; at.entries += int64(b.Len()) {
		if !more {
			return false, errMark
		}
		b.Reset(p.source, int(min(to.entries-at.entries, runEntries)))
		if more, err = at.walk.Fill(&b); err != nil {
			return false, err
		}
	}
	if at.entries != to.entries {
		return false, errMark
	}
	at.mark = to
	return more, context.Cause(ctx)
}

// ordered reports whether an entry can only be generated after those before it.
func (r *run) ordered() bool {
	for e := range r.All() {
		if e.Treatment.InOrder() {
			return true
		}
	}
	return false
}

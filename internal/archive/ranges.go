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

// mark is a place between two entries of an archive: so many entries make so
// many bytes.
type mark struct {
	entries, offset int64
}

const (
	// markStep is the least distance between two marks: a range begins with
	// generating as much that is dropped, which takes milliseconds.
	markStep = 1 << 20
	// maxMarks bounds those of one archive to 16 KiB. Beyond a gigabyte they are
	// further apart.
	maxMarks = 1024
	// maxTrails is how many archives have marks: 4 MiB at most.
	maxTrails = 256
)

// trail is the marks of a plain tar, in order. What was written tells them, and
// all of that was compared with its id: unlike the sizes in the headers of
// objects they are certain, and the tag of an archive names one sequence of
// bytes, so they stay so.
type trail struct {
	mu    sync.Mutex
	marks []mark
	step  int64
}

// trail is that of the plan's archive; nil where its bytes depend on more than
// its tag tells, or where nothing can begin in the middle.
func (p *Plan) trail() *trail {
	if p.options.Format != Tar || p.options.takesOutside() {
		return nil
	}
	return p.engine.trails.GetOrPut(p.tag(), &trail{step: markStep}, 1)
}

// note adds a mark that is far enough from the last.
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

// before is the last mark that is not after an offset, or the beginning.
func (t *trail) before(offset int64) mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].offset > offset })
	if i == 0 {
		return mark{}
	}
	return t.marks[i-1]
}

// position is a place between two entries of an archive that can be gone on
// from.
type position struct {
	mark
	walk   walk
	opener *content.Opener
}

// start is before the first entry. What comes before that is not counted yet.
func (p *Plan) start(ctx context.Context) (*position, error) {
	w, err := p.newWalk(ctx)
	if err != nil {
		return nil, err
	}
	return &position{walk: w, opener: p.newOpener(ctx)}, nil
}

// WriteRange writes length bytes of the archive from an offset on; a negative
// length means to its end. An offset beyond the end writes nothing. A plain tar
// is generated from the last mark before the offset on, if some of it was
// generated before; anything else from its beginning. The sizes of files are not
// asked where that is: those in their headers may be damaged.
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

// writeFrom begins with the run of entries that the part is in, or before it.
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

// errMark says that a mark is not of this archive.
var errMark = errors.New("archive: the entries are not those of before")

// skip goes over the entries before a mark, and reports whether there are more.
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

// ordered reports whether an entry can only be made after those before it.
func (r *run) ordered() bool {
	for e := range r.All() {
		if e.Treatment.InOrder() {
			return true
		}
	}
	return false
}

package archive

import (
	"context"
	"errors"
	"io"
	"slices"
)

// position is a place between two entries of an archive.
type position struct {
	walk    supply
	content *content
	offset  int64 // bytes before it
}

// start is before the first entry. What comes before that is not counted yet.
func (p *Plan) start(ctx context.Context) (*position, error) {
	w, err := p.newSupply(ctx)
	if err != nil {
		return nil, err
	}
	return &position{walk: w, content: newContent(ctx, p)}, nil
}

// errEnough ends an archive of which enough was written.
var errEnough = errors.New("archive: the end of the range")

// WriteRange writes length bytes of the archive from an offset on; a negative
// length means to its end. An offset beyond the end writes nothing. Of a plain
// tar nothing before the offset is generated: the sizes of files tell where it
// is. Other formats are generated from their beginning.
func (p *Plan) WriteRange(ctx context.Context, w io.Writer, offset, length int64) error {
	if length == 0 {
		return nil
	}
	if length < 0 {
		length = -1
	}
	part := &window{w: w, skip: offset, left: length}
	var err error
	if p.options.Format == Tar {
		err = p.writeTarFrom(ctx, part)
	} else {
		err = p.WriteTo(ctx, part)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// writeTarFrom goes over the entries before the offset by their lengths alone,
// and begins with the run of entries that the offset is in.
func (p *Plan) writeTarFrom(ctx context.Context, part *window) error {
	at, err := p.start(ctx)
	if err != nil {
		return err
	}
	format := p.tarFormat()
	opening, err := format.opening(nil, p)
	if err != nil {
		return err
	}
	if int64(len(opening)) > part.skip {
		return p.newPipeline(ctx, part, format, at).whole()
	}
	at.offset = int64(len(opening))
	for more := true; more; {
		r := p.engine.runs.Get().(*run)
		r.reset(ctx, p, format, 1)
		if more, err = at.walk.fill(r); err != nil {
			return err
		}
		if r.ordered() {
			// Its content depends on the files before it.
			return p.write(ctx, part, format)
		}
		length, err := at.content.lengthOf(r)
		if err != nil {
			return err
		}
		if at.offset+length > part.skip {
			part.skip -= at.offset
			l := p.newPipeline(ctx, part, format, at)
			l.more = more
			return l.rest(r)
		}
		at.offset += length
		p.engine.runs.Put(r)
	}
	part.skip -= at.offset
	l := p.newPipeline(ctx, part, format, at)
	l.more = false
	return l.rest(nil)
}

// ordered reports whether an entry can only be made after those before it.
func (r *run) ordered() bool {
	return slices.ContainsFunc(r.entries, func(e runEntry) bool { return e.treatment.apart() })
}

// lengthOf is how much tar a run makes.
func (c *content) lengthOf(r *run) (int64, error) {
	var sum int64
	for i := range r.entries {
		length, err := c.length(r.entry(i))
		if err != nil {
			return 0, err
		}
		sum += length
	}
	return sum, context.Cause(c.ctx)
}

// window lets a part of what is written through.
type window struct {
	w    io.Writer
	skip int64 // bytes to leave out first
	left int64 // bytes to write after that; negative: all
}

func (w *window) Write(p []byte) (int, error) {
	written := len(p)
	n := min(int64(len(p)), w.skip)
	p, w.skip = p[n:], w.skip-n
	if w.left >= 0 {
		p = p[:min(int64(len(p)), w.left)]
	}
	if len(p) > 0 {
		if n, err := w.w.Write(p); err != nil {
			return n, err
		}
	}
	if w.left >= 0 {
		if w.left -= int64(len(p)); w.left == 0 {
			return 0, errEnough
		}
	}
	return written, nil
}

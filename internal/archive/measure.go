package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/repos"
)

// Measure is what an archive will hold, as far as it is known without reading a file.
type Measure struct {
	// Entries is the number of members, folders included.
	Entries int64
	// Bytes is the exact length of the tar.
	Bytes int64
	// Ignored is how many files and folders export-ignore left out. What is in
	// such a folder is not counted.
	Ignored int64
}

// Measure computes the extent of the archive from trees and the sizes in
// objects' headers, which are not compared with anything: an archive of another
// length is damaged. It reads no files but those that attributes have changed.
func (p *Plan) Measure(ctx context.Context) (Measure, error) {
	at, err := p.start(ctx)
	if err != nil {
		return Measure{}, err
	}
	opening, err := p.tarLayout().opening(nil, p)
	if err != nil {
		return Measure{}, err
	}
	m := Measure{Bytes: int64(len(opening))}
	r := newRun(nil)
	for more := true; more; {
		r.reset(ctx, p, nil, runEntries)
		if more, err = at.walk.fill(r); err != nil {
			return Measure{}, err
		}
		length, err := at.content.lengthOf(r)
		if err != nil {
			return Measure{}, err
		}
		if m.Bytes += length; m.Bytes > p.options.Limits.Bytes {
			return Measure{}, limitBytes(p.options.Limits)
		}
	}
	m.Entries, m.Ignored = at.walk.counts()
	if p.folder() != nil {
		m.Entries++
	}
	m.Bytes += int64(len(tar.Trailer(m.Bytes)))
	if m.Bytes > p.options.Limits.Bytes {
		return Measure{}, limitBytes(p.options.Limits)
	}
	return m, nil
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

// length is how much tar an entry makes. A link's target matters by its length
// only.
func (c *content) length(e entry) (int64, error) {
	if !e.mode.IsRegular() && !e.mode.IsSymlink() {
		return tar.HeaderLength(e.path, 0, 0), nil
	}
	if e.treatment.changes() || e.treatment.mayBePointer() {
		size, _, err := c.open(e)
		return tar.HeaderLength(e.path, size, 0) + tar.PaddedLength(size), err
	}
	c.enter(e.module)
	size, err := c.source.Size(e.id)
	switch {
	case err != nil:
		return 0, damaged(err)
	case e.mode.IsRegular() && size > c.limits.BlobBytes:
		return 0, limitBlob(c.limits)
	case e.mode.IsRegular():
		return tar.HeaderLength(e.path, size, 0) + tar.PaddedLength(size), nil
	case size > maxLinkBytes:
		return 0, errLink
	default:
		return tar.HeaderLength(e.path, 0, int(size)), nil
	}
}

// damaged turns "not found" into damage: a tree named the object, so its
// absence is no answer to the caller's question.
func damaged(err error) error {
	if errors.Is(err, repos.ErrNotFound) {
		return fmt.Errorf("%w: a tree names a missing object", repos.ErrCorrupt)
	}
	return err
}

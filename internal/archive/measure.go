package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/repos"
)

// Measure is what an archive will hold, known without reading a file.
type Measure struct {
	// Entries is the number of members, folders included.
	Entries int64
	// Bytes is the exact length of the tar.
	Bytes int64
}

// Measure computes the extent of the archive from trees and the sizes in
// objects' headers. It reads no blob.
func (p *Plan) Measure(ctx context.Context) (Measure, error) {
	format := tarFormat{mtime: p.commit.Committer.When.Unix()}
	m := Measure{Bytes: int64(len(p.opening(format)))}
	w := newWalk(ctx, p)
	r := newRun(nil)
	for more := true; more; {
		if err := context.Cause(ctx); err != nil {
			return Measure{}, err
		}
		r.reset(ctx, p.source, format, runEntries)
		var err error
		if more, err = w.fill(r); err != nil {
			return Measure{}, err
		}
		for i := range r.entries {
			length, err := r.length(r.entry(i))
			if err != nil {
				return Measure{}, err
			}
			m.Bytes += length
		}
	}
	m.Entries = w.entries
	if p.folder() != nil {
		m.Entries++
	}
	m.Bytes += int64(len(trailer(m.Bytes)))
	if m.Bytes > p.options.Limits.Bytes {
		return Measure{}, limitBytes(p.options.Limits)
	}
	return m, nil
}

// length is how much tar an entry makes. A link's target matters by its length
// only.
func (r *run) length(e entry) (int64, error) {
	if !e.mode.IsRegular() && !e.mode.IsSymlink() {
		return headerLength(e.path, 0, 0), nil
	}
	size, err := r.source.Size(e.id)
	if err != nil {
		return 0, damaged(err)
	}
	if e.mode.IsSymlink() {
		if size > maxLinkBytes {
			return 0, errLink
		}
		return headerLength(e.path, 0, int(size)), nil
	}
	return headerLength(e.path, size, 0) + records(size), nil
}

// damaged turns "not found" into damage: a tree named the object, so its
// absence is no answer to the caller's question.
func damaged(err error) error {
	if errors.Is(err, repos.ErrNotFound) {
		return fmt.Errorf("%w: a tree names a missing object", repos.ErrCorrupt)
	}
	return err
}

package archive

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
)

// Measure is the extent of an archive, computed without reading files.
type Measure struct {
	// Entries is the number of members, folders included.
	Entries int64
	// Bytes is the exact length of the tar.
	Bytes int64
	// Ignored is the number of files and folders that export-ignore excluded, without the contents
	// of such folders.
	Ignored int64
}

// ErrUnmeasured means that the extent of a checkout is known only after its pack was made.
var ErrUnmeasured = errors.New("the length of a checkout is not known before it is made")

// Measure computes the extent of the archive from trees and the sizes in object headers, which are
// not verified: an archive of another length is damaged. It reads only files that attributes
// change, and candidates for patches. A checkout is [ErrUnmeasured].
func (p *Plan) Measure(ctx context.Context) (Measure, error) {
	if p.clone != nil {
		return Measure{}, ErrUnmeasured
	}
	at, err := p.start(ctx)
	if err != nil {
		return Measure{}, err
	}
	opening, err := p.tarLayout().opening(nil, p)
	if err != nil {
		return Measure{}, err
	}
	m := Measure{Bytes: int64(len(opening))}
	var b tree.Batch
	for more := true; more; {
		b.Reset(p.source, runEntries)
		if more, err = at.walk.Fill(&b); err != nil {
			return Measure{}, err
		}
		length, err := p.tarLength(ctx, at.opener, &b)
		if err != nil {
			return Measure{}, err
		}
		if m.Bytes += length; m.Bytes > p.options.Limits.Bytes {
			return Measure{}, p.options.Limits.BytesExceeded()
		}
	}
	m.Entries, m.Ignored = at.walk.Counts()
	if p.folder() != nil {
		m.Entries++
	}
	m.Bytes += int64(len(tar.Trailer(m.Bytes)))
	if m.Bytes > p.options.Limits.Bytes {
		return Measure{}, p.options.Limits.BytesExceeded()
	}
	return m, nil
}

// tarLength returns the length of a batch in tar.
func (p *Plan) tarLength(ctx context.Context, opener *content.Opener, b *tree.Batch) (int64, error) {
	var sum int64
	var member []byte
	for e := range b.All() {
		if p.patching != nil && !e.Base.IsZero() {
			var patched bool
			var err error
			member, patched, err = p.patching.append(p.tarLayout(), b.Source, member[:0], e, p.options.Limits.BlobBytes)
			if err != nil {
				return 0, err
			}
			if sum += int64(len(member)); patched {
				continue
			}
		}
		var size int64
		if e.Mode.IsRegular() || e.Mode.IsSymlink() {
			var err error
			if size, err = opener.Size(e); err != nil {
				return 0, err
			}
		}
		if e.Mode.IsSymlink() {
			sum += tar.HeaderLength(e.Path, 0, int(size)) // includes its target
			continue
		}
		sum += tar.HeaderLength(e.Path, size, 0) + tar.PaddedLength(size)
	}
	return sum, context.Cause(ctx)
}

package archive

import (
	"io"

	"github.com/repomcp/repomcp/internal/archive/tree"
)

// layout is what an archive is besides its entries. It is either a [framing] or
// a [describer], whose methods for entries workers use at the same time for their
// runs. The rest is the writing goroutine's.
type layout interface {
	// opening appends what comes before the first entry.
	opening(out []byte, p *Plan) ([]byte, error)
	// beforeWrite is told that what a run has appended is about to be written.
	beforeWrite(r *run)
	// closing writes what comes after the last entry.
	closing(l *pipeline) error
}

// framing puts members one after another.
type framing interface {
	layout
	// appendBare appends an entry without content: a folder, a gitlink, or a link
	// with its target.
	appendBare(r *run, out []byte, e tree.Entry, target []byte) ([]byte, error)
	// appendBlob appends a file that is read from the source, unless it has more
	// than limit bytes: git.ErrTooLarge. After an error out is as it was.
	appendBlob(r *run, out []byte, e tree.Entry, limit int64) ([]byte, error)
	// appendContent appends a file whose content is at hand.
	appendContent(r *run, out []byte, e tree.Entry, content []byte) ([]byte, error)
	// buffersLarge says whether a file of up to largeBytes may be read whole, if
	// a buffer is free, without other bytes coming of it than by stream.
	buffersLarge() bool
	// stream writes a file of the given size, whose content a function writes.
	// Only the writing goroutine uses it.
	stream(l *pipeline, e tree.Entry, size int64, write func(io.Writer) error) error
}

// describer has something else in the place of members.
type describer interface {
	layout
	// describe appends what stands for an entry. After an error out is as it
	// was.
	describe(r *run, out []byte, e tree.Entry) ([]byte, error)
}

var (
	_ framing   = tarLayout{}
	_ framing   = (*zipLayout)(nil)
	_ describer = (*manifestLayout)(nil)
)

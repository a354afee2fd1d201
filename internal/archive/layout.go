package archive

import (
	"io"

	"github.com/repomcp/repomcp/internal/archive/tree"
)

// layout writes the parts of an archive around its entries. It is either a [framing] or a
// [describer], whose entry methods several workers call at the same time. The writing goroutine
// calls the other methods.
type layout interface {
	// opening appends the part before the first entry.
	opening(out []byte, p *Plan) ([]byte, error)
	// beforeWrite is called before a run's bytes are written.
	beforeWrite(r *run) error
	// closing writes the part after the last entry.
	closing(l *pipeline) error
}

// framing concatenates members.
type framing interface {
	layout
	// appendBare appends an entry without content: a folder, a gitlink, or a link with its target.
	appendBare(r *run, out []byte, e tree.Entry, target []byte) ([]byte, error)
	// appendBlob appends a file from the source, unless it has more than limit bytes:
	// git.ErrTooLarge. After an error out is unchanged.
	appendBlob(r *run, out []byte, e tree.Entry, limit int64) ([]byte, error)
	// appendContent appends a file with the given content.
	appendContent(r *run, out []byte, e tree.Entry, content []byte) ([]byte, error)
	// buffersLarge reports whether a file of up to largeBytes may be read into a free buffer. The
	// bytes must be the same as by stream.
	buffersLarge() bool
	// stream writes a file of the given size, whose content a function writes. Only the writing
	// goroutine calls it.
	stream(l *pipeline, e tree.Entry, size int64, write func(io.Writer) error) error
}

// patchFraming can mark a member as a patch.
type patchFraming interface {
	framing
	// appendPatch appends a file as a patch, unless that is larger. After an error, and without a
	// patch, out is unchanged.
	appendPatch(r *run, out []byte, e tree.Entry) (longer []byte, patched bool, err error)
}

// describer writes descriptions instead of members.
type describer interface {
	layout
	// describe appends the description of an entry. After an error out is unchanged.
	describe(r *run, out []byte, e tree.Entry) ([]byte, error)
}

var (
	_ patchFraming = tarLayout{}
	_ patchFraming = (*checkoutLayout)(nil)
	_ framing      = packLayout{}
	_ framing      = (*zipLayout)(nil)
	_ describer    = (*manifestLayout)(nil)
)

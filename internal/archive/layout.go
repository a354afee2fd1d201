package archive

import (
	"io"

	"github.com/repomcp/repomcp/internal/archive/tree"
)

// layout is how members are put one after another. Workers use one at the same
// time for their runs: bare, read and whole. The rest is the writing
// goroutine's.
type layout interface {
	// opening appends what comes before the first entry.
	opening(out []byte, p *Plan) ([]byte, error)
	// bare appends an entry without content: a folder, a gitlink, or a link
	// with its target.
	bare(r *run, out []byte, e tree.Entry, target []byte) ([]byte, error)
	// read appends a file that is read from the source, unless it has more than
	// limit bytes: repos.ErrTooLarge. After an error out is as it was.
	read(r *run, out []byte, e tree.Entry, limit int64) ([]byte, error)
	// whole appends a file whose content is at hand.
	whole(r *run, out []byte, e tree.Entry, content []byte) ([]byte, error)
	// held says whether a file of up to heldBytes may be read whole, if a buffer
	// is free, without other bytes coming of it than by stream.
	held() bool
	// stream writes a file of the given size, whose content a function writes.
	stream(l *pipeline, e tree.Entry, size int64, write func(io.Writer) error) error
	// taken says that what a run has made is about to be written.
	taken(r *run)
	// closing writes what comes after the last entry.
	closing(l *pipeline) error
}

// describer is a layout that has something else in the place of members. Of
// its other methods only opening, taken and closing are used.
type describer interface {
	layout
	// describe appends what stands for an entry. After an error out is as it
	// was.
	describe(r *run, out []byte, e tree.Entry) ([]byte, error)
}

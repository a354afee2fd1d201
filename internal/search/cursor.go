package search

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
)

// ErrCursor means that a cursor is unusable: it belongs to another query, or its commit is not
// served any more.
var ErrCursor = errors.New("the cursor does not belong to this query and ref, or its commit is gone: search again " +
	"without a cursor")

// ErrChanged is an [ErrCursor]: the files of several repositories are ranked anew for each page, and
// a push came between.
var ErrChanged = fmt.Errorf("repositories have changed since the first page, and with them the order of the files: "+
	"%w", ErrCursor)

const (
	sumBytes = 8
	// cursorVersion changes with the encoding or the meaning of cursors.
	cursorVersion = 2
)

// position is where a search stopped: before a repository if commit is zero, else at a commit,
// before a file or folder or within a file.
type position struct {
	repository string
	commit     git.ID
	path       string
	lines      int // lines of the file that were returned already
}

// slice is a part of a walk whose files are ranked together, and how many of them were shown.
type slice struct {
	start position
	files int // that are walked, or 0 if the slice ends with the walk
	cut   Stop
	next  position       // where it ends if files is not 0
	sum   [sumBytes]byte // of what is ranked
	shown int
}

// cuts are the limits that end slices, as their indexes in cursors.
var cuts = []Stop{"", StopFiles, StopRead, StopTime, StopCandidates}

func (p position) encode(sum [sumBytes]byte) string {
	return base64.RawURLEncoding.EncodeToString(p.append(header(sum)))
}

func (s slice) encode(sum [sumBytes]byte) string {
	b := append(header(sum), s.sum[:]...)
	for _, n := range []int{s.shown, s.files, slices.Index(cuts, s.cut)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = s.start.append(b)
	return base64.RawURLEncoding.EncodeToString(s.next.append(b))
}

func header(sum [sumBytes]byte) []byte { return append([]byte{cursorVersion}, sum[:]...) }

func (p position) append(b []byte) []byte {
	b = append(b, p.commit[:]...)
	b = binary.AppendUvarint(b, uint64(p.lines))
	for _, text := range []string{p.repository, p.path} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

// cursorReader reads a cursor from the left. After a mistake it reads zeros.
type cursorReader struct {
	rest  []byte
	wrong bool
}

func readCursor(text string, sum [sumBytes]byte) *cursorReader {
	b, err := base64.RawURLEncoding.DecodeString(text)
	r := &cursorReader{b, err != nil}
	if head := r.bytes(1 + sumBytes); string(head) != string(header(sum)) {
		r.wrong = true
	}
	return r
}

// end returns an error if the cursor was not as long and as it should be.
func (r *cursorReader) end() error {
	if r.wrong || len(r.rest) > 0 {
		return ErrCursor
	}
	return nil
}

func (r *cursorReader) bytes(n int) []byte {
	if r.wrong = r.wrong || n > len(r.rest); r.wrong {
		return make([]byte, min(n, len(git.ID{})))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// maxCursorNumber bounds the numbers in cursors. A repository that names the same folders again and again has
// more files than 32 bits count.
const maxCursorNumber = 1 << 62

func (r *cursorReader) number() int {
	v, n := binary.Uvarint(r.rest)
	if r.wrong = r.wrong || n <= 0 || v > maxCursorNumber; r.wrong {
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *cursorReader) position() (p position) {
	copy(p.commit[:], r.bytes(len(p.commit)))
	p.lines = r.number()
	p.repository = string(r.bytes(r.number()))
	p.path = string(r.bytes(r.number()))
	return p
}

func decodeCursor(text string, sum [sumBytes]byte) (position, error) {
	r := readCursor(text, sum)
	p := r.position()
	return p, r.end()
}

func decodeSlice(text string, sum [sumBytes]byte) (s slice, err error) {
	r := readCursor(text, sum)
	copy(s.sum[:], r.bytes(sumBytes))
	s.shown, s.files = r.number(), r.number()
	cut := r.number()
	s.start, s.next = r.position(), r.position()
	if cut >= len(cuts) || (cut > 0) != (s.files > 0) {
		return s, ErrCursor
	}
	s.cut = cuts[cut]
	return s, r.end()
}

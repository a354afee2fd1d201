package search

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/repomcp/repomcp/internal/git"
)

// ErrCursor means that a cursor is unusable: it belongs to another query, or its commit is not
// served any more.
var ErrCursor = errors.New("the cursor does not belong to this query and ref, or its commit is gone: search again " +
	"without a cursor")

const (
	sumBytes = 8
	// cursorVersion changes with the encoding or the meaning of cursors.
	cursorVersion = 1
)

// position is where a search stopped: before a repository if commit is zero, else at a commit,
// before a file or folder or within a file.
type position struct {
	repository string
	commit     git.ID
	path       string
	lines      int // lines of the file that were returned already
}

func (p position) encode(sum [sumBytes]byte) string {
	b := append([]byte{cursorVersion}, sum[:]...)
	b = append(b, p.commit[:]...)
	b = binary.AppendUvarint(b, uint64(p.lines))
	b = binary.AppendUvarint(b, uint64(len(p.repository)))
	b = append(b, p.repository...)
	b = append(b, p.path...)
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(text string, sum [sumBytes]byte) (p position, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	const fixed = 1 + sumBytes + len(p.commit)
	if err != nil || len(b) < fixed || b[0] != cursorVersion || [sumBytes]byte(b[1:1+sumBytes]) != sum {
		return p, ErrCursor
	}
	p.commit = git.ID(b[1+sumBytes : fixed])
	lines, n := binary.Uvarint(b[fixed:])
	if n <= 0 || lines > 1<<31 {
		return p, ErrCursor
	}
	b = b[fixed+n:]
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return p, ErrCursor
	}
	p.lines, p.repository, p.path = int(lines), string(b[n:n+int(length)]), string(b[n+int(length):])
	return p, nil
}

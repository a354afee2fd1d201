package repos

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
)

// Blob is the content of a file, read as a stream. The last read verifies the
// content's id: a mismatch takes the place of io.EOF.
type Blob struct {
	id      ID
	size    int64
	left    int64
	content io.ReadCloser
	sum     hash.Hash
	err     error // sticky
}

func openBlob(id ID, object plumbing.EncodedObject) (*Blob, error) {
	if object.Type() != plumbing.BlobObject {
		return nil, corrupt(id, fmt.Errorf("is a %s, not a blob", object.Type()))
	}
	content, err := object.Reader()
	if err != nil {
		return nil, corrupt(id, err)
	}
	b := &Blob{id: id, size: object.Size(), left: object.Size(), content: content, sum: sha1.New()}
	_, _ = fmt.Fprintf(b.sum, "blob %d\x00", b.size)
	return b, nil
}

// Size is the length of the content in bytes.
func (b *Blob) Size() int64 { return b.size }

// Read implements [io.Reader]. It gives exactly Size bytes and then io.EOF, or
// an error that matches [ErrCorrupt].
func (b *Blob) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.content.Read(p)
	if int64(n) > b.left {
		b.err = corrupt(b.id, errors.New("is longer than its header says"))
		return 0, b.err
	}
	b.left -= int64(n)
	b.sum.Write(p[:n])
	if err != nil {
		b.err = b.end(err)
	}
	return n, b.err
}

// end decides what the end of the content means.
func (b *Blob) end(err error) error {
	switch {
	case !errors.Is(err, io.EOF):
		return corrupt(b.id, err)
	case b.left > 0:
		return corrupt(b.id, io.ErrUnexpectedEOF)
	case ID(b.sum.Sum(nil)) != b.id:
		return corrupt(b.id, errors.New("content does not match the id"))
	default:
		return io.EOF
	}
}

// Close releases the stream.
func (b *Blob) Close() error { return b.content.Close() }

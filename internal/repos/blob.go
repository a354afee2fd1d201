package repos

import (
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/objects"
)

// Blob is the content of a file, read as a stream of exactly Size bytes. The
// content is compared with its id while it flows: a mismatch takes the place
// of the last bytes.
type Blob struct {
	id     ID
	object *objects.Object
}

// Blob opens the content of a file of any size. Close it.
func (s *Snapshot) Blob(id ID) (*Blob, error) {
	object, err := s.objects.Open(id)
	if err != nil {
		return nil, domainError(err)
	}
	if object.Type() != objects.Blob {
		return nil, errors.Join(damage(id, fmt.Errorf("is a %s, not a blob", object.Type())), object.Close())
	}
	object.Verify()
	return &Blob{id: id, object: object}, nil
}

// Size is the length of the content in bytes.
func (b *Blob) Size() int64 { return b.object.Size() }

// Read implements [io.Reader]. It gives exactly Size bytes and then io.EOF, or
// an error that matches [ErrCorrupt].
func (b *Blob) Read(p []byte) (int, error) {
	n, err := b.object.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = domainError(err)
	}
	return n, err
}

// WriteTo implements [io.WriterTo]: it writes the content while it is read
// ahead. Errors are those of Read, or the writer's.
func (b *Blob) WriteTo(w io.Writer) (int64, error) {
	n, err := b.object.WriteTo(w)
	var corrupt *objects.CorruptError
	if errors.As(err, &corrupt) {
		err = domainError(err)
	}
	return n, err
}

// Close releases the stream.
func (b *Blob) Close() error { return b.object.Close() }

// ReadBlob appends the whole content of a file to buf and returns what that
// becomes. The content is compared with its id. A file of more than limit
// bytes is [ErrTooLarge], found before any of it is read.
func (s *Snapshot) ReadBlob(id ID, limit int64, buf []byte) ([]byte, error) {
	kind, data, err := s.objects.ReadVerified(id, limit, buf)
	if err != nil {
		return buf, domainError(err)
	}
	if kind != objects.Blob {
		return buf, damage(id, fmt.Errorf("is a %s, not a blob", kind))
	}
	return data, nil
}

// Size is the length of a blob's content in bytes, read from headers only.
func (s *Snapshot) Size(blob ID) (int64, error) {
	_, size, err := s.objects.Stat(blob)
	return size, domainError(err)
}

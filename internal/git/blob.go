package git

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git/objects"
)

// Blob is the content of a file, read as a stream of exactly Size bytes. It was compared with its
// id before the first byte.
type Blob struct {
	repository *Repository
	object     *objects.Object
}

// Blob opens the content of a file of any size. Close it. A large file is read to its end the first
// time: see [objects.Snapshot.OpenSound].
func (s *Snapshot) Blob(ctx context.Context, id ID) (blob *Blob, err error) {
	defer s.repository.contain(&err)
	object, err := s.objects.OpenSound(ctx, id)
	if err != nil {
		return nil, domainError(err)
	}
	if err := mustBeBlob(id, object.Type()); err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return &Blob{s.repository, object}, nil
}

func mustBeBlob(id ID, kind objects.Type) error {
	if kind != objects.Blob {
		return damage(id, fmt.Errorf("is a %s, not a blob", kind))
	}
	return nil
}

// ProveBlob reads the content of a file once to compare it with its id, and returns its length. It
// also writes the content to the writer that begin returns, which has all of it if there is no
// error; begin is called again if a copy turns out to be damaged.
func (s *Snapshot) ProveBlob(ctx context.Context, id ID, begin func() io.Writer) (int64, error) {
	kind, size, err := s.objects.Prove(ctx, id, begin)
	if err != nil {
		return 0, domainError(err)
	}
	return size, mustBeBlob(id, kind)
}

// Prover compares a file with its id in parts. One goroutine may use it at a time.
type Prover struct {
	repository *Repository
	prover     *objects.Prover
}

// OpenProver opens a file to compare it with its id in parts, so that [Snapshot.Blob] need not.
// Close it.
func (s *Snapshot) OpenProver(ctx context.Context, id ID) (prover *Prover, err error) {
	defer s.repository.contain(&err)
	opened, err := s.objects.OpenProver(ctx, id)
	if err != nil {
		return nil, domainError(err)
	}
	return &Prover{s.repository, opened}, nil
}

// Advance reads about most bytes more. whole reports that those were the last, and that the file
// matches its id.
func (p *Prover) Advance(most int64) (whole bool, err error) {
	defer p.repository.contain(&err)
	whole, err = p.prover.Advance(most)
	return whole, domainError(err)
}

// Close closes the file.
func (p *Prover) Close() error { return p.prover.Close() }

// PeekBlob returns at most the first most bytes of a file, and the length in its header. Neither is
// verified: they are for guesses, such as the type of a file.
func (s *Snapshot) PeekBlob(id ID, most int64) (head []byte, size int64, err error) {
	defer s.repository.contain(&err)
	object, err := s.objects.Open(id)
	if err != nil {
		return nil, 0, domainError(err)
	}
	defer func() { _ = object.Close() }() // it was only read
	if err := mustBeBlob(id, object.Type()); err != nil {
		return nil, 0, err
	}
	head = make([]byte, min(object.Size(), most))
	if _, err := io.ReadFull(object, head); err != nil {
		return nil, 0, domainError(err)
	}
	return head, object.Size(), nil
}

// Size is the length of the content in bytes.
func (b *Blob) Size() int64 { return b.object.Size() }

// Held is how many bytes of memory the open file holds until it is closed.
func (b *Blob) Held() int64 { return b.object.Held() }

// Read implements [io.Reader]. It reads exactly Size bytes and then returns io.EOF, or
// an error that matches [ErrCorrupt].
func (b *Blob) Read(p []byte) (n int, err error) {
	defer b.repository.contain(&err)
	n, err = b.object.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = domainError(err)
	}
	return n, err
}

// WriteTo implements [io.WriterTo]: it writes the content, and reads ahead meanwhile. Errors are
// those of Read, or the writer's.
func (b *Blob) WriteTo(w io.Writer) (int64, error) {
	n, err := b.object.WriteTo(w)
	if errors.Is(err, objects.ErrCorrupt) {
		err = domainError(err)
		b.repository.containPanic(err)
	}
	return n, err
}

// Close releases the stream.
func (b *Blob) Close() error { return b.object.Close() }

// ReadBlob appends the whole content of a file to buf and returns the extended buffer. The content
// is compared with its id. A file of more than limit bytes is [ErrTooLarge], found before any of it
// is read.
func (s *Snapshot) ReadBlob(id ID, limit int64, buf []byte) (content []byte, err error) {
	defer s.repository.contain(&err)
	kind, data, err := s.objects.ReadVerified(id, limit, buf)
	if err != nil {
		return buf, domainError(err)
	}
	if err := mustBeBlob(id, kind); err != nil {
		return buf, err
	}
	return data, nil
}

// Size is the length of a blob's content in bytes, read from headers only and not verified.
func (s *Snapshot) Size(blob ID) (size int64, err error) {
	defer s.repository.contain(&err)
	size, err = s.objects.Size(blob)
	return size, domainError(err)
}

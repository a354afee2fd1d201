package git

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// lfsBufferBytes is the size of the pieces in which an object is written.
const lfsBufferBytes = 128 << 10

var (
	errLFSContent = errors.New("its content does not hash to its oid")
	errLFSSize    = errors.New("its size changed while it was read")
)

// LFSObject is the content of a file that git-lfs keeps outside the object database, read as a
// stream of exactly Size bytes. It is compared with its oid while it is read: on a mismatch an
// error replaces the last bytes.
type LFSObject struct {
	oid  string
	file *os.File
	size int64
	left int64
	sum  hash.Hash
	done error // returned by Read at the end, after the check
}

// LFSObject opens an object of git-lfs by its oid, 64 lower-case hexadecimal digits. Objects are
// searched where git-lfs puts them, in lfs/objects/ab/cd of the repository's folder, and not in
// those of alternates. A missing object is [ErrNotFound]; a link that leads out of the root is
// [ErrLFS].
func (s *Snapshot) LFSObject(oid string) (*LFSObject, error) {
	if len(oid) != hex.EncodedLen(sha256.Size) || !isHex(oid) {
		return nil, fmt.Errorf("lfs object: %w", ErrNotFound)
	}
	name := s.repository.dir + "/lfs/objects/" + oid[:2] + "/" + oid[2:4] + "/" + oid
	file, info, err := files.Open(s.repository.store.root, name)
	if err = domainError(err); errors.Is(err, ErrCorrupt) {
		return nil, lfsDamage(oid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lfs object %s: %w", oid, err)
	}
	return &LFSObject{oid: oid, file: file, size: info.Size(), left: info.Size(), sum: sha256.New()}, nil
}

func lfsDamage(oid string, err error) error {
	return fmt.Errorf("lfs object %s: %w: %w", oid, ErrLFS, files.Pathless(err))
}

// Size is the length of the content in bytes.
func (o *LFSObject) Size() int64 { return o.size }

// Read implements [io.Reader]. It reads exactly Size bytes and then returns io.EOF, or
// an error that matches [ErrLFS].
func (o *LFSObject) Read(p []byte) (int, error) {
	if o.left == 0 {
		return 0, o.check()
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := o.file.Read(p[:min(int64(len(p)), o.left)])
	o.sum.Write(p[:n])
	if o.left -= int64(n); o.left == 0 {
		if err := o.check(); !errors.Is(err, io.EOF) {
			return 0, err
		}
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = errLFSSize
	}
	if err != nil {
		return n, lfsDamage(o.oid, err)
	}
	return n, nil
}

// check compares the whole once all of it was read: io.EOF if it is right.
func (o *LFSObject) check() error {
	if o.done != nil {
		return o.done
	}
	o.done = io.EOF
	var more [1]byte
	if n, err := o.file.Read(more[:]); n > 0 {
		o.done = lfsDamage(o.oid, errLFSSize)
	} else if !errors.Is(err, io.EOF) {
		o.done = lfsDamage(o.oid, err)
	}
	if hex.EncodeToString(o.sum.Sum(nil)) != o.oid {
		o.done = lfsDamage(o.oid, errLFSContent)
	}
	return o.done
}

// WriteTo implements [io.WriterTo]. Errors are those of Read, or the writer's.
func (o *LFSObject) WriteTo(w io.Writer) (int64, error) {
	buffer := make([]byte, min(o.left+1, lfsBufferBytes))
	// The wrappers hide other methods, which io.CopyBuffer would call.
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{o}, buffer)
}

// Close releases the stream.
func (o *LFSObject) Close() error { return o.file.Close() }

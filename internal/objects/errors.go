package objects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/repomcp/repomcp/internal/inflate"
)

var (
	// ErrNotFound says that there is no such object, or no such repository.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge says that an object is beyond a limit of the caller or of
	// [Options].
	ErrTooLarge = errors.New("object too large")
	// ErrUnsupported says that a repository is of a kind that this package
	// does not read. It is matched by every [*UnsupportedError].
	ErrUnsupported = errors.New("unsupported repository format")
	// ErrCorrupt is matched by every [*CorruptError].
	ErrCorrupt = errors.New("corrupt object database")
	// ErrBusy says that others hold what is needed at this moment:
	// descriptors or room for temporary files. Trying later may help.
	ErrBusy = errors.New("out of descriptors or temporary space")
	// ErrDenied says that the permissions of a file do not let this process
	// read it.
	ErrDenied = errors.New("permission denied")
	// ErrPartial says that an object is missing from a partial clone, which may
	// have left it at the server that it was cloned from. It matches ErrNotFound.
	ErrPartial = fmt.Errorf("%w in a partial clone", ErrNotFound)
	// ErrOutside says that an object is missing from a repository with an
	// alternate that is not below the root, and so not read. It matches
	// ErrNotFound.
	ErrOutside = fmt.Errorf("%w, and an alternate leads out of the root", ErrNotFound)
	// ErrClosed says that the store, snapshot or object was closed before.
	ErrClosed = errors.New("already closed")
)

// Causes of corruption. They travel inside a *CorruptError.
var (
	errBadEntry    = errors.New("malformed pack entry")
	errBadDelta    = errors.New("malformed delta")
	errDeltaCycle  = errors.New("delta chain leads back to itself")
	errWrongSize   = inflate.ErrSize
	errWrongID     = errors.New("content does not hash to the object id")
	errBadLoose    = errors.New("malformed loose object header")
	errBadIndex    = errors.New("malformed pack index")
	errBadMidx     = errors.New("malformed multi-pack-index")
	errBadPack     = errors.New("malformed pack file")
	errPackDiffers = errors.New("pack file does not match its index")
	errChecksum    = errors.New("checksum mismatch")
	errNoBase      = errors.New("base of a delta is missing")
	errTrailing    = errors.New("bytes after the end of a loose object")
	errNotRegular  = errors.New("not a regular file")
	errNoPack      = errors.New("pack file is missing")
)

// CorruptError is damage: bytes that cannot be read or are not what they claim
// to be. A truncated file wraps io.ErrUnexpectedEOF.
type CorruptError struct {
	Object ID     // the object that was asked for, zero where there was none
	Where  string // the damaged file, relative to the root
	Err    error  // the cause
}

func (e *CorruptError) Error() string {
	if e.Object.IsZero() {
		return fmt.Sprintf("corrupt %s: %v", e.Where, e.Err)
	}
	return fmt.Sprintf("object %v: corrupt %s: %v", e.Object, e.Where, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// Is makes every CorruptError match [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// UnsupportedError names what in a repository's configuration this package
// does not read. It matches [ErrUnsupported].
type UnsupportedError struct {
	Key   string // such as extensions.objectformat
	Value string // such as sha256
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%v: %s = %.40q", ErrUnsupported, e.Key, e.Value)
}

// Is makes every UnsupportedError match [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// corrupt wraps a cause in a *CorruptError, unless it is one of ours already.
// A bare end of file becomes an unexpected one, since a caller would take
// io.EOF for the orderly end of an object. Paths are removed: those of files
// opened through an os.Root are absolute.
func corrupt(where string, err error) error {
	if err == nil || known(err) {
		return err
	}
	err = withoutPath(err)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &CorruptError{Where: where, Err: err}
}

// about fills in the object of a *CorruptError that does not name one yet.
func about(id ID, err error) error {
	if err == nil {
		return nil // before damage is allocated: this is the path of every read
	}
	var damage *CorruptError
	if !errors.As(err, &damage) || !damage.Object.IsZero() {
		return err
	}
	return &CorruptError{Object: id, Where: damage.Where, Err: damage.Err}
}

// known says whether err is a verdict already, to be handed on as it is.
func known(err error) bool {
	for _, verdict := range []error{ErrCorrupt, ErrTooLarge, ErrBusy, ErrDenied, ErrClosed, ErrNotFound, errSpill} {
		if errors.Is(err, verdict) {
			return true
		}
	}
	return false
}

func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// isCorrupt says that bytes cannot be had from where they should be: another
// place may have a copy.
func isCorrupt(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrDenied) }

func isTruncated(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }

package object

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/repomcp/repomcp/internal/git/inflate"
)

var (
	// ErrNotFound says that there is no such object, or no such repository.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge says that an object is beyond a limit of the caller or of the
	// store.
	ErrTooLarge = errors.New("object too large")
	// ErrCorrupt is matched by every [*CorruptError].
	ErrCorrupt = errors.New("corrupt object database")
	// ErrBusy says that descriptors or room for temporary files are used up at this moment. Trying
	// later may help.
	ErrBusy = errors.New("out of descriptors or temporary space")
	// ErrDenied says that the permissions of a file do not let this process
	// read it.
	ErrDenied = errors.New("permission denied")
	// ErrClosed says that the store, snapshot or object was closed before.
	ErrClosed = errors.New("already closed")
)

// Causes of corruption. They travel inside a [*CorruptError].
var (
	ErrWrongSize = inflate.ErrSize
	ErrWrongID   = errors.New("content does not hash to the object id")
)

// CorruptError is damage: bytes that are unreadable or wrong. A truncated file wraps
// io.ErrUnexpectedEOF.
type CorruptError struct {
	Object ID     // the requested object, zero if there was none
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

// Corrupt wraps a cause in a [*CorruptError], unless it is a verdict already. A bare io.EOF becomes
// io.ErrUnexpectedEOF, since a caller would take io.EOF for the orderly end of an object. Paths are
// removed: those of files opened through an os.Root are absolute.
func Corrupt(where string, err error) error {
	if err == nil || IsVerdict(err) {
		return err
	}
	err = WithoutPath(err)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &CorruptError{Where: where, Err: err}
}

// About sets the object of a [*CorruptError] without one.
func About(id ID, err error) error {
	if err == nil {
		return nil // before anything is allocated: every read takes this path
	}
	var damage *CorruptError
	if !errors.As(err, &damage) || !damage.Object.IsZero() {
		return err
	}
	return &CorruptError{Object: id, Where: damage.Where, Err: damage.Err}
}

// IsVerdict reports whether err is to be returned unchanged.
func IsVerdict(err error) bool {
	verdicts := []error{ErrCorrupt, ErrTooLarge, ErrBusy, ErrDenied, ErrClosed, ErrNotFound}
	return slices.ContainsFunc(verdicts, func(verdict error) bool { return errors.Is(err, verdict) })
}

// WithoutPath removes the file name from an error.
func WithoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// IsDamage reports whether an object is unreadable at its place: another place may have a copy.
func IsDamage(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrDenied) }

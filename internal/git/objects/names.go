package objects

import "github.com/repomcp/repomcp/internal/git/objects/object"

type (
	// ID is [object.ID].
	ID = object.ID
	// Type is [object.Type].
	Type = object.Type
	// Object is [object.Object].
	Object = object.Object
	// Prover is [object.Prover].
	Prover = object.Prover
	// CorruptError is [object.CorruptError].
	CorruptError = object.CorruptError
)

// The length of an id, and the types of objects.
const (
	IDSize = object.IDSize
	Commit = object.Commit
	Tree   = object.Tree
	Blob   = object.Blob
	Tag    = object.Tag
)

// These are the errors of a database, see package object.
var (
	ErrNotFound = object.ErrNotFound
	ErrTooLarge = object.ErrTooLarge
	ErrCorrupt  = object.ErrCorrupt
	ErrBusy     = object.ErrBusy
	ErrDenied   = object.ErrDenied
	ErrClosed   = object.ErrClosed
)

// ParseID is [object.ParseID].
func ParseID(digits string) (ID, error) { return object.ParseID(digits) }

package archive

import (
	"github.com/repomcp/repomcp/internal/archive/delta"
	"github.com/repomcp/repomcp/internal/archive/tree"
)

// What the parts of a plan ask of a caller, and what they refuse.
type (
	// Source is where the objects of an archive come from.
	Source = tree.Source
	// Siblings opens the repositories that submodules name.
	Siblings = tree.Siblings
	// Sibling is a commit whose tree is put into an archive as a submodule.
	Sibling = tree.Sibling
	// Limits bound one archive. Zero means the default of each.
	Limits = tree.Limits
	// NoMatchError says that an option names nothing of the commit.
	NoMatchError = tree.NoMatchError
	// FullNeededError says that only the full archive can be had.
	FullNeededError = delta.FullNeededError
)

// ErrLimit says that an archive is larger than [Limits] allow.
var ErrLimit = tree.ErrLimit

// The bounds of one archive, where [Limits] do not say otherwise.
const (
	DefaultEntries   = tree.DefaultEntries
	DefaultBytes     = tree.DefaultBytes
	DefaultDepth     = tree.DefaultDepth
	DefaultPathBytes = tree.DefaultPathBytes
	DefaultBlobBytes = tree.DefaultBlobBytes
)

// The reasons of a [FullNeededError].
const (
	BaseUnknown       = delta.BaseUnknown
	AttributesChanged = delta.AttributesChanged
	DeltaLarger       = delta.DeltaLarger
	ReservedName      = delta.ReservedName
)

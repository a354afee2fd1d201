package archive

import (
	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/archive/delta"
	"github.com/repomcp/repomcp/internal/archive/tree"
)

// Types of package tree that callers of a plan need.
type (
	// Source provides the objects of an archive.
	Source = tree.Source
	// Siblings opens the repositories that submodules name.
	Siblings = tree.Siblings
	// Sibling is a commit whose tree is included as a submodule.
	Sibling = tree.Sibling
	// Limits bound one archive. Zero fields mean defaults.
	Limits = tree.Limits
	// NoMatchError means that an option matches nothing in the commit.
	NoMatchError = tree.NoMatchError
	// FullNeededError means that only the full archive is possible.
	FullNeededError = delta.FullNeededError
)

// SharedURL returns the URL of a remote without credentials; ok is false if it is of use on one
// machine only.
func SharedURL(remote string) (shared string, ok bool) { return checkout.SharedURL(remote) }

// ErrLimit means that an archive exceeds [Limits].
var ErrLimit = tree.ErrLimit

// Default limits of one archive.
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

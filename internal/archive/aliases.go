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

// CheckOrigin refuses what is no URL of a remote that any machine can use, and one with credentials.
func CheckOrigin(url string) error { return checkout.CheckURL(url) }

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

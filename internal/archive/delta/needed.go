package delta

import (
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// ReservedFolder holds what is added to archives. No tree may have it at the
// same place.
const ReservedFolder = ".repomcp"

// The reasons of a [FullNeededError].
const (
	// BaseUnknown: no such commit is served, or what the options name is not in
	// it, so that there is no such archive of it.
	BaseUnknown = "base unknown"
	// AttributesChanged: a .gitattributes is other in the base, so that any
	// file may be.
	AttributesChanged = "attributes changed"
	// DeltaLarger: it would have more bytes of tar than the full archive.
	DeltaLarger = "delta larger"
	// ReservedName: a tree has a .repomcp itself.
	ReservedName = "reserved name"
)

// FullNeededError says that only the full archive can be had. Nothing was
// written.
type FullNeededError struct{ Reason string }

func (e *FullNeededError) Error() string { return "a full archive is needed: " + e.Reason }

// reserved reports whether a folder has the name of ours, also on a system
// that takes upper case for lower.
func reserved(entries []git.TreeEntry) bool {
	return slices.ContainsFunc(entries,
		func(e git.TreeEntry) bool { return strings.EqualFold(e.Name, ReservedFolder) })
}

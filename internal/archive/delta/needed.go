package delta

import (
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// ReservedFolder contains additional members. No tree may have it at the same place.
const ReservedFolder = ".repomcp"

// The reasons of a [FullNeededError].
const (
	// BaseUnknown: the commit is not served, or does not contain the paths of the options, so its
	// archive does not exist.
	BaseUnknown = "base unknown"
	// AttributesChanged: a .gitattributes differs, so that any file may differ.
	AttributesChanged = "attributes changed"
	// DeltaLarger: the delta's tar would be larger than the full archive's.
	DeltaLarger = "delta larger"
	// ReservedName: a tree contains a .repomcp itself.
	ReservedName = "reserved name"
)

// FullNeededError means that only the full archive is possible. Nothing was written.
type FullNeededError struct{ Reason string }

func (e *FullNeededError) Error() string { return "a full archive is needed: " + e.Reason }

// reserved reports whether a folder has an entry with the reserved name, also in another case,
// which some systems do not distinguish.
func reserved(entries []git.TreeEntry) bool {
	return slices.ContainsFunc(entries,
		func(e git.TreeEntry) bool { return strings.EqualFold(e.Name, ReservedFolder) })
}

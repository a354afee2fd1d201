package objects

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/gitconfig"
)

var (
	// ErrUnsupported says that a repository is of a kind that this package
	// does not read.
	ErrUnsupported = errors.New("unsupported repository format")
	// ErrPartial says that an object is missing from a partial clone, which may
	// have left it at the server that it was cloned from. It matches ErrNotFound.
	ErrPartial = fmt.Errorf("%w in a partial clone", ErrNotFound)
	// ErrOutside says that an object is missing from a repository with an
	// alternate that is not below the root, and so not read. It matches
	// ErrNotFound.
	ErrOutside = fmt.Errorf("%w, and an alternate leads out of the root", ErrNotFound)
)

// NoIndexError says that an object is missing, and that it may be in a pack that has no
// index. It matches [ErrNotFound]: git writes the index last, so that this is no damage
// for a moment.
type NoIndexError struct {
	Pack string // relative to the root
}

func (e *NoIndexError) Error() string { return e.Pack + " has no index; git index-pack makes one" }

// Unwrap makes it one of what is not there.
func (e *NoIndexError) Unwrap() error { return ErrNotFound }

func unsupported(key, value string) error {
	return fmt.Errorf("%w: %s = %.40q", ErrUnsupported, key, value)
}

// configSize bounds a repository's configuration file.
const configSize = 1 << 20

// The extensions that do not change how objects are read: gitrepository-
// layout(5) and "extensions.*" in git-config(1). All others are refused, as
// git refuses what it does not know.
func harmless(extension, value string) bool {
	switch extension {
	case "noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees":
		return true
	case "objectformat":
		return value == "sha1"
	case "refstorage":
		return value == "files"
	}
	return false
}

// checkFormat refuses repositories that are not of the format that this
// package reads. Only core.repositoryformatversion and extensions.* are looked
// at, of each the last that is given.
func checkFormat(settings []gitconfig.Setting) error {
	version, extensions := "0", make(map[string]string)
	for _, s := range settings {
		if s.Name == "core.repositoryformatversion" {
			version = s.Value
		} else if name, ok := strings.CutPrefix(s.Name, "extensions."); ok {
			extensions[name] = s.Value
		}
	}
	if version != "0" && version != "1" {
		return unsupported("core.repositoryformatversion", version)
	}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		// Under version 0 git ignores the names that came after version 1,
		// but refuses to open a repository that uses one of its own: nobody
		// can mean SHA-1 by writing sha256, so both are refused here.
		known := name == "objectformat" || name == "refstorage" || name == "compatobjectformat"
		if value := extensions[name]; (version == "1" || known) && !harmless(name, strings.ToLower(value)) {
			return unsupported("extensions."+name, value)
		}
	}
	return nil
}

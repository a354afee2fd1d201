package objects

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/gitconfig"
)

var (
	// ErrUnsupported says that this package cannot read the format of a repository.
	ErrUnsupported = errors.New("unsupported repository format")
	// ErrPartial says that an object is missing from a partial clone, which may have left it at the
	// server that it was cloned from. It matches ErrNotFound.
	ErrPartial = fmt.Errorf("%w in a partial clone", ErrNotFound)
	// ErrOutside says that an object is missing from a repository with an alternate outside of the
	// root, which is not read. It matches ErrNotFound.
	ErrOutside = fmt.Errorf("%w, and an alternate leads out of the root", ErrNotFound)
)

// NoIndexError says that an object is missing, and that it may be in a pack without an index. It
// matches [ErrNotFound]: git writes the index last, so this is briefly normal.
type NoIndexError struct {
	Pack string // relative to the root
}

func (e *NoIndexError) Error() string { return e.Pack + " has no index; git index-pack makes one" }

// Unwrap makes the error match [ErrNotFound].
func (e *NoIndexError) Unwrap() error { return ErrNotFound }

func unsupported(key, value string) error {
	return fmt.Errorf("%w: %s = %.40q", ErrUnsupported, key, value)
}

// These name where refs are (git-config(1), extensions.refStorage).
const (
	refStorage = "refstorage"
	refTables  = "reftable"
)

// configSize bounds a repository's configuration file.
const configSize = 1 << 20

// harmless reports whether an extension does not change how objects are read:
// gitrepository-layout(5) and "extensions.*" in git-config(1). All others are refused, as git
// refuses unknown extensions.
func harmless(extension, value string) bool {
	switch extension {
	case "noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees",
		"submodulepathconfig":
		return true
	case "objectformat":
		return value == "sha1"
	case refStorage:
		return value == "files" || value == refTables
	}
	return false
}

// checkFormat refuses repositories in an unsupported format. It reads only
// core.repositoryformatversion and extensions.*, and the last value of each counts.
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
		// Under version 0 git ignores the names that were added after version 1, but refuses a
		// repository that uses one of its own. A repository that says sha256 cannot mean SHA-1, so
		// both are refused here.
		known := name == "objectformat" || name == refStorage || name == "compatobjectformat"
		value := strings.ToLower(extensions[name])
		if (version == "1" || known) && !harmless(name, value) || version == "0" && value == refTables {
			return unsupported("extensions."+name, extensions[name])
		}
	}
	return nil
}

package repos

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinels. Callers test with [errors.Is]; the texts may be shown to users,
// so they name no path of the host.
var (
	// ErrNotFound means that the repository, revision or path does not exist
	// or is not served: the two are never told apart.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that a name cannot exist by the rules of its kind.
	ErrInvalid = errors.New("invalid name")
	// ErrCorrupt means that the repository's data is damaged.
	ErrCorrupt = errors.New("repository data is damaged")
	// ErrUnsupported means that the repository uses a format that is not read.
	ErrUnsupported = errors.New("repository format is not supported")
	// ErrEmpty means that the repository has no commit to show.
	ErrEmpty = errors.New("repository has no commits")
)

// AmbiguousError says which commits an abbreviated object id could mean.
type AmbiguousError struct {
	Prefix     string
	Candidates []ID
}

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Candidates))
	for i, id := range e.Candidates {
		names[i] = id.String()
	}
	return fmt.Sprintf("abbreviated commit id %s is ambiguous: %s", e.Prefix, strings.Join(names, ", "))
}

// corrupt wraps a failed read of an object. It hides io.EOF: a caller that
// loops until io.EOF must never take damage for the end.
func corrupt(id ID, err error) error {
	return fmt.Errorf("object %s: %w: %w", id, ErrCorrupt, hideEOF(err))
}

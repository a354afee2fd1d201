package repos

import (
	"fmt"

	"github.com/repomcp/repomcp/internal/objects"
)

// ID is the id of a git object: the SHA-1 of its type, size and content.
type ID = objects.ID

// ParseID reads the 40 lower-case hexadecimal digits that [ID.String] writes.
func ParseID(s string) (ID, error) {
	if !isFullID(s) {
		return ID{}, fmt.Errorf("object id %q: %w", s, ErrInvalid)
	}
	return objects.ParseID(s)
}

const fullIDLength = 2 * objects.IDSize

func isFullID(s string) bool { return len(s) == fullIDLength && isHex(s) }

func isAbbreviation(s string) bool {
	return len(s) >= objects.MinPrefix && len(s) < fullIDLength && isHex(s)
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

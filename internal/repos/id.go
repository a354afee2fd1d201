package repos

import (
	"encoding/hex"
	"fmt"
)

// ID is the id of a git object: the SHA-1 of its type, size and content.
type ID [20]byte

// ParseID reads the 40 lower-case hexadecimal digits that [ID.String] writes.
func ParseID(s string) (ID, error) {
	var id ID
	if !isFullID(s) {
		return id, fmt.Errorf("object id %q: %w", s, ErrInvalid)
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err
}

// String is the id in 40 lower-case hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the id is all zeros, which no object has.
func (id ID) IsZero() bool { return id == ID{} }

const (
	fullIDLength = 2 * len(ID{})
	// minAbbreviation is git's own lower bound for abbreviated ids.
	minAbbreviation = 4
)

func isFullID(s string) bool { return len(s) == fullIDLength && isHex(s) }

func isAbbreviation(s string) bool {
	return len(s) >= minAbbreviation && len(s) < fullIDLength && isHex(s)
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

package git

import (
	"fmt"
	"math/bits"

	"github.com/repomcp/repomcp/internal/git/objects"
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
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// shortestAuto is git's automatic length for small repositories, in digits.
const shortestAuto = 7

// Abbreviate returns the first digits of an id: at least digits of them, and as many more as
// distinguish it from all other objects. A negative number means git's automatic length, which
// grows with the number of packed objects; 0 means all digits. The result is that of git rev-parse
// --short with the default of core.abbrev (git-config(1)).
//
// If there is a multi-pack-index, a git 2.39 command that has opened its packs before counts their
// objects twice, and may print one digit more.
func (s *Snapshot) Abbreviate(id ID, digits int) (string, error) {
	whole := id.String()
	if digits < 0 {
		count, err := s.objects.PackedCount()
		if err != nil {
			return "", domainError(err)
		}
		digits = autoLength(count)
	}
	if digits == 0 {
		return whole, nil
	}
	for digits = max(digits, objects.MinPrefix); digits < len(whole); digits++ {
		ids, err := s.objects.Prefix(whole[:digits], 2)
		if err != nil {
			return "", domainError(err)
		}
		if len(ids) == 0 || len(ids) == 1 && ids[0] == id {
			return whole[:digits], nil
		}
	}
	return whole, nil
}

// autoLength is the number of digits at which the birthday paradox makes a collision among count
// objects likely.
func autoLength(count uint64) int {
	highest := max(bits.Len64(count), 1) - 1
	return max((highest+2)/2, shortestAuto)
}

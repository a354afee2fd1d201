package repos

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameBytes bounds a repository's name: PATH_MAX of Linux, so that every folder that can exist
// below the root fits.
const maxNameBytes = 4096

// IsName reports whether a relative path can be the name of a repository. The rule admits names
// that are safe in a URI, a shell and a log line; it does not protect the file system, since names
// are only looked up in the catalogue and never joined to a path.
func IsName(name string) bool {
	if name == "" || len(name) > maxNameBytes || !utf8.ValidString(name) {
		return false
	}
	for segment := range strings.SplitSeq(name, "/") {
		if !validSegment(segment) {
			return false
		}
	}
	return true
}

// nameMarks are the characters other than letters and digits that a name may have. Control,
// bidirectional and format characters are no letters.
const nameMarks = "._-+~@=,!"

func validSegment(segment string) bool {
	if segment == "" || segment[0] == '.' || segment[0] == '-' {
		return false
	}
	for _, r := range segment {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(nameMarks, r) {
			return false
		}
	}
	return true
}

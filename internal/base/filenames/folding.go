package filenames

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// IsFolding reports whether a file system takes names that differ in case for one, by a name that exists and that lstat
// examines in the other case. A fault counts as if it did: then callers look at the names, which costs only time.
func IsFolding(existing string, lstat func(name string) (fs.FileInfo, error)) bool {
	other := strings.ToLower(existing)
	if other == existing {
		other = strings.ToUpper(existing)
	}
	_, err := lstat(other)
	return !errors.Is(err, fs.ErrNotExist)
}

// AreFolded reports whether such a file system takes two names for one: they differ in case at most, or in how their
// letters are composed, which macOS ignores as well.
func AreFolded(a, b string) bool { return strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b)) }

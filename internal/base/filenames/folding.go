package filenames

import (
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folding says which different names a file system takes for one.
type Folding struct {
	Letters bool // that differ in case
	Forms   bool // that differ in Unicode normalization: on macOS, and on ZFS where it is set
}

// IsFoldingLetters reports whether a file system takes names that differ in case for one, by a name that exists and
// that lstat examines in the other case. A fault counts as if it did: then callers look at the names, which costs only
// time.
func IsFoldingLetters(existing string, lstat func(name string) (fs.FileInfo, error)) bool {
	other := strings.ToLower(existing)
	if other == existing {
		other = strings.ToUpper(existing)
	}
	_, err := lstat(other)
	return !errors.Is(err, fs.ErrNotExist)
}

// Key is the same for names that the file system takes for one.
func (f Folding) Key(name string) string {
	if IsASCII(name) {
		if f.Letters {
			return strings.ToLower(name)
		}
		return name
	}
	if !utf8.ValidString(name) {
		return name // folding would make all invalid bytes equal
	}
	if f.Forms {
		name = norm.NFC.String(Visible(name))
	}
	if f.Letters {
		name = norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
	}
	return name
}

// Spelling returns the name of a list that the file system takes for a name, which may be that itself; "" if there is
// none. Where several can be it, it is the one that is most alike.
func (f Folding) Spelling(name string, listed []string) string {
	key, found, closest := f.Key(name), "", -1
	for _, other := range listed {
		if f.Key(other) != key {
			continue
		}
		likeness := 0
		switch {
		case other == name:
			likeness = 2
		case norm.NFC.String(other) == norm.NFC.String(name):
			likeness = 1
		}
		if likeness > closest {
			found, closest = other, likeness
		}
	}
	return found
}

// IsASCII reports whether a name has one form only.
func IsASCII(name string) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

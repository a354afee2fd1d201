package unpack

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/repomcp/repomcp/internal/base/filenames"
)

// sameness says which different names a file system treats as equal.
type sameness struct {
	letters bool // that differ in case
	forms   bool // that differ in Unicode normalization
}

const probeName = "probe-\u00e9"

// probe tests the file system with a file in a folder of the root. Folders inside usually behave
// alike.
func probe(reserved *os.Root) (s sameness, err error) {
	if err := reserved.WriteFile(probeName, nil, 0o600); err != nil {
		return s, err
	}
	if s.letters, err = exists(reserved, "PROBE-\u00e9"); err == nil {
		s.forms, err = exists(reserved, "probe-e\u0301")
	}
	return s, errors.Join(err, reserved.Remove(probeName))
}

func exists(root *os.Root, name string) (bool, error) {
	_, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// key is the same for names that the file system treats as equal.
func (s sameness) key(name string) string {
	if isASCII(name) {
		if s.letters {
			return strings.ToLower(name)
		}
		return name
	}
	if !utf8.ValidString(name) {
		return name // folding would make all invalid bytes equal
	}
	if s.forms {
		name = norm.NFC.String(filenames.Visible(name))
	}
	if s.letters {
		name = norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
	}
	return name
}

func isASCII(name string) bool {
	for i := range len(name) {
		if name[i] >= 0x80 {
			return false
		}
	}
	return true
}

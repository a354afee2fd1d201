package filenames_test

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/base/filenames"
)

// A fault of the disk, or too many open files, must not have a hidden name found by another one.
func TestAFaultCountsAsFolding(t *testing.T) {
	for err, want := range map[error]bool{nil: true, fs.ErrNotExist: false, syscall.EMFILE: true, syscall.EIO: true} {
		for existing, other := range map[string]string{"HEAD": "head", ".repomcp": ".REPOMCP"} {
			asked := ""
			is := filenames.IsFoldingLetters(existing, func(name string) (fs.FileInfo, error) {
				asked = name
				return nil, err
			})
			if is != want || asked != other {
				t.Errorf("%s, %v: %v, by %q", existing, err, is, asked)
			}
		}
	}
}

var (
	letters = filenames.Folding{Letters: true}
	forms   = filenames.Folding{Forms: true}
	both    = filenames.Folding{Letters: true, Forms: true}
)

func TestKeysOfNamesThatAreOne(t *testing.T) {
	for _, c := range []struct {
		same filenames.Folding
		a, b string
		one  bool
	}{
		{filenames.Folding{}, "a", "A", false},
		{letters, "a", "A", true},
		{letters, "README.md", "readme.MD", true},
		{letters, "\u00c9", "\u00e9", true},
		{letters, "stra\u00dfe", "STRASSE", true},
		{letters, "\u212a", "k", true},
		{forms, "\u00e9", "e\u0301", true},
		{forms, "a", "A", false},
		{forms, "\u00e9", "E\u0301", false},
		{forms, "a\u200cb", "ab", true},
		{both, "\u00c9", "e\u0301", true},
		{both, "a", "b", false},
		{both, "\xff", "\xfe", false},
	} {
		if one := c.same.Key(c.a) == c.same.Key(c.b); one != c.one {
			t.Errorf("%+v: %q and %q are one: %t", c.same, c.a, c.b, one)
		}
	}
}

func TestSpelling(t *testing.T) {
	for _, c := range []struct {
		folding filenames.Folding
		name    string
		listed  []string
		want    string
	}{
		{letters, "README", []string{"Makefile", "Readme", "b"}, "Readme"},
		{forms, "README", []string{"Makefile", "Readme", "b"}, ""},
		{both, "README", []string{"README", "Readme"}, "README"},
		{letters, "\u00c9", []string{"\u00e9"}, "\u00e9"},
		{forms, "\u00c9", []string{"\u00e9"}, ""},
		{forms, "\u00c9", []string{"\u00e9", "E\u0301"}, "E\u0301"},
		{both, "\u00c9", []string{"e\u0301", "E\u0301", "e\u0301"}, "E\u0301"},
		{both, "\u00c9", []string{"\u00c9", "E\u0301"}, "\u00c9"},
		{both, "a", []string{"b", "a.", "\u00e4"}, ""},
		{both, "\xff", []string{"\xfe", "\ufffd"}, ""},
		{filenames.Folding{}, "\u00c9", []string{"E\u0301", "\u00e9"}, ""},
	} {
		if got := c.folding.Spelling(c.name, c.listed); got != c.want {
			t.Errorf("%+v: %q in %q: %q", c.folding, c.name, c.listed, got)
		}
	}
}

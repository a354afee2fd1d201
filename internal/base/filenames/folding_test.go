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
			is := filenames.IsFolding(existing, func(name string) (fs.FileInfo, error) {
				asked = name
				return nil, err
			})
			if is != want || asked != other {
				t.Errorf("%s, %v: %v, by %q", existing, err, is, asked)
			}
		}
	}
}

func TestFoldedNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"README", "Readme", true}, {"\u00c9", "\u00e9", true}, {"\u00c9", "e\u0301", true}, {"a", "b", false}, {"a", "a.", false},
	} {
		if filenames.AreFolded(c.a, c.b) != c.want {
			t.Errorf("%q and %q", c.a, c.b)
		}
	}
}

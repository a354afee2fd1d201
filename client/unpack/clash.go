package unpack

import (
	"errors"
	"io/fs"
	"os"

	"github.com/repomcp/repomcp/internal/base/filenames"
)

const probeName = "probe-" + composed

// probe tests the file system with a file in a folder of the root. Folders inside usually behave
// alike.
func probe(reserved *os.Root) (f filenames.Folding, err error) {
	if err := reserved.WriteFile(probeName, nil, 0o600); err != nil {
		return f, err
	}
	if f.Letters, err = exists(reserved, "PROBE-"+composed); err == nil {
		f.Forms, err = exists(reserved, "probe-"+decomposed)
	}
	return f, errors.Join(err, reserved.Remove(probeName))
}

func exists(root *os.Root, name string) (bool, error) {
	_, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

package unpack

import (
	"errors"
	"os"
)

// Abilities are what a file system keeps of a file besides its content.
type Abilities struct {
	Modes bool // the bit that makes a file executable: core.fileMode of git-config(1)
	Links bool // symbolic links: core.symlinks. On Windows a user needs a right for them
}

// AbilitiesOf finds out what the file system of a folder can do, with a file in the folder, which it removes.
func AbilitiesOf(folder string) (a Abilities, err error) {
	file, err := os.CreateTemp(folder, temporaryPrefix)
	if err != nil {
		return a, err
	}
	name := file.Name()
	plain, err := file.Stat()
	err = errors.Join(err, file.Close(), os.Chmod(name, 0o700)) //nolint:gosec // executable by its owner alone
	if err == nil {
		executable, failed := os.Lstat(name)
		err = failed
		a.Modes = err == nil && plain.Mode()&0o100 == 0 && executable.Mode()&0o100 != 0
	}
	if err = errors.Join(err, os.Remove(name)); err == nil && os.Symlink("target", name) == nil {
		a.Links, err = true, os.Remove(name)
	}
	return a, err
}

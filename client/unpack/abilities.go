package unpack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Abilities are what a file system keeps of a file besides its content.
type Abilities struct {
	Modes bool // the bit that makes a file executable: core.fileMode of git-config(1)
	Links bool // symbolic links of an [os.Root]: core.symlinks. On Windows a user needs a right for them
	Forms bool // names apart that differ in Unicode normalization: not on macOS, nor on ZFS where it is set so
}

// probePrefix begins the name of the file of [AbilitiesOf].
const probePrefix = temporaryPrefix + "able-"

// A letter that can be written as one code point or as two.
const composed, decomposed = "\u00e9", "e\u0301"

// AbilitiesOf finds out what the file system of a folder can do, with a file in the folder, which it removes. A fault
// of the disk is an error.
func AbilitiesOf(folder string) (a Abilities, err error) {
	file, err := os.CreateTemp(folder, probePrefix+composed)
	if err != nil {
		return a, err
	}
	name := file.Name()
	plain, err := file.Stat()
	if err = errors.Join(err, file.Close()); err == nil {
		a.Modes, err = keepsModes(name, plain)
	}
	if err == nil {
		a.Forms, err = keepsForms(name)
	}
	if err = errors.Join(err, os.Remove(name)); err == nil {
		a.Links, err = keepsLinks(name)
	}
	return a, err
}

// RemoveProbes removes from a folder what killed runs of [AbilitiesOf] have left.
func RemoveProbes(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), probePrefix) {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name()))) //nolint:gosec // a name of ours
		}
	}
	return err
}

func keepsModes(name string, plain fs.FileInfo) (bool, error) {
	if err := os.Chmod(name, 0o700); err != nil { //nolint:gosec // executable by its owner alone
		return false, unlessUnable(err)
	}
	executable, err := os.Lstat(name)
	return err == nil && plain.Mode()&0o100 == 0 && executable.Mode()&0o100 != 0, err
}

// keepsForms reports whether a file is not found by its name in another normalization.
func keepsForms(name string) (bool, error) {
	other := strings.Replace(filepath.Base(name), composed, decomposed, 1)
	_, err := os.Lstat(filepath.Join(filepath.Dir(name), other))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// keepsLinks makes a link as the members of an archive are made. Windows in developer mode lets [os.Symlink] make
// one, and not that.
func keepsLinks(name string) (bool, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return false, err
	}
	link := filepath.Base(name)
	if err = root.Symlink("target", link); err != nil {
		return false, errors.Join(unlessUnable(err), root.Close())
	}
	return true, errors.Join(root.Remove(link), root.Close())
}

// unlessUnable returns nil for an error that says what the file system cannot do, or what the user has no right for:
// symlink(2) has EPERM for the former, and Windows has other errors for the latter.
func unlessUnable(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || runtime.GOOS == "windows" {
		return nil
	}
	return err
}

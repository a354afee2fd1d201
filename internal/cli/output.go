package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mattn/go-isatty"
)

// WriteOutput has write fill the file of that name; "-" is the standard output.
func WriteOutput(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		if IsTerminal(stdout) {
			return &UsageError{errors.New("an archive is not shown on a terminal; name a file with -o, or pipe it on")}
		}
		if file, ok := stdout.(*os.File); ok {
			widen(file)
		}
		return write(stdout)
	}
	if !IsReplaced(name) {
		return writeInto(name, write)
	}
	return writeWhole(name, write)
}

// IsReplaced reports whether [WriteOutput] makes a file that gets its name only when it is
// whole. A device or a pipe is written to: renaming would put a file in its place.
func IsReplaced(name string) bool {
	info, err := os.Stat(name)
	return name != "-" && (err != nil || info.Mode().IsRegular())
}

func writeInto(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// writeWhole makes a file that gets its name only when everything is written. Of
// a symbolic link the target is replaced, not the link.
func writeWhole(name string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// IsTerminal reports whether somebody reads along.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

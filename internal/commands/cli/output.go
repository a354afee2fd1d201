package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mattn/go-isatty"
)

// WriteOutput calls write with the named file; "-" is standard output.
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

// IsReplaced reports whether [WriteOutput] creates a file that gets its name only when it is
// complete. It writes directly to devices and pipes: renaming would replace them by a file.
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

// writeWhole creates a file that gets its name only when it is complete. It replaces the target of
// a symbolic link, not the link.
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

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

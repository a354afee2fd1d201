package tokens

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
)

// Errors of [Add] and [Remove].
var (
	// ErrTaken means that a token has this name.
	ErrTaken = errors.New("there is a token of this name; revoke it first, or take another name")
	// ErrUnknown means that no token has this name.
	ErrUnknown = errors.New("there is no token of this name")
	// ErrLocked means that another process writes the file.
	ErrLocked = errors.New("another command changes the file")
)

// emptied replaces the content of a file when its only entry is removed: an empty file would be
// refused, and the last token would stay valid.
const emptied = "# no tokens\n"

// privateMode is the mode of a new file: hashes are no secrets, but people's names may be.
const privateMode = 0o600

// List returns the entries of a file.
func List(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseWhole(text)
}

// parseWhole refuses what a server refuses, including a file that may be unfinished.
func parseWhole(text []byte) ([]Entry, error) {
	list, err := parse(text)
	if err != nil {
		return nil, err
	}
	return list, operatorfile.CheckEnd(text)
}

// Add appends an entry to a file, which it creates if necessary.
func Add(path string, e Entry) error {
	return edit(path, true, func(text string) (string, error) {
		var list []Entry
		if text != "" { // unless the file is new
			var err error
			if list, err = parseWhole([]byte(text)); err != nil {
				return "", err
			}
		}
		for _, other := range list {
			if other.Name == e.Name {
				return "", ErrTaken
			}
		}
		return text + e.line() + "\n", nil
	})
}

// Remove removes the entry of a name from a file; comments and other lines stay.
func Remove(path, name string) error {
	return edit(path, false, func(text string) (string, error) {
		if _, err := parseWhole([]byte(text)); err != nil {
			return "", err
		}
		var rest strings.Builder
		found := false
		for line := range strings.Lines(text) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == name {
				found = true
				continue
			}
			rest.WriteString(line)
		}
		if !found {
			return "", ErrUnknown
		}
		if operatorfile.CheckEnd([]byte(rest.String())) != nil {
			return emptied, nil
		}
		return rest.String(), nil
	})
}

// edit replaces a file atomically: a concurrent reader sees the old or the new one. It replaces the
// target of a symbolic link. The new file keeps the mode and, if permitted, the owner of the old
// one, so that a server can still read it.
func edit(path string, create bool, change func(text string) (string, error)) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	next := path + ".new"
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateMode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: if none does, delete %s", ErrLocked, next)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(next) // the first error matters
		}
	}()
	err = rewrite(file, path, create, change)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}

func rewrite(file *os.File, path string, create bool, change func(text string) (string, error)) error {
	text, err := os.ReadFile(path)
	if err != nil && (!create || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	changed, err := change(string(text))
	if err != nil {
		return err
	}
	if len(changed) > maxFileBytes {
		return fmt.Errorf("the file would have more than %d bytes, which no server reads", maxFileBytes)
	}
	if err := likeOld(file, path); err != nil {
		return err
	}
	if _, err := file.WriteString(changed); err != nil {
		return err
	}
	return file.Sync()
}

// likeOld gives a file the mode and owner of the file that it replaces.
func likeOld(file *os.File, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	keepOwner(file, info)
	return file.Chmod(info.Mode().Perm())
}

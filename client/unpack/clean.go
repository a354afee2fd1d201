package unpack

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/base/filenames"
)

// markerName is in the reserved folder while incomplete files may exist anywhere.
const markerName = "unpacking"

type marker struct {
	reserved *os.Root
	left     atomic.Bool // an incomplete file could not be removed
}

// mark begins a run: it makes the reserved folder and the mark in it, and finds out which names the
// file system treats as equal.
func (u *Unpacker) mark() (*marker, filenames.Folding, error) {
	same := filenames.Folding{Letters: true, Forms: true}
	if err := u.root.Mkdir(reservedFolder, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, same, err
	}
	reserved, _, err := pin(u.root, reservedFolder, reservedFolder)
	if err != nil {
		return nil, same, err
	}
	m := &marker{reserved: reserved}
	err = reserved.WriteFile(markerName, nil, 0o600)
	if err == nil && !u.options.RefuseClashes {
		same, err = probe(reserved)
	}
	if err != nil {
		return nil, same, errors.Join(err, m.remove(u.root))
	}
	return m, same, nil
}

// temporaryName returns a unique name.
func (u *Unpacker) temporaryName() string {
	return temporaryPrefix + u.run + "-" + strconv.FormatInt(u.named.Add(1), 10)
}

func (m *marker) discard(root *os.Root, temporary string) error {
	err := removeIfThere(root, temporary)
	if err != nil {
		m.left.Store(true)
	}
	return err
}

// remove ends the run. The reserved folder stays if it contains other files.
func (m *marker) remove(root *os.Root) error {
	var err error
	if !m.left.Load() {
		err = m.reserved.Remove(markerName)
	}
	_ = m.reserved.Close() // it was only read
	_ = root.Remove(reservedFolder)
	return err
}

// Clean removes the incomplete files of a killed run. It looks up one file if there was none, and
// otherwise reads every folder of the root. Tar begins with it.
//
// In a folder that is kept in step, a user's files may have such names after a kill. A caller with
// [Options].Ready calls [Unpacker.Settle] before; without Ready nothing is removed there.
func (u *Unpacker) Clean(ctx context.Context) error {
	reserved, _, err := pin(u.root, reservedFolder, reservedFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = reserved.Close() }() // it was only read
	marked, err := exists(reserved, markerName)
	if err != nil || !marked {
		return err
	}
	if err := RemoveProbes(filepath.Join(u.root.Name(), reservedFolder)); err != nil {
		return err
	}
	if others, err := hasOthers(reserved); err != nil || others && u.options.Ready == nil {
		return err
	}
	if err := cleanFolder(ctx, u.root, ""); err != nil {
		return err
	}
	return errors.Join(removeIfThere(reserved, probeName), reserved.Remove(markerName))
}

// hasOthers reports whether the reserved folder has files other than those of Tar.
func hasOthers(reserved *os.Root) (bool, error) {
	entries, err := fs.ReadDir(reserved.FS(), ".")
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != markerName && e.Name() != probeName
	}), err
}

// cleanFolder follows no links. It ignores unreadable folders, which were not written either.
func cleanFolder(ctx context.Context, root *os.Root, path string) error {
	dir, err := root.Open(".")
	if err != nil {
		return readable(err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	for {
		entries, err := dir.ReadDir(1024)
		for _, entry := range entries {
			if err := cleanEntry(ctx, root, entry, path+entry.Name()); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return readable(err)
		}
	}
}

func cleanEntry(ctx context.Context, root *os.Root, entry fs.DirEntry, path string) error {
	switch {
	case !entry.IsDir() && strings.HasPrefix(entry.Name(), temporaryPrefix):
		return removeIfThere(root, entry.Name())
	case !entry.IsDir() || checkPath("", entry.Name()) != "" || ctx.Err() != nil:
		return nil // such as .git: nothing is written there
	}
	inner, _, err := pin(root, entry.Name(), path)
	if err != nil {
		return readable(err)
	}
	defer func() { _ = inner.Close() }() // it was only read
	return cleanFolder(ctx, inner, path+"/")
}

func readable(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func removeIfThere(root *os.Root, name string) error {
	if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

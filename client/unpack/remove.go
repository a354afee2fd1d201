package unpack

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Remove removes files and links by their paths, with the same checks as for
// members, and then folders that became empty and that owns reports as the caller's,
// so that others stay; nil owns none. A path that names a folder is left to owns as
// well. What is already gone is no error. All paths are checked before the first is
// removed.
func (u *Unpacker) Remove(paths []string, owns func(folder string) bool) error {
	for _, at := range paths {
		if reason := checkPath(u.goos, strings.TrimSuffix(at, "/")); reason != "" {
			return refuse(reason, at)
		}
	}
	candidates := make(map[string]bool)
	s := newFolders(u.root, nil, nil)
	defer func() { s.close() }()
	for _, at := range paths {
		at = strings.TrimSuffix(at, "/")
		isFolder, err := s.removeFile(at)
		if err != nil {
			return err
		}
		if isFolder {
			candidates[at] = true
		}
		for dir := path.Dir(at); dir != "." && !candidates[dir]; dir = path.Dir(dir) {
			candidates[dir] = true
		}
	}
	// Windows keeps a folder while it is open.
	s.close()
	s = newFolders(u.root, nil, nil)
	return s.removeFolders(candidates, owns)
}

// locate returns the open folder of a path, or nil where there is none.
func (s *folders) locate(at string) (*os.Root, fs.FileInfo, error) {
	dir, name := path.Split(at)
	f, err := s.enter(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return nil, nil, err
	}
	root, err := s.open(f)
	if err != nil {
		return nil, nil, absent(err)
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, nil, absent(err)
	}
	return root, info, nil
}

// absent forgives that there is nothing at a path, or a file above it.
func absent(err error) error {
	refused, ok := errors.AsType[*RefusedError](err)
	if errors.Is(err, fs.ErrNotExist) || ok && refused.Reason == InTheWay {
		return nil
	}
	return err
}

func (s *folders) removeFile(at string) (isFolder bool, err error) {
	root, info, err := s.locate(at)
	if root == nil || info.IsDir() {
		return root != nil, err
	}
	return false, absent(root.Remove(path.Base(at)))
}

// removeFolders begins with those that are inside of others.
func (s *folders) removeFolders(candidates map[string]bool, owns func(string) bool) error {
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(candidates))) {
		if owns == nil || !owns(dir) {
			continue
		}
		root, info, err := s.locate(dir)
		if err != nil {
			return err
		}
		if root != nil && info.IsDir() {
			_ = root.Remove(path.Base(dir)) // unless something is in it
		}
	}
	return nil
}

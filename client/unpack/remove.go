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

// Removal removes what exists at a path, usually a file or a link.
type Removal struct {
	Path string // that of a folder may end in a slash
	// Yields decides about the present file; nil removes any file or link.
	Yields Yields
}

// Remove removes files and links by their paths, with the same checks as for members, and then
// empty folders that owns reports as the caller's; nil owns none. A path of a folder is also left
// to owns. A missing file is no error. All paths are checked before the first is removed. stays
// lists what had to stay.
func (u *Unpacker) Remove(removals []Removal, owns func(folder string) bool) (stays []Stay, err error) {
	for _, r := range removals {
		if reason := checkPath(u.goos, strings.TrimSuffix(r.Path, "/")); reason != "" {
			return nil, refuse(reason, r.Path)
		}
	}
	candidates := make(map[string]bool)
	s := u.newFolders(nil, nil)
	defer func() { s.close() }()
	for _, r := range removals {
		at := strings.TrimSuffix(r.Path, "/")
		isFolder, stay, err := u.removeFile(s, at, r.Yields)
		if err != nil {
			return stays, atPath(at, err)
		}
		if stay != nil {
			stay.Written.Path = at
			stays = append(stays, *stay)
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
	s = u.newFolders(nil, nil)
	return stays, s.removeFolders(candidates, owns)
}

// locate returns the open folder of a path, or nil if it does not exist.
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

// absent ignores the errors of a missing path, and of a file above it.
func absent(err error) error {
	refused, ok := errors.AsType[*RefusedError](err)
	if errors.Is(err, fs.ErrNotExist) || ok && refused.Reason == InTheWay {
		return nil
	}
	return err
}

func (u *Unpacker) removeFile(s *folders, at string, yields Yields) (isFolder bool, stay *Stay, err error) {
	root, info, err := s.locate(at)
	if root == nil || info.IsDir() {
		return root != nil, nil, err
	}
	if yields == nil {
		return false, nil, absent(root.Remove(path.Base(at)))
	}
	f := s.top()
	if err := s.share(f); err != nil {
		return false, nil, err
	}
	aside := u.temporaryName()
	if err := u.ready(Written{Path: at, Kind: Nothing, Aside: f.child(aside)}); err != nil {
		return false, nil, err
	}
	stay, err = (&spot{f, path.Base(at), aside, yields}).remove()
	return false, stay, err
}

// removeFolders begins with the innermost ones.
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
			_ = root.Remove(path.Base(dir)) // fails if it is not empty
		}
	}
	return nil
}

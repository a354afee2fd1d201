package objects

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Alternates, gitrepository-layout(5), "objects/info/alternates": one objects
// directory per line, absolute or relative to the objects directory that holds
// the file; lines with # are comments, lines in double quotes are C-quoted.

const (
	// alternatesDepth is how deep git follows alternates of alternates.
	alternatesDepth = 5
	// alternatesSize bounds the file, which has a line or two.
	alternatesSize = 1 << 20
)

// alternates is the parsed file of one directory.
type alternates struct {
	info  fs.FileInfo // nil if there is no file
	paths []string    // relative to the root, without those outside
	// outside says that some alternates are outside of the root.
	outside bool
}

// searchPath is an objects directory and its alternates, in git's search order. An alternate that does not exist, is
// outside of the root or cannot be read is not among them: its objects are then not found.
type searchPath struct {
	directories []*directory
	outside     bool    // an alternate is outside of the root
	faults      []error // of alternates that cannot be read
}

func (s *Store) searchPath(objects string) (found searchPath, err error) {
	var add func(name string, depth int) error
	add = func(name string, depth int) error {
		d := s.directory(name)
		if slices.Contains(found.directories, d) {
			return nil
		}
		found.directories = append(found.directories, d)
		if depth > alternatesDepth {
			return nil
		}
		links, err := d.alternates()
		if err != nil {
			return err
		}
		found.outside = found.outside || links.outside
		for _, name := range links.paths {
			isDirectory, err := found.admits(s.root, name)
			if err == nil && isDirectory {
				err = add(name, depth+1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	err = add(objects, 0)
	return found, err
}

// admits reports whether an alternate is a folder. It notes why it cannot be read.
func (p *searchPath) admits(root *os.Root, name string) (bool, error) {
	info, err := root.Stat(name)
	if err == nil {
		return info.IsDir(), nil
	}
	if files.RefusesLink(err) { // as a symbolic link can
		p.outside = true
		return false, nil
	}
	err = files.OpenError(name, err)
	if errors.Is(err, ErrBusy) {
		return false, err
	}
	if !errors.Is(err, ErrNotFound) {
		p.faults = append(p.faults, err)
	}
	return false, nil
}

// alternates returns the alternates of the directory. It reads the file only after a change.
func (d *directory) alternates() (alternates, error) {
	name := path.Join(d.path, "info", "alternates")
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := d.store.root.Stat(name)
	if err != nil {
		if err = files.OpenError(name, err); !errors.Is(err, ErrNotFound) {
			return alternates{}, err
		}
		d.links = alternates{}
		return d.links, nil
	}
	if d.links.info != nil && files.Same(info, d.links.info) {
		return d.links, nil
	}
	text, err := files.Read(d.store.root, name, alternatesSize)
	if err != nil {
		return alternates{}, err
	}
	d.links = d.store.parseAlternates(text, d.path)
	d.links.info = info
	return d.links, nil
}

// parseAlternates returns the paths of a file.
func (s *Store) parseAlternates(text []byte, objects string) (links alternates) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' {
			if plain, err := strconv.Unquote(line); err == nil {
				line = plain
			}
		}
		name, ok := s.below(line, objects)
		links.outside = links.outside || !ok
		if ok && !slices.Contains(links.paths, name) {
			links.paths = append(links.paths, name)
		}
	}
	return links
}

// below returns the path relative to the root of a path that is absolute or relative to base. It
// only looks at names; os.Root refuses symbolic links out of the root.
func (s *Store) below(name, base string) (string, bool) {
	if !filepath.IsAbs(name) {
		name = path.Join(base, filepath.ToSlash(name))
		return name, filepath.IsLocal(filepath.FromSlash(name))
	}
	for _, root := range s.names {
		if inside, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(inside) {
			return filepath.ToSlash(inside), true
		}
	}
	return "", false
}

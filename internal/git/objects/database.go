package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/git/gitconfig"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Database is one repository's objects, its alternates included.
type Database struct {
	store    *Store
	objects  string
	config   fs.FileInfo // nil if there is none
	settings []gitconfig.Setting
	readers  atomic.Int64 // open snapshots
}

// Open returns the repository in dir, a slash-separated path below the root: the directory that
// contains "objects". It fails with [ErrNotFound] if there is none and [ErrUnsupported] if this
// package cannot read it. For a known, unchanged repository it takes microseconds, so it may be
// called for every request.
func (s *Store) Open(dir string) (*Database, error) {
	dir = path.Clean(dir)
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return nil, fmt.Errorf("repository: %w", ErrNotFound)
	}
	objects := path.Join(dir, "objects")
	info, err := s.root.Stat(objects)
	if err == nil && !info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		s.forget(dir)
		return nil, fmt.Errorf("repository %s: %w", dir, files.OpenError(objects, err))
	}
	config, err := s.root.Stat(path.Join(dir, "config"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("repository %s: %w", dir, files.OpenError(path.Join(dir, "config"), err))
	}
	s.mu.Lock()
	db := s.databases[dir]
	s.mu.Unlock()
	if db != nil && files.Same(db.config, config) {
		return db, nil
	}
	db = &Database{store: s, objects: objects, config: config}
	if db.settings, err = s.readSettings(dir, config); err != nil {
		s.forget(dir)
		return nil, fmt.Errorf("repository %s: %w", dir, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases[dir] = db
	return db, nil
}

func (s *Store) forget(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.databases, dir)
}

// readSettings reads the configuration of a repository in a supported format. A repository without
// a configuration has version 0, as in git. A malformed configuration is refused, as by git: its
// rules about hidden refs would be ignored.
func (s *Store) readSettings(dir string, config fs.FileInfo) ([]gitconfig.Setting, error) {
	if config == nil {
		return nil, nil
	}
	text, err := files.Read(s.root, path.Join(dir, "config"), configSize)
	if err != nil {
		return nil, err
	}
	settings, err := gitconfig.Parse(string(text))
	if err != nil {
		return nil, unsupported("config", err.Error())
	}
	return settings, checkFormat(settings)
}

// Configured returns the values of keys such as core.bare, in lower case, in the order of the
// repository's configuration file. Included files are not read.
func (db *Database) Configured(names ...string) []string {
	var values []string
	for _, s := range db.settings {
		if slices.Contains(names, s.Name) {
			values = append(values, s.Value)
		}
	}
	return values
}

// HasRefTables reports whether the refs are in tables, and not in files: gitformat-reftable.
func (db *Database) HasRefTables() bool {
	storage := db.Configured("extensions." + refStorage)
	return len(storage) > 0 && strings.EqualFold(storage[len(storage)-1], refTables)
}

// partial reports whether the repository is a partial clone: objects may be missing by design
// (git-clone(1), --filter).
func (db *Database) partial() bool {
	return slices.ContainsFunc(db.settings, func(s gitconfig.Setting) bool {
		return s.Name == "extensions.partialclone" ||
			strings.HasPrefix(s.Name, "remote.") && strings.HasSuffix(s.Name, ".promisor") && s.Value == "true"
	})
}

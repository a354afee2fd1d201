package repos

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	// streamAbove is the size from which go-git hands out a blob as a stream
	// instead of holding it. A megabyte keeps the memory of one reader small
	// and the common small file fast.
	streamAbove = 1 << 20
	// deltaBaseCache bounds the delta bases that one store keeps.
	deltaBaseCache = 8 << 20
	// maxAlternates is git's own bound for nested alternates
	// (odb.c, link_alt_odb_entry).
	maxAlternates = 5

	alternatesPath = "objects/info/alternates"
)

// objectStore is the seam through which every object is read: an object
// database as it was when the store was made. A store that meets a change
// made by others (a pack that is gone) is made anew once by its snapshot.
// It is not safe for concurrent use.
type objectStore struct {
	parts []*storePart // the repository's own objects first, then its alternates'
}

type storePart struct {
	fs      *readOnlyFS
	storage *filesystem.Storage
}

// openStore pins the packs of the repository in dir, a path below root, and
// of its alternates.
func openStore(root *os.Root, dir string) (*objectStore, error) {
	s := &objectStore{}
	if err := s.add(root, dir, 0, make(map[string]bool)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *objectStore) add(root *os.Root, dir string, depth int, seen map[string]bool) error {
	if seen[dir] || depth > maxAlternates {
		return nil
	}
	seen[dir] = true
	part := &storePart{fs: newReadOnlyFS(root, dir)}
	if err := part.fs.pin(); err != nil {
		return errors.Join(err, part.fs.close())
	}
	s.parts = append(s.parts, part)
	part.storage = filesystem.NewStorageWithOptions(part.fs, cache.NewObjectLRU(deltaBaseCache), filesystem.Options{
		KeepDescriptors: true, LargeObjectThreshold: streamAbove,
	})
	for _, alternate := range alternates(root, dir) {
		// An alternate that cannot be opened counts as absent, as for git.
		_ = s.add(root, alternate, depth+1, seen)
	}
	return nil
}

// alternates lists the folders, below root, of the object databases that the
// one in dir borrows from. Those outside the root are left out: what is
// missing then shows as damage, never as a way out. The file's format is
// described in gitrepository-layout(5).
func alternates(root *os.Root, dir string) []string {
	content, err := root.ReadFile(path.Join(dir, alternatesPath))
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		objects := path.Join(dir, "objects", line)
		if path.IsAbs(line) {
			below, ok := strings.CutPrefix(path.Clean(line), strings.TrimSuffix(root.Name(), "/")+"/")
			if !ok {
				continue
			}
			objects = below
		}
		if path.Base(objects) == "objects" {
			dirs = append(dirs, path.Dir(objects))
		}
	}
	return dirs
}

func (s *objectStore) close() error {
	var errs []error
	for _, part := range s.parts {
		errs = append(errs, part.storage.Close(), part.fs.close())
	}
	s.parts = nil
	return errors.Join(errs...)
}

// stale reports whether others changed the packs since the store was opened.
func (s *objectStore) stale() bool {
	for _, part := range s.parts {
		if part.fs.changed() {
			return true
		}
	}
	return false
}

// object finds an object. The error matches ErrNotFound when no part has it,
// and is damage otherwise.
func (s *objectStore) object(id ID) (plumbing.EncodedObject, error) {
	var damage error
	for _, part := range s.parts {
		object, err := part.storage.EncodedObject(plumbing.AnyObject, plumbing.Hash(id))
		if err == nil {
			return object, nil
		}
		if !errors.Is(err, plumbing.ErrObjectNotFound) && damage == nil {
			damage = err
		}
	}
	if damage != nil {
		return nil, corrupt(id, damage)
	}
	return nil, fmt.Errorf("object %s: %w", id, ErrNotFound)
}

// withPrefix lists the ids that an abbreviation could mean.
func (s *objectStore) withPrefix(prefix string) ([]ID, error) {
	raw, err := hex.DecodeString(prefix[:len(prefix)&^1])
	if err != nil {
		return nil, err
	}
	var ids []ID
	for _, part := range s.parts {
		hashes, err := part.storage.HashesWithPrefix(raw)
		if err != nil {
			return nil, fmt.Errorf("looking up an abbreviated id: %w: %w", ErrCorrupt, hideEOF(err))
		}
		for _, hash := range hashes {
			if strings.HasPrefix(hash.String(), prefix) {
				ids = append(ids, ID(hash))
			}
		}
	}
	return ids, nil
}

// staleable reports whether an error may come from a change that others made
// after the store was opened, so that a fresh store is worth one more try.
func staleable(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, dotgit.ErrPackfileNotFound) || errors.Is(err, fs.ErrNotExist)
}

// hideEOF turns io.EOF, the clean end, into io.ErrUnexpectedEOF. go-git
// returns a bare io.EOF for truncated indexes and packs.
func hideEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// supported reads the format of a repository from its config: git's rule
// (setup.c) is that unknown extensions must be refused.
func supported(root *os.Root, dir string) error {
	content, err := root.ReadFile(path.Join(dir, "config"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return checkFormat(content)
}

// knownExtensions are the extensions that change nothing for a reader of
// objects and refs.
var knownExtensions = map[string]bool{
	"noop": true, "noop-v1": true, "partialclone": true, "preciousobjects": true,
	"worktreeconfig": true, "relativeworktrees": true,
}

func checkFormat(config []byte) error {
	section := ""
	for scanner := bufio.NewScanner(bytes.NewReader(config)); scanner.Scan(); {
		line := strings.TrimSpace(scanner.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.ToLower(strings.TrimSpace(value))
		if err := checkFormatLine(section, key, value); err != nil {
			return err
		}
	}
	return nil
}

func checkFormatLine(section, key, value string) error {
	switch {
	case section == "core" && key == "repositoryformatversion" && value != "0" && value != "1":
		return fmt.Errorf("%w: format version %q", ErrUnsupported, value)
	case section != "extensions" || key == "" || key[0] == '#' || key[0] == ';' || knownExtensions[key]:
		return nil
	case key == "objectformat" && value == "sha1", key == "refstorage" && value == "files":
		return nil
	case key == "objectformat" || key == "refstorage":
		return fmt.Errorf("%w: %s %q", ErrUnsupported, key, value)
	default:
		return fmt.Errorf("%w: extension %q", ErrUnsupported, key)
	}
}

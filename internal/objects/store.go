package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/gitconfig"
	"github.com/repomcp/repomcp/internal/inflate"
)

// Store is the folder of repositories: what all of them share. There is one
// for a process.
type Store struct {
	options     Options
	root        *os.Root
	beneath     *beneath
	names       []string // under which the root is known, absolute
	descriptors descriptors
	bases       *objectCache
	shared      *objectCache // of whole objects that several readers want at the same time
	proofs      *proofs
	checks      *indexChecks
	spilled     room
	lastPack    atomic.Uint64
	spills      atomic.Uint64 // how many temporary files there have been

	mu          sync.Mutex
	databases   map[string]*Database
	directories map[string]*directory

	scratch   sync.Pool // of *scratch
	inflaters sync.Pool // of *inflate.Reader
	buffers   sync.Pool // of *[]byte
	pieces    sync.Pool // of *[]byte, larger
}

// New opens the folder root. Nothing outside of it will be read.
func New(root string, options Options) (*Store, error) {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("root of the repositories: %w", err)
	}
	s := &Store{
		options:     options.withDefaults(),
		root:        opened,
		beneath:     newBeneath(opened),
		databases:   make(map[string]*Database),
		directories: make(map[string]*directory),
	}
	// Alternates may name the root as it was given or by its real path.
	if name, err := filepath.Abs(root); err == nil {
		s.names = append(s.names, name)
		if target, err := filepath.EvalSymlinks(name); err == nil && target != name {
			s.names = append(s.names, target)
		}
	}
	s.bases = newCache(s.options.BaseCacheBytes)
	s.shared = newCache(s.options.SharedBytes)
	s.proofs = newProofs(s.options.ProofBytes)
	s.checks = newIndexChecks(s)
	s.spilled.limit = s.options.MaxSpillBytes
	s.descriptors.limit = s.options.MaxDescriptors
	s.descriptors.index = &room{limit: s.options.IndexBytes}
	return s, nil
}

// Close releases everything that no snapshot or object pins, and the rest when
// those are closed.
func (s *Store) Close() error {
	s.checks.close()
	s.descriptors.close()
	return withoutPath(errors.Join(s.beneath.close(), s.root.Close()))
}

// CloseIdle closes the packs that nobody has used for the given time, and
// forgets their indexes. Calling it now and then gives back the disk space of
// packs that were deleted, which an open descriptor holds.
func (s *Store) CloseIdle(unused time.Duration) {
	s.descriptors.closeIdle(time.Now().Add(-unused))
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, d := range s.directories {
		if d.forgettable() {
			delete(s.directories, name)
		}
	}
	for name, db := range s.databases {
		if _, used := s.directories[db.objects]; !used {
			delete(s.databases, name)
		}
	}
}

// forgettable says whether nothing is lost when the directory is read anew.
// One that is being read just now is not.
func (d *directory) forgettable() bool {
	if !d.mu.TryLock() {
		return false
	}
	defer d.mu.Unlock()
	return d.set == nil || d.store.descriptors.isClosed(d.set)
}

// Open returns the repository in dir, a slash-separated path below the root: the
// directory that holds "objects". It returns [ErrNotFound] when there is none
// and [*UnsupportedError] when it cannot be read by this package. For a
// repository that is known and unchanged it takes microseconds, so it is meant
// to be called for every request.
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
		return nil, fmt.Errorf("repository %s: %w", dir, openError(objects, err))
	}
	config, err := s.root.Stat(path.Join(dir, "config"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("repository %s: %w", dir, openError(path.Join(dir, "config"), err))
	}
	s.mu.Lock()
	db := s.databases[dir]
	s.mu.Unlock()
	if db != nil && db.sameConfig(config) {
		return db, nil
	}
	return s.load(dir, objects, config)
}

// load reads the configuration of a repository. One without any is of version
// 0, as for git.
func (s *Store) load(dir, objects string, config fs.FileInfo) (*Database, error) {
	var settings []gitconfig.Setting
	if config != nil {
		text, err := s.readFile(path.Join(dir, "config"), configSize)
		if err == nil {
			settings, err = readSettings(string(text))
		}
		if err != nil {
			s.forget(dir)
			return nil, fmt.Errorf("repository %s: %w", dir, err)
		}
	}
	db := &Database{store: s, objects: objects, config: config, settings: settings}
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

// directory returns the objects directory of that name: the same one for all
// repositories that share it.
func (s *Store) directory(name string) *directory {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.directories[name]
	if d == nil {
		d = &directory{store: s, path: name}
		s.directories[name] = d
	}
	return d
}

func (s *Store) takeInflater() *inflate.Reader {
	if f, ok := s.inflaters.Get().(*inflate.Reader); ok {
		return f
	}
	return new(inflate.Reader)
}

func (s *Store) giveInflater(f *inflate.Reader) {
	f.Release()
	s.inflaters.Put(f)
}

// takeBuffer returns a buffer for one step of a stream or for a small object.
func (s *Store) takeBuffer() *[]byte {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, streamBuffer)
	return &b
}

func (s *Store) giveBuffer(b *[]byte) { s.buffers.Put(b) }

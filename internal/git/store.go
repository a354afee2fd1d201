package git

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/filenames"
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// StoreOptions bound the caches of a [Store]. The zero value is ready to use.
type StoreOptions struct {
	// GraphBytes bounds the cache of parents of commits; 0 means [DefaultGraphBytes].
	GraphBytes int64
	// CommitGraphBytes bounds the memory of commit-graph files and of the commits that refs lead
	// to; 0 means [DefaultCommitGraphBytes]. Larger files are not used.
	CommitGraphBytes int64
	// PackIndexBytes bounds the memory of the indexes of packs; 0 means [DefaultPackIndexBytes]. What is not in
	// memory is read from the files.
	PackIndexBytes int64
}

// DefaultPackIndexBytes holds the indexes of about nine million objects.
const DefaultPackIndexBytes = 256 << 20

// Store has the repositories below one root folder: the descriptors that they share, and the caches
// of their histories. Any number of goroutines may use it.
type Store struct {
	root        *os.Root
	objects     *objects.Store
	parents     *knownParents
	shapes      *shapes
	layerChecks *layerChecks
	lookUps     *lookUps
}

// NewStore opens a root folder. No file outside the root is read, whatever symbolic links and
// alternates contain.
func NewStore(root string, options StoreOptions) (*Store, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, files.Pathless(err) // the caller knows the path
	}
	database, err := objects.New(absolute, cmp.Or(options.PackIndexBytes, DefaultPackIndexBytes))
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Store{
		root: dir, objects: database, parents: newKnownParents(options.GraphBytes),
		shapes: newShapes(options.CommitGraphBytes), layerChecks: newLayerChecks(),
		lookUps: lru.New[lookUpKey, lookUp](lookUpBytes),
	}, nil
}

// Close releases the root. Open snapshots stay usable.
func (s *Store) Close() error {
	s.layerChecks.close()
	return errors.Join(s.objects.Close(), s.root.Close())
}

// Root returns the root folder, which ends with the store.
func (s *Store) Root() *os.Root { return s.root }

// CloseIdle closes packs that were unused for a time: an open descriptor keeps the disk space of a
// deleted pack.
func (s *Store) CloseIdle(unused time.Duration) { s.objects.CloseIdle(unused) }

// Usage counts the open resources.
func (s *Store) Usage() objects.Usage { return s.objects.Usage() }

// Repository returns the repository in a folder below the root, which has HEAD, objects and refs.
// It reads nothing yet.
func (s *Store) Repository(dir string, options Options) *Repository {
	if options.Observer == nil {
		options.Observer = unobserved{}
	}
	folds := sync.OnceValue(func() bool {
		return filenames.IsFoldingLetters("HEAD", func(name string) (fs.FileInfo, error) {
			return s.root.Lstat(path.Join(dir, name))
		})
	})
	return &Repository{store: s, dir: dir, options: options, folds: folds}
}

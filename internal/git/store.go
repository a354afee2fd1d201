package git

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// StoreOptions bound what a [Store] remembers. The zero value is ready to use.
type StoreOptions struct {
	// GraphBytes bounds what is remembered of which commit comes after which; 0
	// means [DefaultGraphBytes].
	GraphBytes int64
	// CommitGraphBytes bounds what is kept of commit-graph files, and of which
	// commits refs lead to; 0 means [DefaultCommitGraphBytes]. Files that are larger
	// are not used.
	CommitGraphBytes int64
}

// Store has the repositories below one root folder: the descriptors that they share, and what is
// remembered of their histories. Any number of goroutines may use it.
type Store struct {
	root        *os.Root
	objects     *objects.Store
	parents     *knownParents
	shapes      *shapes
	layerChecks *layerChecks
}

// NewStore opens a root folder. No file outside the root is read, whatever symbolic links and
// alternates say.
func NewStore(root string, options StoreOptions) (*Store, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, files.Pathless(err) // the caller knows what it gave
	}
	database, err := objects.New(absolute)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Store{
		root: dir, objects: database, parents: newKnownParents(options.GraphBytes),
		shapes: newShapes(options.CommitGraphBytes), layerChecks: newLayerChecks(),
	}, nil
}

// Close releases the root. Snapshots that are open stay usable.
func (s *Store) Close() error {
	s.layerChecks.close()
	return errors.Join(s.objects.Close(), s.root.Close())
}

// Root returns the root folder, which ends with the store.
func (s *Store) Root() *os.Root { return s.root }

// CloseIdle closes packs that were not used for so long: an open descriptor keeps the disk space of
// a deleted pack.
func (s *Store) CloseIdle(unused time.Duration) { s.objects.CloseIdle(unused) }

// Usage counts what is open now.
func (s *Store) Usage() objects.Usage { return s.objects.Usage() }

// Repository returns the repository in a folder below the root, which has HEAD, objects and refs.
// Nothing is read before it is asked for.
func (s *Store) Repository(dir string, options Options) *Repository {
	if options.Observer == nil {
		options.Observer = unobserved{}
	}
	return &Repository{store: s, dir: dir, options: options}
}

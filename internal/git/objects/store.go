package objects

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects/loose"
	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// Store is the folder of repositories, with everything that they share. A process has one.
type Store struct {
	root        *os.Root
	names       []string // under which the root is known, absolute
	descriptors descriptors
	packs       *pack.Reader
	loose       *loose.Reader
	// shared caches small objects that were compared with their ids, but only while a repository
	// has several snapshots: concurrent archives of the same or neighbouring commits read the same
	// files side by side. A single reader would fill it in vain.
	shared *pack.Cache
	proofs *object.Proofs

	snapshots atomic.Int64 // open ones

	mu          sync.Mutex
	databases   map[string]*Database
	directories map[string]*directory
}

// New opens the folder root. Nothing outside of it will be read. indexBytes bounds the memory of the indexes of packs.
func New(root string, indexBytes int64) (*Store, error) { return open(root, defaultLimits(indexBytes)) }

func open(root string, l limits) (*Store, error) {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("root of the repositories: %w", err)
	}
	buffers := new(object.Buffers)
	s := &Store{
		root:        opened,
		descriptors: descriptors{limit: l.descriptors, indexes: l.packs.Indexes},
		packs:       pack.NewReader(opened, buffers, l.packs),
		loose:       loose.NewReader(opened, buffers),
		shared:      pack.NewCache(l.sharedBytes),
		proofs:      object.NewProofs(l.proofBytes),
		databases:   make(map[string]*Database),
		directories: make(map[string]*directory),
	}
	// Alternates may name the root by the given path or by its real path.
	if name, err := filepath.Abs(root); err == nil {
		s.names = append(s.names, name)
		if target, err := filepath.EvalSymlinks(name); err == nil && target != name {
			s.names = append(s.names, target)
		}
	}
	return s, nil
}

// Close releases everything that no snapshot or object pins, and the rest when those are closed.
func (s *Store) Close() error {
	s.packs.Close()
	s.descriptors.close()
	return object.WithoutPath(errors.Join(s.loose.Close(), s.root.Close()))
}

// Usage counts open resources.
type Usage struct {
	Snapshots   int64
	Descriptors int64 // of packs, multi-pack-indexes and their indexes, in use or idle
	Spilled     int64 // bytes of objects in temporary files
}

// Usage counts the open resources.
func (s *Store) Usage() Usage {
	return Usage{
		Snapshots: s.snapshots.Load(), Descriptors: s.descriptors.count(), Spilled: s.packs.Spilled(),
	}
}

// CloseIdle closes the packs that were unused for the given time, and forgets their indexes.
// Calling it regularly releases the disk space of deleted packs, which an open descriptor keeps.
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

// directory returns the objects directory with a name: the same one for all repositories that share
// it.
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

package history

import (
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/commitgraph"
)

// trail caches the entries of a path in the commits of a repository. It is safe for concurrent use.
type trail struct {
	ancestry *ancestry
	filter   commitgraph.Path // for questions to a commit-graph

	mu sync.Mutex
	growing
	places  []uint32 // indexes of found plus one, by the number of the commit
	found   []entry
	folders map[folderKey]entry // entries of the remaining path
}

// folderKey is a folder on the path. The root is not cached, because nearly every commit has
// another one.
type folderKey struct {
	depth int
	tree  git.ID
}

const (
	// placesAtOnce is the unit of allocation.
	placesAtOnce = 1024
	placeCost    = 5  // including free ones
	foundCost    = 30 // including free ones
	folderCost   = 90 // including its slot in a map, up to half of which are free
)

// recall returns the path's entry in a commit.
func (t *trail) recall(n uint32) (e entry, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(n) >= len(t.places) || t.places[n] == 0 {
		return entry{}, false
	}
	return t.found[t.places[n]-1], true
}

// remember caches the path's entry in a commit. Most commits have the same entry as the one before.
func (t *trail) remember(n uint32, e entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := len(t.places); int(n) >= known {
		t.places = extended(t.places, n+placesAtOnce)
		t.grow(t, placeCost*int64(len(t.places)-known))
	}
	if last := len(t.found) - 1; last < 0 || t.found[last] != e {
		t.found = append(t.found, e)
		t.grow(t, foundCost)
	}
	t.places[n] = uint32(len(t.found))
}

func (t *trail) recallFolder(key folderKey) (entry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, known := t.folders[key]
	return e, known
}

func (t *trail) rememberFolder(key folderKey, e entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.folders[key]; !known {
		t.folders[key] = e
		t.grow(t, folderCost)
	}
}

func (s *source) trail(path string) *trail {
	t := s.trails[path]
	if t == nil {
		t = s.cache.trail(s.ancestry, path)
		s.trails[path] = t
	}
	return t
}

// lookup finds the entry of a path in a commit; the zero entry if there is none.
func (s *source) lookup(l links, path string) (entry, error) {
	if path == "" {
		return l.folder(), nil
	}
	t := s.trail(path)
	n := s.factNumber(l.number)
	e, known := t.recall(n)
	if known {
		return e, nil
	}
	e, err := s.descend(t, folderKey{0, l.tree}, path)
	if err == nil {
		t.remember(n, e)
	}
	return e, err
}

// descend finds the entry of the remaining path in a folder.
func (s *source) descend(t *trail, at folderKey, rest string) (e entry, err error) {
	if at.depth > 0 {
		if e, known := t.recallFolder(at); known {
			return e, nil
		}
		defer func() {
			if err == nil {
				t.rememberFolder(at, e)
			}
		}()
	}
	folder, err := s.tree(at.tree, s.trees[:0])
	if err != nil {
		return entry{}, err
	}
	s.trees = folder.Content
	name, rest, deeper := strings.Cut(rest, "/")
	found, err := folder.Find(name)
	switch {
	case err != nil || !deeper:
		return entryOf(found), err
	case found.Mode.IsDir():
		return s.descend(t, folderKey{at.depth + 1, found.ID}, rest)
	default:
		return entry{}, nil
	}
}

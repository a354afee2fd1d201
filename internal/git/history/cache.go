package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/commitgraph"
	"github.com/repomcp/repomcp/internal/git/mailmap"
)

// DefaultCacheBytes holds the data of about 400,000 commits for walks, with fifteen paths in each.
const DefaultCacheBytes = 64 << 20

// Cache remembers what walks have read: the dates, trees and parents of commits, the entries of paths in
// their trees, and which commits match an author or a message. These never change, so entries do not
// expire. Use one [NewCache] for all repositories; it is safe for concurrent use. The least recently
// used entries are evicted; walks that use an evicted entry keep it.
type Cache struct {
	known *lru.Cache[cacheKey, any] // an *ancestry; for a path a *trail, for a question *matches
}

// cacheKey includes the repository: a repository sees only its own data.
type cacheKey struct{ repository, path string }

// cacheCost is the cost of an ancestry or a trail of one folder, without its key.
const cacheCost = 1200

// NewCache returns an empty cache of so many bytes; 0 means [DefaultCacheBytes].
func NewCache(bytes int64) *Cache {
	return &Cache{lru.New[cacheKey, any](cmp.Or(bytes, DefaultCacheBytes))}
}

// ancestry returns the ancestry of a repository.
func (f *Cache) ancestry(repository string) *ancestry {
	a := &ancestry{
		growing: f.growing(cacheKey{repository: repository}), parents: []uint32{0}, seed: maphash.MakeSeed(),
	}
	return f.known.GetOrPut(a.key, a, a.bytes).(*ancestry)
}

// trail returns the trail of a path in the commits of an ancestry.
func (f *Cache) trail(a *ancestry, path string) *trail {
	t := &trail{
		growing: f.growing(cacheKey{a.key.repository, path}), ancestry: a,
		filter: commitgraph.NewPath(path), folders: make(map[folderKey]entry),
	}
	if known := f.known.GetOrPut(t.key, t, t.bytes).(*trail); known.ancestry == a {
		return known
	}
	f.known.Put(t.key, t, t.bytes) // the other trail's numbers belong to an evicted ancestry
	return t
}

// growing is an entry whose cost grows.
type growing struct {
	cache *Cache
	key   cacheKey
	bytes int64
}

func (f *Cache) growing(key cacheKey) growing {
	return growing{f, key, cacheCost + int64(len(key.repository)+len(key.path))}
}

// grow adds to the cost of an entry, which embeds g.
func (g *growing) grow(value any, bytes int64) {
	g.bytes += bytes
	g.cache.known.Put(g.key, value, g.bytes)
}

// source reads a repository for one walk. It is used by one goroutine. Commits are numbered: those
// of the commit-graph by their positions there, others by the numbers of the ancestry, which
// follow.
type source struct {
	*git.Snapshot
	ctx      context.Context
	cache    *Cache
	ancestry *ancestry
	shallow  map[git.ID]bool
	people   *mailmap.Map // nil leaves names unchanged
	claims   claims
	trails   map[string]*trail // by requested path

	compared       map[[2]git.ID]bool // folders without a difference for git
	openBytes      int                // of folders being compared
	commits, trees []byte             // scratch
}

func newSource(ctx context.Context, snapshot *git.Snapshot, cache *Cache) (*source, error) {
	shallow, err := snapshot.Shallow()
	if err != nil {
		return nil, err
	}
	if cache == nil {
		cache = NewCache(0)
	}
	return &source{
		Snapshot: snapshot, ctx: ctx, cache: cache, ancestry: cache.ancestry(snapshot.Folder()),
		shallow: shallow, trails: make(map[string]*trail), compared: make(map[[2]git.ID]bool),
	}, nil
}

// number returns the number of a commit, which need not exist.
func (s *source) number(id git.ID) uint32 {
	if at, ok := s.claims.find(id); ok {
		return at
	}
	return s.claims.count() + s.ancestry.number(id)
}

// id returns the commit of a number.
func (s *source) id(n uint32) git.ID {
	if s.claims.has(n) {
		return s.claims.graph.ID(n)
	}
	return s.ancestry.id(n - s.claims.count())
}

// factNumber returns the number that the ancestry has for a commit.
func (s *source) factNumber(n uint32) uint32 {
	if s.claims.has(n) {
		return s.ancestry.number(s.claims.graph.ID(n))
	}
	return n - s.claims.count()
}

// links returns the data of a commit, from the graph if possible. If the commit was read, raw
// contains it until the next call.
func (s *source) links(n uint32) (l links, raw []byte, err error) {
	if err := s.ctx.Err(); err != nil {
		return links{}, nil, err
	}
	if s.claims.has(n) {
		return s.claims.links(n), nil, nil
	}
	l, raw, err = s.stored(n - s.claims.count())
	l.number = n
	if s.claims.graph != nil {
		parents := l.parents
		l.parents = make([]uint32, len(parents))
		for i, parent := range parents {
			l.parents[i] = s.number(s.ancestry.id(parent))
		}
	}
	return l, raw, err
}

// stored returns the data from the commit itself. All numbers are those of the ancestry.
func (s *source) stored(n uint32) (l links, raw []byte, err error) {
	l, known := s.ancestry.recall(n)
	if !known {
		id := s.ancestry.id(n)
		if s.commits, err = s.ScanCommit(id, s.commits[:0]); err != nil {
			return links{}, nil, fmt.Errorf("reading history: %w", err)
		}
		raw = s.commits
		read, err := git.ParseCommitLinks(id, raw)
		if err != nil {
			return links{}, nil, err
		}
		l = s.ancestry.remember(n, read)
	}
	if len(s.shallow) > 0 && s.shallow[s.ancestry.id(n)] {
		l.parents = nil // a fetch may change them
	}
	return l, raw, nil
}

// commit reads a complete commit.
func (s *source) commit(id git.ID) (Commit, error) {
	raw, err := s.RawCommit(id)
	if errors.Is(err, git.ErrNotFound) {
		return Commit{}, damaged(id, "is missing")
	}
	if err != nil {
		return Commit{}, err
	}
	l, err := git.ParseCommitLinks(id, raw)
	if err != nil {
		return Commit{}, err
	}
	if s.shallow[id] {
		l.Parents = nil
	}
	if err := s.claims.agrees(id, l); err != nil {
		return Commit{}, err
	}
	c := parseCommit(id, raw, l)
	for _, p := range []*Person{&c.Author, &c.Committer} {
		p.Name, p.Email = s.people.Lookup(p.Name, p.Email)
	}
	return c, nil
}

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

// DefaultFactsBytes keeps what walks need of about 400,000 commits, and where fifteen
// paths lead to in each of them.
const DefaultFactsBytes = 64 << 20

// Facts remembers what walks have read: the dates, trees and parents of
// commits, and where paths lead to in their trees. None of it ever changes, so
// nothing in it grows old. Make one with [NewFacts] for all repositories; it
// may be used by any number of goroutines. What was not used for long goes out; walks
// that use it keep it.
type Facts struct {
	known *lru.Cache[factKey, any] // an *ancestry, or a *trail where there is a path
}

// factKey has the repository too: it only sees what was read from itself.
type factKey struct{ repository, path string }

// factCost is what an ancestry or a trail of one folder takes, apart from its key.
const factCost = 1200

// NewFacts makes an empty memory of so many bytes; 0 means [DefaultFactsBytes].
func NewFacts(bytes int64) *Facts {
	return &Facts{lru.New[factKey, any](cmp.Or(bytes, DefaultFactsBytes))}
}

// ancestry returns that of a repository.
func (f *Facts) ancestry(repository string) *ancestry {
	a := &ancestry{
		growing: f.growing(factKey{repository: repository}), parents: []uint32{0}, seed: maphash.MakeSeed(),
	}
	return f.known.GetOrPut(a.key, a, a.bytes).(*ancestry)
}

// trail returns that of a path in the commits of an ancestry.
func (f *Facts) trail(a *ancestry, path string) *trail {
	t := &trail{
		growing: f.growing(factKey{a.key.repository, path}), ancestry: a,
		filter: commitgraph.NewPath(path), folders: make(map[folderKey]entry),
	}
	if known := f.known.GetOrPut(t.key, t, t.bytes).(*trail); known.ancestry == a {
		return known
	}
	f.known.Put(t.key, t, t.bytes) // the other's numbers are of one that went out
	return t
}

// growing is a fact whose cost grows.
type growing struct {
	facts *Facts
	key   factKey
	bytes int64
}

func (f *Facts) growing(key factKey) growing {
	return growing{f, key, factCost + int64(len(key.repository)+len(key.path))}
}

// grow counts more bytes of a fact, which the growing is of.
func (g *growing) grow(fact any, bytes int64) {
	g.bytes += bytes
	g.facts.known.Put(g.key, fact, g.bytes)
}

// source reads a repository for one walk. One goroutine may use it. It calls commits
// by numbers: those of the commit-graph by their positions there, others by those of
// the ancestry, which follow.
type source struct {
	*git.Snapshot
	ctx      context.Context
	facts    *Facts
	ancestry *ancestry
	shallow  map[git.ID]bool
	people   *mailmap.Map // nil for names as they are stored
	claims   claims
	trails   map[string]*trail // of the paths that were asked about

	compared       map[[2]git.ID]bool // folders that are the same to git
	openBytes      int                // of folders that are being compared
	commits, trees []byte             // scratch
}

func newSource(ctx context.Context, snapshot *git.Snapshot, facts *Facts) (*source, error) {
	shallow, err := snapshot.Shallow()
	if err != nil {
		return nil, err
	}
	if facts == nil {
		facts = NewFacts(0)
	}
	return &source{
		Snapshot: snapshot, ctx: ctx, facts: facts, ancestry: facts.ancestry(snapshot.Folder()),
		shallow: shallow, trails: make(map[string]*trail), compared: make(map[[2]git.ID]bool),
	}, nil
}

// number returns the number of a commit, which need not be there.
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

// links returns what a walk needs of a commit, as the graph has it where that
// has the commit. When the commit had to be read, raw is it, until the next call.
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

// stored returns what a walk needs as the commit itself has it. All numbers are those
// of the ancestry.
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
		l.parents = nil // may change when more is fetched
	}
	return l, raw, nil
}

// commit reads all of a commit.
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

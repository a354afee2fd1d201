package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"

	"github.com/repomcp/repomcp/internal/mailmap"
	"github.com/repomcp/repomcp/internal/repos"
)

// DefaultFactsBytes keeps what walks need of about 400,000 commits and where a
// path leads to in each of them.
const DefaultFactsBytes = 64 << 20

// Facts remembers what walks have read: the dates, trees and parents of
// commits, and where paths lead to in trees. None of it ever changes, so
// nothing in it grows old. Make one with [NewFacts] for all repositories; it
// may be used by any number of goroutines.
//
// Of paths there are two generations: what is used moves to the young one, and when
// that is full the old one is dropped. A place in the list of an lru.Cache would
// cost as much as what is remembered.
type Facts struct {
	limit int64
	seeds [2]maphash.Seed

	mu         sync.Mutex
	ancestries map[string]*ancestry // by repository: it only sees what was read from itself
	clock      int64
	bytes      int64 // of the ancestries
	young, old map[entryKey]entry
}

// entryKey is a keyed hash of a repository, a tree and a path: texts of any length
// would have to be counted, and be parts of larger ones. That two have the same is less
// likely than an error of the memory, and nobody can make it happen without the keys.
type entryKey [2]uint64

// entryCost is the size of a key and an entry and of their places in a map, of which up
// to half are free.
const entryCost = 76

// NewFacts makes an empty memory of so many bytes; 0 means [DefaultFactsBytes].
func NewFacts(bytes int64) *Facts {
	return &Facts{
		limit: cmp.Or(bytes, DefaultFactsBytes), seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		ancestries: make(map[string]*ancestry), young: make(map[entryKey]entry),
	}
}

// ancestry returns that of a repository.
func (f *Facts) ancestry(repository string) *ancestry {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.ancestries[repository]
	if a == nil {
		a = &ancestry{facts: f, name: repository, seed: f.seeds[0], parents: []uint32{0}}
		f.ancestries[repository] = a
	}
	f.clock++
	a.used = f.clock
	return a
}

// charge counts what an ancestry takes, as long as it is one that others will use.
func (f *Facts) charge(a *ancestry, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ancestries[a.name] == a {
		a.bytes += bytes
		f.bytes += bytes
		f.fit()
	}
}

// fit forgets what was not used for long until the rest fits. The caller holds the lock.
func (f *Facts) fit() {
	for f.bytes+entryCost*int64(len(f.young)+len(f.old)) > f.limit {
		switch {
		case len(f.old) > 0:
			f.old = nil
		case len(f.ancestries) > 0:
			f.forgetAncestry()
		default:
			f.young = make(map[entryKey]entry)
		}
	}
}

// forgetAncestry forgets the one that was not used for the longest time. Walks that
// use it keep it.
func (f *Facts) forgetAncestry() {
	var oldest *ancestry
	for _, a := range f.ancestries {
		if oldest == nil || a.used < oldest.used {
			oldest = a
		}
	}
	delete(f.ancestries, oldest.name)
	f.bytes -= oldest.bytes
}

// entryKey names what is at a path below a tree.
func (f *Facts) entryKey(repository string, tree repos.ID, path string) (key entryKey) {
	for i, seed := range f.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		_, _ = h.Write(tree[:]) // never fail
		_, _ = h.WriteString(repository)
		_ = h.WriteByte(0)
		_, _ = h.WriteString(path)
		key[i] = h.Sum64()
	}
	return key
}

// recall returns what is at a path, if that is known.
func (f *Facts) recall(key entryKey) (entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.young[key]
	if !ok {
		if e, ok = f.old[key]; ok {
			f.add(key, e)
		}
	}
	return e, ok
}

// remember adds what is at a path.
func (f *Facts) remember(key entryKey, e entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(key, e)
}

// add adds to the young generation. The caller holds the lock.
func (f *Facts) add(key entryKey, e entry) {
	if entryCost*int64(len(f.young)) > f.limit/2 {
		f.old, f.young = f.young, make(map[entryKey]entry)
	}
	f.young[key] = e
	f.fit()
}

// source reads a repository for one walk. One goroutine may use it. It calls commits
// by numbers: those of the commit-graph by their positions there, others by those of
// the ancestry, which follow.
type source struct {
	*repos.Snapshot
	ctx      context.Context
	facts    *Facts
	ancestry *ancestry
	shallow  map[repos.ID]bool
	people   *mailmap.Map // nil for names as they are stored
	claims   claims

	compared       map[[2]repos.ID]bool // folders that are the same to git
	openBytes      int                  // of folders that are being compared
	commits, trees []byte               // scratch
}

func newSource(ctx context.Context, snapshot *repos.Snapshot, facts *Facts) (*source, error) {
	shallow, err := snapshot.Shallow()
	if err != nil {
		return nil, err
	}
	if facts == nil {
		facts = NewFacts(0)
	}
	return &source{
		Snapshot: snapshot, ctx: ctx, facts: facts, ancestry: facts.ancestry(snapshot.Repository().Name()),
		shallow: shallow, compared: make(map[[2]repos.ID]bool),
	}, nil
}

// number returns the number of a commit, which need not be there.
func (s *source) number(id repos.ID) uint32 {
	if at, ok := s.claims.find(id); ok {
		return at
	}
	return s.claims.count() + s.ancestry.number(id)
}

// id returns the commit of a number.
func (s *source) id(n uint32) repos.ID {
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

// parents yields the parents of a commit.
func (s *source) parents(n uint32) iter.Seq2[uint32, error] {
	return func(yield func(uint32, error) bool) {
		if s.claims.has(n) {
			for parent := range s.claims.graph.Parents(n) {
				if !yield(parent, s.ctx.Err()) {
					return
				}
			}
			return
		}
		l, _, err := s.links(n)
		if err != nil {
			yield(0, err)
			return
		}
		for _, parent := range l.parents {
			if !yield(parent, nil) {
				return
			}
		}
	}
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
		read, err := repos.ParseCommitLinks(id, raw)
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
func (s *source) commit(id repos.ID) (Commit, error) {
	raw, err := s.RawCommit(id)
	if errors.Is(err, repos.ErrNotFound) {
		return Commit{}, damaged(id, "is missing")
	}
	if err != nil {
		return Commit{}, err
	}
	l, err := repos.ParseCommitLinks(id, raw)
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

package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/repomcp/repomcp/internal/mailmap"
	"github.com/repomcp/repomcp/internal/repos"
)

// DefaultFactsBytes keeps what walks need of about 200,000 commits and where a
// path leads to in each of them.
const DefaultFactsBytes = 64 << 20

// Facts remembers what walks have read: the dates, trees and parents of
// commits, and where paths lead to in trees. None of it ever changes, so
// nothing in it grows old. Make one with [NewFacts] for all repositories; it
// may be used by any number of goroutines.
//
// There are two generations: what is used moves to the young one, and when
// that is full the old one is dropped. A place in the list of an lru.Cache would
// cost as much as what is remembered.
type Facts struct {
	limit int64 // of a generation
	seeds [2]maphash.Seed

	mu           sync.Mutex
	repositories map[string]uint32
	youngBytes   int64
	commits      generations[commitKey, links]
	entries      generations[entryKey, entry]
}

// fact is what is remembered; it costs some bytes.
type fact interface{ cost() int64 }

// generations are the facts of one kind.
type generations[K comparable, V fact] struct{ young, old map[K]V }

func (g *generations[K, V]) age() { g.old, g.young = g.young, make(map[K]V) }

// A repository only sees what was read from itself: that an id is known does
// not say that one may read it.
type commitKey struct {
	repository uint32
	id         repos.ID
}

// The path is a keyed hash of it: texts of any length would have to be counted,
// and be parts of larger ones. That two have the same is less likely than an error
// of the memory, and nobody can make it happen without the keys.
type entryKey struct {
	repository uint32
	tree       repos.ID
	path       [2]uint64
}

// What an item takes: the sizes of the types, and of the places in maps, of which
// up to half are free.
const (
	commitCost = 150
	parentCost = 24
	entryCost  = 120
)

// NewFacts makes an empty memory of so many bytes; 0 means [DefaultFactsBytes].
func NewFacts(bytes int64) *Facts {
	f := &Facts{
		limit: cmp.Or(bytes, DefaultFactsBytes) / 2, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		repositories: make(map[string]uint32),
	}
	f.age()
	return f
}

// age makes the young generation the old one.
func (f *Facts) age() {
	f.youngBytes = 0
	f.commits.age()
	f.entries.age()
}

// repository returns the number of a repository. There are few names, so that they
// are kept for good.
func (f *Facts) repository(name string) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	number, ok := f.repositories[name]
	if !ok {
		number = uint32(len(f.repositories))
		f.repositories[name] = number
	}
	return number
}

// entryKey names what is at a path below a tree.
func (f *Facts) entryKey(repository uint32, tree repos.ID, path string) entryKey {
	return entryKey{repository, tree, [2]uint64{maphash.String(f.seeds[0], path), maphash.String(f.seeds[1], path)}}
}

// recall looks a fact up.
func recall[K comparable, V fact](f *Facts, g *generations[K, V], key K) (V, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	value, ok := g.young[key]
	if !ok {
		if value, ok = g.old[key]; ok {
			addYoung(f, g, key, value)
		}
	}
	return value, ok
}

// remember adds a fact.
func remember[K comparable, V fact](f *Facts, g *generations[K, V], key K, value V) {
	f.mu.Lock()
	defer f.mu.Unlock()
	addYoung(f, g, key, value)
}

// addYoung adds a fact to the young generation, after it made room. The caller holds
// the lock.
func addYoung[K comparable, V fact](f *Facts, g *generations[K, V], key K, value V) {
	cost := value.cost()
	if f.youngBytes+cost > f.limit {
		f.age()
	}
	known := len(g.young)
	if g.young[key] = value; len(g.young) > known {
		f.youngBytes += cost
	}
}

func (l links) cost() int64 { return commitCost + parentCost*int64(len(l.parents)) }

func (entry) cost() int64 { return entryCost }

// source reads a repository for one walk. One goroutine may use it.
type source struct {
	*repos.Snapshot
	ctx        context.Context
	facts      *Facts
	repository uint32
	shallow    map[repos.ID]bool
	people     *mailmap.Map // nil for names as they are stored
	claims     claims

	compared       map[[2]repos.ID]bool // folders that are the same to git
	openBytes      int                  // of folders that are being compared
	commits, trees []byte               // scratch
}

func newSource(ctx context.Context, snapshot *repos.Snapshot, facts *Facts) (*source, error) {
	shallow, err := snapshot.Shallow()
	if err != nil {
		return nil, err
	}
	s := &source{Snapshot: snapshot, ctx: ctx, facts: facts, shallow: shallow, compared: make(map[[2]repos.ID]bool)}
	if facts == nil {
		s.facts = NewFacts(0)
	}
	s.repository = s.facts.repository(snapshot.Repository().Name())
	return s, nil
}

// links returns what a walk needs of a commit, as the graph has it where that
// has the commit. When the commit had to be read, raw is it, until the next call.
func (s *source) links(id repos.ID) (l links, raw []byte, err error) {
	if err := s.ctx.Err(); err != nil {
		return links{}, nil, err
	}
	if l, ok := s.claims.links(id); ok {
		return l, nil, nil
	}
	return s.stored(id)
}

// stored returns what a walk needs as the commit itself has it.
func (s *source) stored(id repos.ID) (l links, raw []byte, err error) {
	key := commitKey{s.repository, id}
	l, known := recall(s.facts, &s.facts.commits, key)
	if !known {
		if s.commits, err = s.ScanCommit(id, s.commits[:0]); err != nil {
			return links{}, nil, fmt.Errorf("reading history: %w", err)
		}
		raw = s.commits
		if l, err = parseLinks(id, raw); err != nil {
			return links{}, nil, err
		}
		remember(s.facts, &s.facts.commits, key, l)
	}
	if s.shallow[id] {
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
	l, err := parseLinks(id, raw)
	if err != nil {
		return Commit{}, err
	}
	if s.shallow[id] {
		l.parents = nil
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

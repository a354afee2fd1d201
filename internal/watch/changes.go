package watch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// sweepEvery is the interval at which abandoned sessions are removed.
const sweepEvery = time.Minute

// unclearEvery is the interval at which repositories with an unclear state are read again: mirrors
// during a change, and damaged ones.
const unclearEvery = 2 * time.Second

// Run notifies subscribers of changes until ctx ends. It runs once.
func (s *Subscriptions) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.watcher.Run(ctx, s.markDirty) })
	running.Go(func() { s.followSkills(ctx) })
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	names, swept, cleared := s.catalogue.Names(), time.Now(), time.Now()
	s.rebind()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case now := <-ticker.C:
			if listed := s.catalogue.Names(); !slices.Equal(listed, names) {
				s.listChanged(names, listed)
				names = listed
			}
			if s.reconsider.Swap(false) {
				s.rulesChanged()
			}
			if now.Sub(swept) > sweepEvery {
				swept = now
				s.sweep(now)
			}
			if now.Sub(cleared) > unclearEvery {
				cleared = now
				s.retryUnclear()
			}
		}
		s.compareDirty(ctx)
		s.deliver()
	}
}

// markDirty schedules a comparison of the subscriptions of repositories.
func (s *Subscriptions) markDirty(names []string) {
	s.mu.Lock()
	for _, name := range names {
		s.dirty[name] = true
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// retryUnclear schedules repositories with an unclear state.
func (s *Subscriptions) retryUnclear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.dirty, s.unclear)
	clear(s.unclear)
}

// listChanged handles added and removed repositories. A client that may read none of them gets no
// notification.
func (s *Subscriptions) listChanged(before, now []string) {
	s.announceMoved(slices.Concat(without(before, now), without(now, before)))
	s.rebind()
}

// announceMoved queues a notification about the list for the clients that may read one of the
// repositories.
func (s *Subscriptions) announceMoved(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if slices.ContainsFunc(names, s.view(c.principal).Sees) {
			s.announce(c)
		}
	}
}

// skillsEvery is the pause between looks at the tips of all repositories, of which each takes some
// system calls. The looks take at most one part in costShare of the time.
const skillsEvery = time.Second

// followSkills announces changes of listed skills until ctx ends, while there are clients that want to
// know: resources/list and skills/list have them.
func (s *Subscriptions) followSkills(ctx context.Context) {
	if s.options.Skills == nil {
		return
	}
	pause := skillsEvery
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		began := time.Now()
		if s.hasListeners() {
			err := panics.Catch(func() error {
				s.announceMoved(s.options.Skills.Changes(ctx, s.catalogue.View, s.catalogue.Names()))
				return nil
			})
			if err != nil {
				s.logger.Error("looking for changed skills panicked", "error", err)
			}
		}
		pause = max(skillsEvery, costShare*time.Since(began))
	}
}

// hasListeners reports whether a client wants notifications about the list.
func (s *Subscriptions) hasListeners() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if c.list != nil {
			return true
		}
	}
	return false
}

// without returns the names of a list that are not in other, which is sorted.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool {
		_, both := slices.BinarySearch(other, name)
		return both
	})
}

// Reconsider announces that the access rules have changed. A subscription whose resource became
// unreadable continues as if the resource had been deleted.
func (s *Subscriptions) Reconsider() { s.reconsider.Store(true) }

// rulesChanged compares the repositories visible to each client with those before.
func (s *Subscriptions) rulesChanged() {
	s.mu.Lock()
	for _, c := range s.clients {
		now := s.view(c.principal)
		if !slices.Equal(c.listed.Names(), now.Names()) {
			s.announce(c)
		}
		c.listed = now
	}
	s.mu.Unlock()
	s.rebind()
}

// rebind binds each subscription to the repository that its URI names now.
func (s *Subscriptions) rebind() {
	type move struct {
		sub  *subscription
		from string
		to   *repos.Repository // nil: none
	}
	var moves []move
	s.mu.Lock()
	for name, list := range s.byRepository {
		for sub := range list {
			if to := s.repositoryOf(sub); to == nil && name != "" || to != nil && to.Name() != name {
				moves = append(moves, move{sub, name, to})
			}
		}
	}
	s.mu.Unlock()
	for _, m := range moves {
		to := ""
		if m.to != nil {
			to = m.to.Name()
			s.watcher.Add(m.to)
		}
		s.mu.Lock()
		unused := to
		if !m.sub.ended {
			unused = m.from
			s.unindex(m.sub)
			s.index(m.sub, to)
			s.dirty[to] = true
		}
		s.mu.Unlock()
		if unused != "" {
			s.watcher.Remove(unused)
		}
	}
}

// repositoryOf returns the repository of a subscription if it is visible to the client, else nil.
func (s *Subscriptions) repositoryOf(sub *subscription) *repos.Repository {
	path, err := resources.PathOf(sub.uri)
	if err != nil {
		return nil
	}
	repository, _, err := s.view(sub.client.principal).LongestKnown(path)
	if err != nil {
		return nil
	}
	return repository
}

// compareDirty compares the subscriptions of repositories that may have changed.
func (s *Subscriptions) compareDirty(ctx context.Context) {
	s.mu.Lock()
	names := slices.Collect(maps.Keys(s.dirty))
	unbound := s.dirty[""]
	clear(s.dirty)
	s.mu.Unlock()
	if unbound {
		// A repository may have appeared while the subscription was being made.
		s.rebind()
	}
	lookAtEach(names, func(name string) {
		err := panics.Catch(func() error {
			s.compare(ctx, name)
			return nil
		})
		if err != nil {
			s.logger.Error("comparing what is watched panicked", "repository", name, "error", err)
		}
	})
}

// compare reads a repository once, and queues the notifications of its subscribers.
func (s *Subscriptions) compare(ctx context.Context, name string) {
	s.mu.Lock()
	before := make(map[*subscription]state, len(s.byRepository[name]))
	for sub := range s.byRepository[name] {
		before[sub] = sub.state
	}
	s.mu.Unlock()
	if len(before) == 0 {
		return
	}
	g := s.observe(name)
	defer g.Close()
	after := make(map[*subscription]state, len(before))
	failed := false
	for sub, was := range before {
		if ctx.Err() != nil {
			return
		}
		now, err := g.state(ctx, sub.uri, was)
		if err != nil {
			s.logger.Debug("the state of a resource cannot be told", "uri", resources.ClipLong(sub.uri), "error", err)
			failed = true
		}
		after[sub] = now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub, now := range after {
		if sub.ended || sub.repository != name {
			continue
		}
		changed := now.text != sub.state.text
		sub.state = now
		if changed {
			s.updated(sub)
		}
	}
	if failed {
		s.unclear[name] = true
	}
}

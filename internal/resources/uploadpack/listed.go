package uploadpack

import (
	"maps"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// listedTime is how long a client may take from the list of refs to its request for objects. Git asks at once.
	listedTime = time.Minute
	// listedBytes bounds the memory for lists of refs: one of two hundred thousand, or many smaller ones.
	listedBytes = 16 << 20
	// listedCost is what an id takes in a map with its time.
	listedCost = 80
)

// listed remembers the ids in the lists of refs that clients got lately. Git's protocol over HTTP has one request for
// the list and another for the objects, and a branch may be force-pushed between the two.
type listed struct {
	mu           sync.Mutex                               // one list is added at a time
	repositories *lru.Cache[string, map[git.ID]time.Time] // by name; a map does not change
}

func newListed() *listed {
	return &listed{repositories: lru.New[string, map[git.ID]time.Time](listedBytes)}
}

// add notes the ids of a list that a client gets.
func (l *listed) add(repository string, ids map[git.ID]struct{}, now time.Time) {
	if len(ids) == 0 || len(ids) > listedBytes/listedCost {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[git.ID]time.Time, len(ids))
	if before, ok := l.repositories.Get(repository); ok {
		maps.Copy(all, before)
		maps.DeleteFunc(all, func(_ git.ID, at time.Time) bool { return now.Sub(at) >= listedTime })
	}
	for id := range ids {
		all[id] = now
	}
	l.repositories.Put(repository, all, int64(len(all))*listedCost)
}

// ids returns those that clients got in lists lately.
func (l *listed) ids(repository string, now time.Time) (ids []git.ID) {
	all, _ := l.repositories.Get(repository)
	for id, at := range all {
		if now.Sub(at) < listedTime {
			ids = append(ids, id)
		}
	}
	return ids
}

// has reports whether a client got an id in a list lately.
func (l *listed) has(repository string, id git.ID, now time.Time) bool {
	ids, _ := l.repositories.Get(repository)
	at, ok := ids[id]
	return ok && now.Sub(at) < listedTime
}

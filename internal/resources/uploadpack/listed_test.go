package uploadpack

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
)

func setOf(numbers ...uint32) map[git.ID]struct{} {
	set := make(map[git.ID]struct{})
	for _, n := range numbers {
		set[idOf(n)] = struct{}{}
	}
	return set
}

func idOf(n uint32) (id git.ID) {
	binary.BigEndian.PutUint32(id[:], n)
	return id
}

func TestListsAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	l, begin := newListed(), time.Now()
	l.add("a", setOf(1, 2), begin)
	l.add("b", setOf(5), begin)
	l.add("a", setOf(2, 3), begin.Add(listedTime/2))
	for _, c := range []struct {
		id    uint32
		after time.Duration
		want  bool
	}{
		{1, listedTime - 1, true},
		{1, listedTime, false},
		{2, listedTime, true},
		{3, listedTime, true},
		{3, listedTime * 3 / 2, false},
		{4, 0, false},
		{5, 0, false}, // it is in the other one
	} {
		if got := l.has("a", idOf(c.id), begin.Add(c.after)); got != c.want {
			t.Errorf("%d after %s: %t, want %t", c.id, c.after, got, c.want)
		}
	}
	l.add("a", setOf(4), begin.Add(listedTime))
	if ids, _ := l.repositories.Get("a"); len(ids) != 3 { // 2, 3 and 4
		t.Errorf("%d ids are kept", len(ids))
	}
}

func TestListsTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	l, now := newListed(), time.Now()
	large := make(map[git.ID]struct{})
	for n := range uint32(listedBytes / listedCost / 2) {
		large[idOf(n)] = struct{}{}
	}
	for _, name := range []string{"a", "b", "c"} {
		l.add(name, large, now)
	}
	if lists, cost := l.repositories.Size(); lists != 2 || cost > listedBytes {
		t.Errorf("%d lists are kept, of %d bytes", lists, cost)
	}
	for n := range uint32(listedBytes/listedCost + 1) {
		large[idOf(n)] = struct{}{}
	}
	if l.add("d", large, now); l.has("d", idOf(0), now) {
		t.Error("a list beyond the bound is kept")
	}
}

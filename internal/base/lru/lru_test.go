package lru_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestLeastRecentlyUsedGoOut(t *testing.T) {
	c := lru.New[string, int](10)
	c.Put("a", 1, 4)
	c.Put("b", 2, 4)
	c.Get("a")
	c.Put("c", 3, 4) // b was not used for longest
	if got := c.GetOrPut("a", 9, 4); got != 1 {
		t.Errorf("GetOrPut returns %d for what is there", got)
	}
	if got := c.GetOrPut("d", 4, 4); got != 4 { // c goes out
		t.Errorf("GetOrPut returns %d for what was put", got)
	}
	c.Put("a", 5, 6)
	c.Put("large", 6, 11)
	c.Put("d", 7, 11) // its value was replaced by one that cannot be kept
	for key, want := range map[string]int{"a": 5, "b": 0, "c": 0, "d": 0, "large": 0} {
		if got, ok := c.Get(key); got != want || ok != (want > 0) {
			t.Errorf("%s is %d, %t, want %d", key, got, ok, want)
		}
	}
	if values, cost := c.Size(); values != 1 || cost != 6 {
		t.Errorf("%d values cost %d", values, cost)
	}
}

// TestCacheDoesWhatAListDoes compares random calls with a list that is searched
// from its beginning.
func TestCacheDoesWhatAListDoes(t *testing.T) {
	const limit = 50
	type entry struct {
		key, value int
		cost       int64
	}
	random := rand.New(rand.NewPCG(1, 2))
	c := lru.New[int, int](limit)
	var model []entry // the latest last
	find := func(key int) (e entry, ok bool) {
		i := slices.IndexFunc(model, func(e entry) bool { return e.key == key })
		if i < 0 {
			return e, false
		}
		e = model[i]
		model = slices.Delete(model, i, i+1)
		return e, true
	}
	used := func() (sum int64) {
		for _, e := range model {
			sum += e.cost
		}
		return sum
	}
	for n := range 20_000 {
		e := entry{random.IntN(30), n, random.Int64N(limit + 3)}
		old, known := find(e.key)
		call := random.IntN(3)
		switch call {
		case 0:
			if got, ok := c.Get(e.key); ok != known || got != old.value {
				t.Fatalf("call %d: Get(%d) is %d, %t, want %d, %t", n, e.key, got, ok, old.value, known)
			}
			e = old
		case 1:
			c.Put(e.key, e.value, e.cost)
		default:
			got := c.GetOrPut(e.key, e.value, e.cost)
			if known {
				e = old
			}
			if got != e.value {
				t.Fatalf("call %d: GetOrPut(%d) is %d, want %d", n, e.key, got, e.value)
			}
		}
		if e.cost <= limit && (call > 0 || known) {
			model = append(model, e)
		}
		for used() > limit {
			model = model[1:]
		}
		if values, cost := c.Size(); values != len(model) || cost != used() {
			t.Fatalf("call %d: %d values cost %d, want %d and %d", n, values, cost, len(model), used())
		}
	}
}

func TestCacheIsForManyGoroutines(t *testing.T) {
	c := lru.New[int, int](100)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := range 5000 {
				c.Put(n%300, n%300, int64(n%7))
				if got, ok := c.Get(n % 150); ok && got != n%150 {
					t.Errorf("%d is %d", n%150, got)
				}
				if got := c.GetOrPut(n%200, n%200, 3); got != n%200 {
					t.Errorf("%d is %d", n%200, got)
				}
			}
		})
	}
	group.Wait()
}

// TestWhatGoesOutIsNotHeld fills a cache several times, so that its map and its
// list have held far more than they may.
func TestWhatGoesOutIsNotHeld(t *testing.T) {
	const bound, size = 4 << 20, 4 << 10
	gittest.HeapFits(t, bound, func() any {
		c := lru.New[string, []byte](bound)
		for n := range 5 * bound / size {
			c.Put(fmt.Sprint(n), make([]byte, size), size)
		}
		return c
	})
}

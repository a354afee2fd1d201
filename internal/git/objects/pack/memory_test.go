package pack

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestObjectCacheTakesWhatItMay keeps objects of several sizes, alone and in
// turns, many times more than there is room for.
func TestObjectCacheTakesWhatItMay(t *testing.T) {
	const bound = 8 << 20
	for name, size := range map[string]func(n int) int{
		"empty":     func(int) int { return 0 },
		"small":     func(n int) int { return 1 + n%100 },
		"ordinary":  func(n int) int { return 1 + n*7919%20_000 },
		"large":     func(n int) int { return 100_000 + n },
		"in phases": func(n int) int { return []int{8, 30_000}[n/(6*bound/cachedOverhead)] }, // places of the small ones stay
	} {
		t.Run(name, func(t *testing.T) {
			gittest.HeapFits(t, bound, func() any {
				cache := NewCache(bound)
				for n, put := 0, 0; put < 3*bound || name == "in phases" && n < 6*bound/cachedOverhead+1000; n++ {
					cache.Put(Place{&Pack{key: uint64(n % 5)}, int64(n)}, object.Blob, make([]byte, size(n)))
					put += size(n) + cachedOverhead
				}
				return cache
			})
		})
	}
}

// TestPagesOfIndexesTakeWhatTheyMay reads all of files that are larger than what
// may be kept of them.
func TestPagesOfIndexesTakeWhatTheyMay(t *testing.T) {
	const bound = 4 << 20
	folder := t.TempDir()
	gittest.HeapFits(t, bound, func() any {
		memory := NewBudget(bound)
		var tables []*table
		for i := range 3 {
			path := filepath.Join(folder, fmt.Sprint(i))
			if err := os.WriteFile(path, make([]byte, bound), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			opened, err := openTable("index", file, bound, memory)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(opened.Close)
			tables = append(tables, opened)
			var buffer [8]byte
			for at := int64(0); at < bound; at += tablePage / 2 {
				if _, err := opened.at(at, len(buffer), buffer[:]); err != nil {
					t.Fatal(err)
				}
			}
		}
		return tables
	})
}

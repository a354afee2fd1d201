package git

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/commitgraph"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestKnownParentsTakeWhatTheyMay remembers as many commits as there is room for, and
// begins anew often.
func TestKnownParentsTakeWhatTheyMay(t *testing.T) {
	gittest.Long(t)
	for _, parents := range []int{0, 1, 2, 9} {
		for _, bound := range []int64{3 << 20, 4 << 20, 5 << 20, 6 << 20} {
			t.Run(fmt.Sprintf("%d parents in %d MiB", parents, bound>>20), func(t *testing.T) {
				gittest.HeapFits(t, bound, func() any {
					known := newKnownParents(bound)
					full := int(bound) / (graphCost + parentCost*parents)
					for n := range 5 * full {
						id := idOf(n)
						known.put(id, make([]ID, parents))
						known.put(id, nil) // is known
					}
					if got, ok := known.get(ID{}); ok {
						t.Errorf("the first is still there: %v", got)
					}
					return known
				})
			})
		}
	}
}

// TestShapesTakeWhatTheyMay remembers the graphs of many repositories, and what
// refs lead to in histories without a graph.
func TestShapesTakeWhatTheyMay(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	var in strings.Builder
	for range 500 {
		in.WriteString("commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 0\n\n")
	}
	repo.GitInput([]byte(in.String()), "fast-import", "--quiet")
	repo.WriteCommitGraph(1)
	file := filepath.Join(repo.Dir, graphFile)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, fill := range map[string]func(c *shapes, dir string, n int){
		"graphs": func(c *shapes, dir string, _ int) {
			layer, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			graph, err := commitgraph.Parse(layer, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.keepGraph(dir, c.get(dir), [2]fs.FileInfo{info}, graph, int64(len(layer)))
		},
		"commits": func(c *shapes, dir string, n int) {
			r := newReach(&Tips{state: "state"}, nil, []ID{idOf(n * 1000)})
			c.keepReach(dir, r)
			for i := range 1000 {
				if err := r.step(func(ID) ([]ID, error) { return []ID{idOf(n*1000 + i + 1)}, nil }); err != nil {
					t.Fatal(err)
				}
			}
			c.countReach(dir, r)
		},
	} {
		for _, bound := range []int64{3 << 20, 4 << 20, 5 << 20, 6 << 20} {
			t.Run(fmt.Sprintf("%s in %d MiB", name, bound>>20), func(t *testing.T) {
				gittest.HeapFits(t, bound, func() any {
					c := newShapes(bound)
					for n := range 3 * int(bound) / 30_000 {
						fill(c, fmt.Sprint("folder ", n), n)
					}
					_, bytes := c.known.Size()
					if _, kept := c.known.Get("folder 0"); bytes > bound || kept {
						t.Errorf("%d bytes are counted in %d", bytes, bound)
					}
					return c
				})
			})
		}
	}
}

// TestAWalkIsMadeOnce asks again for an unreachable commit.
func TestAWalkIsMadeOnce(t *testing.T) {
	t.Parallel()
	reads := 0
	parents := func(id ID) ([]ID, error) {
		if reads++; reads > 5000 {
			return nil, nil
		}
		return []ID{idOf(reads)}, nil
	}
	r := newReach(&Tips{state: "state"}, nil, []ID{idOf(0)})
	for _, want := range []struct {
		id    ID
		found bool
		most  int
	}{{idOf(10), true, 10 + stepsAtOnce}, {idOf(1 << 40), false, 5001}, {idOf(1 << 41), false, 5001}, {idOf(4999), true,
		5001}} {
		found, err := r.among(t.Context(), []ID{want.id}, parents)
		if err != nil || (len(found) == 1) != want.found || reads > want.most {
			t.Errorf("%v: %v, %v after %d commits", want, found, err, reads)
		}
	}
}

// idOf is an id like no other.
func idOf(n int) (id ID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

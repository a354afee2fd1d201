package pack

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/gittest"
)

// nowhere has no other objects.
type nowhere struct{}

func (nowhere) Find(object.ID) (Place, bool, error)         { return Place{}, false, nil }
func (nowhere) OpenLoose(object.ID) (*object.Object, error) { return nil, object.ErrNotFound }

// TestLargeObjectsAreNotHeldInMemory reads versions of a file that is larger than
// what may be in memory, and looks at what the cache of bases has of them.
func TestLargeObjectsAreNotHeldInMemory(t *testing.T) {
	repo := gittest.New(t)
	body := []byte(gittest.Noise(300_000))
	for i := range 4 {
		body = append(fmt.Append(nil, "version ", i), body...)
		repo.Commit("main", gittest.Regular("big", string(body)), gittest.Regular("small", fmt.Sprint(i)))
	}
	repo.Git("repack", "-adfq", "--depth=10")
	r := readerOf(t, repo)
	p, err := openOnly(t, r, repo)
	if err != nil {
		t.Fatal(err)
	}
	spilled, kept := 0, 0
	err = p.IDs(object.ID{}, func(id object.ID) bool {
		at, found, err := p.Find(&id)
		if err != nil || !found {
			t.Fatal(found, err)
		}
		opened, err := r.Open(id, at, nowhere{})
		if err != nil {
			t.Fatal(err)
		}
		opened.Verify()
		if r.limits.SpillSpace.Used() > 0 {
			spilled++
		}
		content, err := opened.AppendTo(nil)
		if err != nil || opened.Close() != nil {
			t.Fatal(err)
		}
		kind, again, err := r.AppendVerified([]byte("kept"), id, at, 1<<20, nowhere{})
		if err != nil || kind != opened.Type() || !bytes.Equal(again[4:], content) {
			t.Errorf("%v: %d and %d bytes, %v", id, len(content), len(again), err)
		}
		if _, data, ok := r.bases.Get(at); ok {
			kept++
			if len(data) > int(r.limits.SpillBytes) {
				t.Errorf("an object of %d bytes was held in memory", len(data))
			}
		}
		return true
	})
	if err != nil || spilled == 0 {
		t.Errorf("%d objects took temporary files: the test shows nothing; %v", spilled, err)
	}
	all := 0
	for _, shard := range r.bases.shards {
		n, _ := shard.Size()
		all += n
	}
	if kept != all {
		t.Errorf("%d of %d objects in memory were looked at", kept, all)
	}
}

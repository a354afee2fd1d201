package objects

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/panics"
)

// panicking is a source that panics after some reads.
type panicking struct {
	source
	reads int
}

func (p *panicking) Read(b []byte) (int, error) {
	if p.reads--; p.reads < 0 {
		panic("a damaged stream")
	}
	return p.source.Read(b)
}

// TestPanicWhileReadingAheadFailsTheObject has the goroutine that reads ahead
// panic, at once and while pieces are written.
func TestPanicWhileReadingAheadFailsTheObject(t *testing.T) {
	repo := gittest.New(t)
	const size = 8 * pieceBytes
	repo.Commit("main", gittest.Regular("a", gittest.Noise(size)))
	id, _ := ParseID(repo.Git("rev-parse", "main:a"))
	snap := snapshot(t, newStore(t, Options{}, repo), repo)
	for _, reads := range []int{0, 5} {
		object, err := snap.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		object.source = &panicking{object.source, reads}
		var out bytes.Buffer
		var panicked *panics.Error
		if n, err := object.WriteTo(&out); !errors.As(err, &panicked) || n >= size || int64(out.Len()) != n {
			t.Errorf("after %d reads: %d bytes, %v", reads, n, err)
		}
		if _, err := object.Read(make([]byte, 1)); !errors.As(err, &panicked) {
			t.Errorf("after %d reads: reading on gives %v", reads, err)
		}
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPanicOfAnIndexComparisonFailsItsIndex has the goroutine that compares
// large indexes panic. Who asks for an object of the pack hears of it.
func TestPanicOfAnIndexComparisonFailsItsIndex(t *testing.T) {
	repo := gittest.New(t)
	entries := enoughEntries()
	newCrafted(entries...).write(t, repo)
	s := newStore(t, Options{}, repo)
	snap := snapshot(t, s, repo)
	awaitVerdicts(t, s)
	p := snap.view.Load().packs[0]
	clear(s.checks.verdicts)
	s.checks.store = nil // which is used to open the file
	s.checks.add(indexCheck{strings.TrimSuffix(p.where, ".pack") + ".idx", p.idxInfo, p.index.table, p})
	awaitVerdicts(t, s)
	var panicked *panics.Error
	if _, err := snap.Has(entries[0].id); !errors.As(err, &panicked) {
		t.Errorf("the index whose comparison panicked: %v", err)
	}
	if _, err := snapshot(t, s, repo).Has(entries[0].id); !errors.As(err, &panicked) {
		t.Errorf("of a later snapshot: %v", err)
	}
}

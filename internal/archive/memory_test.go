package archive_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// A meeting is the reader of an archive that comes to two gates, and waits at each until it is
// opened: before its first run, and with its first run made.
type meeting struct{ gates []*gate }

type gate struct {
	coming sync.WaitGroup // archives
	opened chan struct{}
}

func newGate(archives int) *gate {
	g := &gate{opened: make(chan struct{})}
	g.coming.Add(archives)
	return g
}

func (m *meeting) Write(p []byte) (int, error) {
	if len(m.gates) > 0 {
		at := m.gates[0]
		m.gates = m.gates[1:]
		at.coming.Done()
		<-at.opened
	}
	return len(p), nil
}

// TestManyArchivesHaveARunEach has more archives than there are runs to share wait for
// their readers at a time, the first runs of each being made.
func TestManyArchivesHaveARunEach(t *testing.T) {
	repo := gittest.New(t)
	var files []gittest.File
	for i := range 40 {
		files = append(files, gittest.Regular(fmt.Sprint("f", i), gittest.Noise(1000+i)))
	}
	repo.Commit("main", files...)
	engine, err := archive.NewEngine(archive.EngineOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	p, err := opened{engine, open(t, repo).snapshot}.plan(t, "main", archive.Options{Format: archive.Tar})
	if err != nil {
		t.Fatal(err)
	}
	archives := p.SharedRuns() + 20
	made := p.CountRuns()
	var all sync.WaitGroup
	first, second := newGate(archives), newGate(archives)
	for range archives {
		all.Go(func() {
			if err := p.WriteTo(t.Context(), &meeting{[]*gate{first, second}}); err != nil {
				t.Error(err)
			}
		})
	}
	first.coming.Wait()
	close(first.opened)
	second.coming.Wait()
	// Runs that are given back may be dropped, and made anew: they are counted before any is.
	if n := int(made.Load()); n != archives {
		t.Errorf("%d archives have %d runs, besides %d to share", archives, n, p.SharedRuns())
	}
	close(second.opened)
	all.Wait()
}

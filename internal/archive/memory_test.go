package archive_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// meeting is a reader that takes nothing until all have been given as much as it.
type meeting struct{ first, second *sync.WaitGroup }

func (m *meeting) Write(p []byte) (int, error) {
	for _, at := range []**sync.WaitGroup{&m.first, &m.second} {
		if here := *at; here != nil {
			*at = nil
			here.Done()
			here.Wait()
			break
		}
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
	var first, second, all sync.WaitGroup
	first.Add(archives)
	second.Add(archives)
	for range archives {
		all.Go(func() {
			if err := p.WriteTo(t.Context(), &meeting{&first, &second}); err != nil {
				t.Error(err)
			}
		})
	}
	second.Wait()
	if n := int(made.Load()); n < archives || n > archives+p.SharedRuns() {
		t.Errorf("%d archives have %d runs, besides %d to share", archives, n, p.SharedRuns())
	}
	all.Wait()
}

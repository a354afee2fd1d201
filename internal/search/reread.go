package search

import (
	"errors"

	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// reread runs do on the workers with the texts of candidates, and waits. It returns the errors of files that could not
// be read, in the candidates' order.
func (s *search) reread(files []candidate, do func(i int, sc *scratch, text rank.Text)) (failed []error, err error) {
	failed = make([]error, len(files))
	byName := make(map[string][]int)
	var names []string
	for i := range files {
		name := files[i].repository
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], i)
	}
	for _, name := range names {
		if err := s.readIn(name, files, byName[name], failed, do); err != nil {
			return nil, err
		}
	}
	return failed, nil
}

// readIn reads the files of one repository.
func (s *search) readIn(name string, files []candidate, indexes []int, failed []error,
	do func(i int, sc *scratch, text rank.Text),
) (err error) {
	snapshot, err := s.view.Snapshot(name)
	if err != nil {
		for _, i := range indexes {
			failed[i] = err
		}
		return s.ctx.Err()
	}
	var pending []chan struct{}
	defer func() {
		if err != nil {
			s.queue.Close() // ends the tasks before the snapshot
		}
		err = errors.Join(err, snapshot.Close())
	}()
	for _, i := range indexes {
		done := make(chan struct{})
		if err := s.queue.Submit(workers.Func(func(w *workers.Worker) {
			defer close(done)
			if s.ctx.Err() == nil {
				failed[i] = s.readCandidate(snapshot, &files[i], s.slot.Of(w), func(sc *scratch, text rank.Text) {
					do(i, sc, text)
				})
			}
		})); err != nil {
			return err
		}
		pending = append(pending, done)
	}
	for _, done := range pending {
		if err := s.wait(done); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) readCandidate(snapshot *git.Snapshot, c *candidate, sc *scratch,
	do func(sc *scratch, text rank.Text),
) error {
	content, err := s.readText(snapshot, c.id, sc)
	if err != nil {
		return damageIfMissing(err)
	}
	namer := index.NamerOf(c.path)
	takes, _ := s.query.symbols.filter(namer, content)
	do(sc, s.query.textOf(namer, takes, content))
	if cap(sc.content) > idleBuffer {
		sc.content = nil
	}
	return nil
}

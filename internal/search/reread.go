package search

import (
	"errors"

	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// reread runs do on the workers with the texts of candidates, and waits. The result counts and names those that cannot
// be read. They are not read again.
func (s *search) reread(files []candidate, do func(i int, sc *scratch, text rank.Text)) error {
	byName := make(map[string][]int)
	var names []string
	for i := range files {
		if files[i].failed != nil {
			continue
		}
		name := files[i].repository
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], i)
	}
	for _, name := range names {
		if err := s.readIn(name, files, byName[name], do); err != nil {
			return err
		}
		for _, i := range byName[name] {
			if c := &files[i]; c.failed != nil {
				s.result.Counts.Damaged++
				s.addProblem(c.repository, c.path, c.failed)
			}
		}
	}
	return nil
}

// readIn reads the files of one repository.
func (s *search) readIn(name string, files []candidate, indexes []int, do func(i int, sc *scratch, text rank.Text),
) (err error) {
	snapshot, err := s.view.Snapshot(name)
	if err != nil {
		for _, i := range indexes {
			files[i].failed = err
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
				files[i].failed = s.readCandidate(snapshot, &files[i], s.slot.Of(w), func(sc *scratch, text rank.Text) {
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
		return git.MustExist(c.id, err)
	}
	namer := index.NamerOf(c.path)
	takes, _ := s.query.symbols.filter(namer, content)
	do(sc, s.query.textOf(namer, takes, content))
	if cap(sc.content) > idleBuffer {
		sc.content = nil
	}
	return nil
}

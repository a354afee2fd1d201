package checkout

import (
	"errors"
	"io"
	"os"
	"slices"
)

// journal is what a run does, each before it is done. A process that is killed has
// written all of it.
type journal struct {
	file   *os.File
	buffer []byte
}

func createJournal(name string) (*journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

// add is for one goroutine at a time.
func (j *journal) add(r record) error {
	j.buffer = r.appendTo(j.buffer[:0])
	_, err := j.file.Write(j.buffer)
	return err
}

func (j *journal) close() error { return j.file.Close() }

// sortedAtOnce bounds the memory of sorting. Larger journals are read several times.
const sortedAtOnce = 30_000

// sorted reads a journal in the order of the paths. Of one path the last record
// counts.
type sorted struct {
	file *os.File
	from string // all up to that were given
	some bool   // were given
	page []record
	last bool // page is
}

func newSorted(file *os.File) *sorted { return &sorted{file: file} }

func (s *sorted) next() (record, error) {
	for len(s.page) == 0 {
		if s.last {
			return record{}, io.EOF
		}
		if err := s.turn(); err != nil {
			return record{}, err
		}
	}
	r := s.page[0]
	s.page = s.page[1:]
	return r, nil
}

// turn finds the records that follow in order.
func (s *sorted) turn() error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	found, bound := make(map[string]record), ""
	s.last = true
	for in := newScanner(s.file); ; {
		r, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if s.some && r.path <= s.from || bound != "" && r.path > bound {
			continue
		}
		found[r.path] = r
		if len(found) >= 2*sortedAtOnce {
			bound, s.last = halve(found), false
		}
	}
	if len(found) > sortedAtOnce {
		halve(found)
		s.last = false
	}
	for _, path := range sortedPaths(found) {
		s.page = append(s.page, found[path])
		s.from, s.some = path, true
	}
	return nil
}

// halve keeps the first of the records, and returns the path of their last.
func halve(found map[string]record) string {
	paths := sortedPaths(found)
	for _, path := range paths[sortedAtOnce:] {
		delete(found, path)
	}
	return paths[sortedAtOnce-1]
}

func sortedPaths(found map[string]record) []string {
	paths := make([]string, 0, len(found))
	for path := range found {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

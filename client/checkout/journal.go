package checkout

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
)

// journal is what a run does, each before it is done. A process that is killed has
// written all of it.
type journal struct {
	file   *os.File
	buffer []byte
	// delayed journals are written when they are flushed: until then nothing is
	// done. What they hold before that is bounded all the same.
	delayed bool
}

// mostDelayed is worth a call of the system.
const mostDelayed = 64 << 10

func createJournal(name string) (*journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

// add is for one goroutine at a time.
func (j *journal) add(r record) error {
	j.buffer = r.appendTo(j.buffer)
	if j.delayed && len(j.buffer) < mostDelayed {
		return nil
	}
	return j.flush()
}

// flush writes what was added.
func (j *journal) flush() error {
	_, err := j.file.Write(j.buffer)
	j.buffer = j.buffer[:0]
	return err
}

func (j *journal) close() error { return j.file.Close() }

// sortedAtOnce bounds the memory of sorting. A journal is nearly in order, so that
// what is sorted later lies behind what was sorted before.
const sortedAtOnce = 10_000

// sorted reads a journal in the order of the paths. Of one path the last record
// counts.
type sorted struct {
	file  *os.File
	start int64  // where the first record is that was not given
	from  string // all paths up to that were given
	some  bool   // were given
	page  []record
	last  bool // page is
}

// placed is a record, and where in the journal its path is named first.
type placed struct {
	record
	at int64
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
	at, found, bound := s.start, make(map[string]placed), ""
	if _, err := s.file.Seek(at, io.SeekStart); err != nil {
		return err
	}
	later := int64(-1) // where the first one is that does not follow yet
	put := func(r placed) {
		if later < 0 || r.at < later {
			later = r.at
		}
	}
	for in := newScanner(s.file); ; {
		text, err := in.text()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		r, err := parseRecord(text)
		if err != nil {
			return err
		}
		here := placed{r, at}
		at += int64(len(text)) + 1
		switch first, known := found[r.path]; {
		case s.some && r.path <= s.from:
			continue
		case bound != "" && r.path > bound:
			put(here)
			continue
		case known:
			here.at = first.at
		}
		if found[r.path] = here; len(found) >= 2*sortedAtOnce {
			bound = halve(found, put)
		}
	}
	if len(found) > sortedAtOnce {
		halve(found, put)
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		s.page = append(s.page, found[path].record)
		s.from, s.some = path, true
	}
	s.start, s.last = later, later < 0
	return nil
}

// halve keeps the first of the records, puts the others off, and returns the path of
// the last that it keeps.
func halve(found map[string]placed, put func(placed)) string {
	paths := slices.Sorted(maps.Keys(found))
	for _, path := range paths[sortedAtOnce:] {
		put(found[path])
		delete(found, path)
	}
	return paths[sortedAtOnce-1]
}

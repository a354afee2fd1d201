package checkout

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// journal records what a run does, each step before it is done. A killed process has written all of
// it.
type journal struct {
	file   *os.File
	buffer []byte
	// delayed journals are written when they are flushed: nothing is done until then. Their buffer
	// is bounded nevertheless.
	delayed bool
}

// mostDelayed is a worthwhile size for one system call.
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

func (j *journal) flush() error {
	_, err := j.file.Write(j.buffer)
	j.buffer = j.buffer[:0]
	return err
}

func (j *journal) close() error { return j.file.Close() }

// sortedAtOnce bounds the memory of sorting. A journal is nearly in order, so records that are
// sorted later lie behind those that were sorted before.
const sortedAtOnce = 10_000

// sorted reads a journal in the order of paths. The last record of a path counts.
type sorted struct {
	file  *os.File
	start int64  // where the first unread record is
	from  string // all paths up to this one were returned
	page  []record
	last  bool // this is the last page
}

// placed is a record, and where the journal first names its path.
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

// turn finds the following records in order.
func (s *sorted) turn() error {
	if _, err := s.file.Seek(s.start, io.SeekStart); err != nil {
		return err
	}
	var found []placed
	bound, later := "", int64(math.MaxInt64) // where the first postponed record is
	keepFirst := func() {
		if found = arrange(found); len(found) <= sortedAtOnce {
			return
		}
		for _, r := range found[sortedAtOnce:] {
			later = min(later, r.at)
		}
		found = found[:sortedAtOnce]
		bound = found[sortedAtOnce-1].path
	}
	in, next := newScanner(s.file), s.start
	for {
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
		at := next
		next += int64(len(text)) + 1
		switch {
		case r.path <= s.from:
		case bound != "" && r.path > bound:
			later = min(later, at)
		default:
			found = append(found, placed{r, at})
		}
		if len(found) == 2*sortedAtOnce {
			keepFirst()
		}
	}
	keepFirst()
	s.page = make([]record, len(found))
	for i, r := range found {
		s.page[i], s.from = r.record, r.path
	}
	s.start, s.last = later, later == math.MaxInt64
	return nil
}

// arrange sorts records by path. The last record of a path stays, in the place of the first.
func arrange(found []placed) []placed {
	slices.SortStableFunc(found, func(a, b placed) int { return strings.Compare(a.path, b.path) })
	some := found[:0]
	for _, r := range found {
		if end := len(some) - 1; end >= 0 && some[end].path == r.path {
			some[end].record = r.record
		} else {
			some = append(some, r)
		}
	}
	return some
}

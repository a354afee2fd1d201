package search

import (
	"bytes"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// addBatch adds the steps of a batch to the result in order, until a limit is reached.
func (s *search) addBatch(b *batch) (stopped bool, err error) {
	for i := range b.steps {
		st := &b.steps[i]
		if stop := s.exceeded(st); stop != "" {
			s.count(st.before)
			s.stop(stop, st, 0)
			return true, nil
		}
		if stopped, err = s.addStep(st); stopped || err != nil {
			return stopped, err
		}
	}
	return false, nil
}

// exceeded returns the limit that stops the search before a step. It never stops where the call
// began, so that every call makes progress.
func (s *search) exceeded(st *step) Stop {
	if !s.moved || st.resumed || st.kind == leave || st.kind == problem || st.kind == end {
		return ""
	}
	limits := s.limits
	if s.ranked != nil && s.ranked.slice.files > 0 {
		if s.ranked.isPast(s.result.Counts, st) {
			return s.ranked.slice.cut
		}
		limits = limits.again()
	}
	switch {
	case s.ranked != nil && len(s.ranked.candidates) >= maxCandidates:
		return StopCandidates
	case s.output >= limits.OutputBytes:
		return StopOutput
	case s.result.Counts.Files >= limits.Files:
		return StopFiles
	case s.read.Load() > limits.ReadBytes:
		return StopRead
	case time.Since(s.start) > limits.Time:
		return StopTime
	}
	return ""
}

// stop records why and where the search stops: before a step, or after some lines of its file.
func (s *search) stop(why Stop, st *step, lines int) {
	var at position
	if st.kind == begin {
		at.repository = st.target.name
	} else {
		at = position{s.target.name, s.target.commit, st.path, lines}
	}
	if s.ranked != nil {
		s.ranked.stop(why, at, s.result.Counts)
		return
	}
	s.result.Stopped, s.result.Cursor = why, at.encode(s.sum)
}

func (s *search) addStep(st *step) (stopped bool, err error) {
	s.count(st.before)
	switch st.kind {
	case begin:
		s.target = st.target
		if !st.resumed || s.ranked != nil { // each page counts all that is ranked
			s.result.Counts.Repositories++
		}
		if s.ranked != nil {
			s.ranked.begin(st.target)
		}
	case enter:
		s.folders = append(s.folders, folder{step: *st})
	case skipped:
		s.count(st.whole)
		s.moved = true
	case leave:
		s.leaveFolder()
	case problem:
		s.result.Counts.Broken++
		s.addProblem(st.target.name, "", st.err)
		s.closeRepository(st)
	case end:
		s.closeRepository(st)
	case file:
		stopped, err = s.addFile(st)
		s.moved = true
	}
	return stopped, err
}

// count adds to the counts of the result and of the current folder.
func (s *search) count(c Counts) {
	s.result.Counts.add(c)
	if n := len(s.folders); n > 0 {
		s.folders[n-1].gap.add(c)
	}
}

// leaveFolder completes the answer of a folder, and adds it to that of the parent.
func (s *search) leaveFolder() {
	last := len(s.folders) - 1
	f := s.folders[last]
	s.folders = s.folders[:last]
	f.answer.tail = f.gap
	if f.step.remember && !f.broken {
		s.trees.putTree(s.treeKey(f.step.id, f.step.path), f.answer)
	}
	s.moved = s.moved || !f.step.resumed
	if last == 0 {
		return
	}
	outer := &s.folders[last-1]
	outer.broken = outer.broken || f.broken
	if len(f.answer.children) == 0 {
		outer.gap.add(f.answer.tail)
		return
	}
	outer.child(&f.step, true)
}

func (f *folder) child(st *step, isFolder bool) {
	f.answer.children = append(f.answer.children, child{f.gap, st.name, st.id, isFolder})
	f.gap = Counts{}
}

func (s *search) closeRepository(st *step) {
	s.folders = s.folders[:0]
	s.target = nil
	s.moved = true
	if i := slices.Index(s.open, st.target); i >= 0 {
		st.target.close()
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// addProblem records what could not be searched.
func (s *search) addProblem(repository, path string, err error) {
	if len(s.result.Problems) < maxProblems {
		s.result.Problems = append(s.result.Problems, Problem{repository, path, err})
	}
}

func (s *search) addFile(st *step) (stopped bool, err error) {
	if counts, ok := st.outcome.counts(); ok {
		s.count(counts)
		return false, nil
	}
	switch st.outcome {
	case damaged:
		s.count(Counts{Damaged: 1})
		s.addProblem(s.target.name, st.path, st.err)
		s.folders[len(s.folders)-1].broken = true
	case matches:
		if s.ranked == nil {
			return s.addLines(st)
		}
		s.result.Counts.Files++
		s.folders[len(s.folders)-1].child(st, false)
		s.ranked.add(s.target, st)
	case unknown: // the batch was cut short
		return false, s.queue.Err()
	}
	return false, nil
}

// addLines adds the lines of a file with matches, as many as fit.
func (s *search) addLines(st *step) (stopped bool, err error) {
	if s.result.Lines >= s.limits.Lines {
		s.stop(StopLines, st, st.skip)
		return true, nil
	}
	if st.skip == 0 {
		s.result.Counts.Files++
	}
	s.folders[len(s.folders)-1].child(st, false)
	lines, returned, err := s.linesFor(st)
	if err != nil || len(lines) == 0 {
		return false, err
	}
	f := File{Repository: s.target.name, Commit: s.target.commit, Path: st.path, Blob: st.id, Lines: lines}
	s.result.Lines += len(lines)
	if s.request.Before+s.request.After > 0 {
		if f.Lines, err = s.withContext(st, lines); err != nil {
			return false, err
		}
	}
	s.result.Files = append(s.result.Files, f)
	s.output += len(f.Path)
	for i := range f.Lines {
		s.output += len(f.Lines[i].Text)
	}
	if returned < 0 {
		return false, nil
	}
	why := StopLines
	if s.result.Lines < s.limits.Lines {
		why = StopOutput
	}
	s.stop(why, st, returned)
	return true, nil
}

// linesFor returns the lines of a file that this call may return. returned counts the lines of all
// calls so far if there are more, else it is negative.
func (s *search) linesFor(st *step) (lines []Line, returned int, err error) {
	first := st.found.(*packedLines)
	t := linePage{skip: st.skip, room: s.limits.Lines - s.result.Lines, space: s.limits.OutputBytes - s.output}
	t.lines = make([]Line, 0, min(t.room, max(first.lines-st.skip, 0)))
	for part := first; ; {
		if full := t.fill(part); full {
			return t.lines, st.skip + len(t.lines), nil
		}
		if !part.more {
			return t.lines, -1, nil
		}
		// One line more than needed tells whether there is another one.
		if part, err = s.scanFrom(st, part.next, (t.skip+t.room-len(t.lines)+1)*shownBytes); err != nil {
			return nil, 0, err
		}
	}
}

// linePage collects lines until it is full.
type linePage struct {
	skip  int // lines to skip: an earlier call returned them
	room  int // lines
	space int // bytes of text
	lines []Line
}

// fill adds lines, and reports whether some did not fit.
func (t *linePage) fill(part *packedLines) (full bool) {
	all := part.unpack()
	for line, ok := all.next(); ok; line, ok = all.next() {
		if t.skip > 0 {
			t.skip--
			continue
		}
		if len(t.lines) == t.room || t.space <= 0 && len(t.lines) > 0 {
			return true
		}
		t.space -= len(line.Text)
		t.lines = append(t.lines, line)
	}
	return false
}

// scanFrom continues the search of a file after its packed lines, for about limit bytes of lines.
func (s *search) scanFrom(st *step, from pattern.Position, limit int) (*packedLines, error) {
	var part *packedLines
	if err := s.onWorker(s.target, st.id, func(sc *scratch, content []byte) {
		takes, _ := s.query.symbols.filter(index.NamerOf(st.path), content)
		part = collectLines(sc, s.query.pattern, takes, content, from, max(limit, packedBytes))
	}); err != nil {
		return nil, err
	}
	return part, nil
}

// withContext inserts the context lines.
func (s *search) withContext(st *step, lines []Line) ([]Line, error) {
	var all []Line
	if err := s.onWorker(s.target, st.id, func(sc *scratch, content []byte) {
		all = linesAround(sc, content, lines, s.request.Before, s.request.After, shownBytes)
	}); err != nil {
		return nil, err
	}
	return all, nil
}

// linesAround collects the lines near the matching ones in one pass over the content.
func linesAround(sc *scratch, content []byte, lines []Line, before, after, width int) []Line {
	all := make([]Line, 0, len(lines)*(1+before+after))
	number, last := 0, 0 // last is the number of the last context line
	for len(content) > 0 && (len(lines) > 0 || number < last) {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		number++
		switch {
		case len(lines) > 0 && lines[0].Number == number:
			all = append(all, lines[0])
			lines, last = lines[1:], number+after
		case number <= last || len(lines) > 0 && number >= lines[0].Number-before:
			all = append(all, displayLine(number, line, nil, width, sc))
		}
	}
	return all
}

package search

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/search/rank"
)

const (
	// maxCandidates bounds the files that are ranked together, some hundred bytes each. A search that
	// finds more ranks these, and the others on later pages.
	maxCandidates = 20_000
	// maxReread bounds the files that are read again for words that stand together: the first by the
	// other signals. The result names those that cannot be read, because they move the others.
	maxReread = 100
)

// tally is what is known of a file that may be ranked.
type tally struct{ rank.Tally }

// Costs of a tally, with its slot in a map.
const (
	tallyCost = 200
	countCost = 16
)

func (t *tally) cost() int { return tallyCost + countCost*len(t.Counts) }

// tallyOf counts the words of a query in a text.
func tallyOf(sc *scratch, q *compiled, text rank.Text) (outcome, finding) {
	t := &tally{sc.ranker.Tally(q.ranking, text)}
	if len(t.Counts) == 0 {
		return none, nil
	}
	return matches, t
}

// textOf returns a file's content as it is ranked.
func (c *compiled) textOf(namer *definitions.Namer, takes lineFilter, content []byte) rank.Text {
	text := rank.Text{Content: content, Pattern: c.pattern, Defines: takes}
	if namer != nil {
		text.Name = namer.Name
	}
	return text
}

// ranked is the state of a search whose files are ranked.
type ranked struct {
	slice      slice
	candidates []candidate
	digest     hash.Hash // of the commits that were walked, in order
	commits    commits   // the same
	// pinned are the commits of the first page, if they are remembered; others are not walked then.
	pinned commits
}

// commits are those of repositories, by name.
type commits map[string]git.ID

// cost estimates the memory.
func (c commits) cost() int64 {
	const slot = 100
	cost := int64(slot)
	for name := range c {
		cost += int64(slot + len(name))
	}
	return cost
}

// maxPinned bounds the commits of several repositories that are remembered for later pages: those of a hundred
// searches of some hundred repositories, or of a few of ten thousand.
const maxPinned = 4 << 20

// candidate is a file with matches.
type candidate struct {
	repository string
	commit     git.ID
	path       string
	id         git.ID
	tally      *tally
	score      rank.Score
	failed     error // why it could not be read again
}

func newRanked() *ranked { return &ranked{digest: sha256.New(), commits: make(commits)} }

// resume takes the state of an earlier page out of a cursor.
func (r *ranked) resume(s slice, pinned *lru.Cache[[sumBytes]byte, commits]) {
	r.slice = s
	if s.shown > 0 {
		r.pinned, _ = pinned.Get(s.sum)
	}
}

// walked counts the files up to a place in the walk, whether they are searched or not. Unlike the steps, it does
// not depend on the cache.
func (c Counts) walked() int { return c.Files + c.Binary + c.Large + c.Damaged }

// begin notes that the walk of a repository begins.
func (r *ranked) begin(t *target) {
	if r.slice.start.repository == "" {
		r.slice.start = position{repository: t.name, commit: t.commit}
	}
	r.digest.Write(fmt.Appendf(nil, "%q %s\n", t.name, t.commit))
	r.commits[t.name] = t.commit
}

// isPast reports whether a step is behind the slice.
func (r *ranked) isPast(done Counts, st *step) bool {
	return r.slice.files > 0 && done.walked()+st.before.walked() >= r.slice.files
}

func (r *ranked) add(t *target, st *step) {
	r.candidates = append(r.candidates, candidate{
		repository: t.name, commit: t.commit, path: st.path, id: st.id, tally: st.found.(*tally),
	})
}

// stop notes where the walk ends because of a limit.
func (r *ranked) stop(why Stop, at position, done Counts) {
	if r.slice.files == 0 {
		r.slice.files, r.slice.cut, r.slice.next = done.walked(), why, at
	}
}

// sum identifies what was ranked.
func (r *ranked) sum() (sum [sumBytes]byte) {
	r.digest.Write(fmt.Appendf(nil, "%d", len(r.candidates)))
	copy(sum[:], r.digest.Sum(nil))
	return sum
}

// rankFiles orders the candidates, and makes the result of those that belong on this page.
func (s *search) rankFiles() error {
	r := s.ranked
	sum := r.sum()
	if r.slice.shown > 0 && r.slice.sum != sum {
		return ErrChanged
	}
	r.slice.sum = sum
	if len(r.commits) > 1 { // the commit of one is in the cursor
		s.pinned.Put(sum, r.commits, r.commits.cost())
	}
	statistics := s.query.ranking.Statistics()
	statistics.Files = s.result.Counts.walked()
	if r.slice.files > 0 {
		statistics.Files = r.slice.files
	}
	for i := range r.candidates {
		statistics.Add(&r.candidates[i].tally.Tally)
	}
	var scanner rank.Scanner
	for i := range r.candidates {
		c := &r.candidates[i]
		c.score = scanner.Score(s.query.ranking, statistics, c.path, &c.tally.Tally)
	}
	s.result.Missing = slices.DeleteFunc(s.query.ranking.Missing(statistics), func(name string) bool {
		return slices.ContainsFunc(r.candidates, func(c candidate) bool { return hasName(c.path, name) })
	})
	slices.SortFunc(r.candidates, compareCandidates)
	first := r.candidates[:min(len(r.candidates), maxReread)]
	if err := s.reread(first, func(i int, sc *scratch, text rank.Text) {
		first[i].score.Value *= sc.ranker.Read(s.query.ranking, statistics, text, 0).Together
	}); err != nil {
		return err
	}
	slices.SortFunc(first, compareCandidates)
	return s.page(statistics)
}

// hasName reports whether a path has a name, but for its underscores.
func hasName(path, name string) bool {
	return strings.Contains(strings.ToLower(strings.ReplaceAll(path, "_", "")), strings.ToLower(name))
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(a.score.Compare(b.score), cmp.Compare(a.repository, b.repository), cmp.Compare(a.path, b.path))
}

// page makes the result of the candidates that belong on this page.
func (s *search) page(statistics *rank.Statistics) error {
	r, result := s.ranked, s.result
	result.Ranked, result.Cut = len(r.candidates), r.slice.cut
	start := min(r.slice.shown, len(r.candidates))
	page := r.candidates[start:min(start+s.limits.Ranked, len(r.candidates))]
	files := make([]File, len(page))
	if err := s.reread(page, func(i int, sc *scratch, text rank.Text) {
		files[i] = s.rankedFile(&page[i], sc, text, statistics)
	}); err != nil {
		return err
	}
	var ends []int // of the shown files, as places among the candidates
	for i := range page {
		if page[i].failed != nil {
			continue
		}
		result.Files = append(result.Files, files[i])
		ends = append(ends, start+i+1)
		for j := range files[i].Lines {
			if files[i].Lines[j].Matches() {
				result.Lines++
			}
		}
	}
	result.after = func(files int) string {
		if files >= len(ends) {
			return s.cursorAt(start + len(page))
		}
		return s.cursorAt(ends[files-1])
	}
	if result.Cursor = s.cursorAt(start + len(page)); result.Cursor != "" {
		result.Stopped = StopRanked
	}
	return nil
}

// cursorAt returns the cursor that continues after some candidates, "" if nothing is left.
func (s *search) cursorAt(shown int) string {
	next := s.ranked.slice
	next.shown = shown
	if shown == len(s.ranked.candidates) {
		if next.files == 0 {
			return ""
		}
		next = slice{start: s.ranked.slice.next}
	}
	return next.encode(s.query.sum(s.request.Ref))
}

// rankedFile returns a file with its best lines.
func (s *search) rankedFile(c *candidate, sc *scratch, text rank.Text, statistics *rank.Statistics) File {
	reading := sc.ranker.Read(s.query.ranking, statistics, text, s.limits.FileLines)
	lines := make([]Line, len(reading.Lines))
	for i, l := range reading.Lines {
		lines[i] = displayLine(l.Number, text.Content[l.Start:l.End], l.Spans, rankedBytes, sc)
		lines[i].Ranges = slices.Clone(lines[i].Ranges)
		lines[i].Place, lines[i].Definition = l.Place, l.Definition
	}
	f := File{
		Repository: c.repository, Commit: c.commit, Path: c.path, Blob: c.id, Lines: lines,
		More: reading.Matching - len(lines),
	}
	if s.request.Before+s.request.After > 0 {
		f.Lines = linesAround(sc, text.Content, lines, s.request.Before, s.request.After, rankedBytes)
	}
	return f
}

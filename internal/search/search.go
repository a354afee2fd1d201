package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search/index"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// Options of a [Searcher]. A zero field means its default.
type Options struct {
	// CacheBytes bounds the cache of earlier searches.
	CacheBytes int64
	// FileBytes is the size above which files are not searched.
	FileBytes int64
	// Index tells which files can match; nil: all are read. It must have the same FileBytes.
	Index *index.Index
	// TextBytes bounds the texts of files and the entries of folders that are kept for later searches.
	TextBytes int64
}

// The defaults of [Options].
const (
	// DefaultCacheBytes holds some hundred searches of a large source tree with few matches, or a
	// handful with a hundred thousand.
	DefaultCacheBytes = 64 << 20
	// DefaultFileBytes is above every source file that a person reads. Each worker may hold one
	// file.
	DefaultFileBytes = 4 << 20
	// DefaultTextBytes holds the texts of a large source tree.
	DefaultTextBytes = 128 << 20
)

// Searcher searches the repositories of a catalogue. Any number of goroutines may use it.
type Searcher struct {
	catalogue repos.Views
	scheduler *workers.Scheduler
	options   Options
	cache     *answerCache
	objects   *objects
	slot      *workers.Slot[*scratch]
	pinned    *lru.Cache[[sumBytes]byte, commits] // of ranked searches, by slice.sum
}

// New makes the one searcher of a process. The scheduler's workers search the files.
func New(catalogue repos.Views, scheduler *workers.Scheduler, options Options) *Searcher {
	options.CacheBytes = cmp.Or(options.CacheBytes, DefaultCacheBytes)
	options.FileBytes = cmp.Or(options.FileBytes, DefaultFileBytes)
	options.TextBytes = cmp.Or(options.TextBytes, DefaultTextBytes)
	return &Searcher{
		catalogue: catalogue, scheduler: scheduler, options: options, cache: newAnswerCache(options.CacheBytes),
		objects: newObjects(options.TextBytes),
		slot:    workers.NewSlot(func() *scratch { return new(scratch) }),
		pinned:  lru.New[[sumBytes]byte, commits](maxPinned),
	}
}

// search is one call of [Searcher.Search].
type search struct {
	*Searcher
	ctx      context.Context
	view     repos.View
	request  Request
	limits   Limits
	query    *compiled
	sum      [sumBytes]byte
	queue    *workers.Queue
	files    *answers // keyed by the terms
	trees    *answers // keyed by the terms and the filter
	read     atomic.Int64
	buffered atomic.Int64 // bytes of lines that wait to be added
	start    time.Time

	// skipLines is the number of lines of the cursor's file that an earlier call returned.
	skipLines int

	ranked  *ranked     // nil if the order is ByPath
	indexed *index.View // nil if all files are read

	open    []*target
	pending []*batch
	steps   [][]step // of batches that were added
	folders []folder // path of the current result
	target  *target  // repository of the current result
	moved   bool     // past the start of the call
	output  int
	result  *Result
}

// folder is a folder whose answer is being assembled.
type folder struct {
	step   step
	answer treeAnswer
	gap    Counts // since the last child
	broken bool   // something below it could not be searched
}

// Search runs a query in the repositories that are visible to the context's visitor; others do not
// exist for it. Mistakes in the query are a [*QueryError], and an unusable cursor is [ErrCursor]. A
// search of one named repository fails with that repository's error: [git.ErrNotFound] if the
// repository or the ref does not exist. Problems of other repositories are in the result. Where no file has a word
// that ranks files, those that have all words within longer ones are found.
func (s *Searcher) Search(ctx context.Context, request Request) (*Result, error) {
	result, err := s.search(ctx, request)
	again := errors.Is(err, ErrCursor) // it may be of a search within words
	if err == nil {
		again = result.Ranked == 0 && result.Cut == "" && result.Counts.Files > 0
	}
	if !again || request.Order == ByPath || len(request.Query.Words) == 0 {
		return result, err
	}
	request.Query = request.Query.literal()
	if within, failed := s.search(ctx, request); failed == nil && within.Ranked > 0 {
		within.Within = true
		return within, nil
	}
	return result, err
}

// search is Search for the words as they are.
func (s *Searcher) search(ctx context.Context, request Request) (*Result, error) {
	query, err := compile(request.Query, request.Order)
	if wrong := new(pattern.Error); errors.As(err, &wrong) {
		err = &QueryError{Text: wrong.Text}
	}
	if err != nil {
		return nil, err
	}
	request.Before, request.After = min(max(request.Before, 0), MaxContext), min(max(request.After, 0), MaxContext)
	run := &search{
		Searcher: s, ctx: ctx, view: s.catalogue.For(ctx),
		request: request, limits: request.Limits.withDefaults(), query: query,
		sum: query.sum(request.Ref), start: time.Now(), result: new(Result),
		files: s.cache.forQuery(query.key()),
		trees: s.cache.forQuery(query.key() + "\x00" + query.filterKey),
	}
	if request.Order == ByRank {
		run.ranked = newRanked()
	}
	if s.options.Index != nil && !query.mayTakeLong(s.options.FileBytes) {
		run.indexed = s.options.Index.View(query.forIndex())
		run.result.Scanned = run.indexed.Scans
	}
	w, err := run.walk()
	if err != nil {
		return nil, err
	}
	w.heads = run.newHeads(w.names)
	run.queue = s.scheduler.QueueOf(access.ClientOf(ctx))
	defer run.close()
	if err := run.run(w); err != nil {
		return nil, err
	}
	if run.ranked != nil {
		if err := run.rankFiles(); err != nil {
			return nil, err
		}
	}
	return run.result, nil
}

// close ends the workers' tasks before it closes the snapshots that they read.
func (s *search) close() {
	s.queue.Close()
	for _, t := range s.open {
		t.close()
	}
}

func (s *search) treeKey(id git.ID, path string) treeKey {
	if s.query.filterKey == "" {
		path = ""
	}
	return treeKey{id, path}
}

// walk selects the repositories and returns a walk before the first.
func (s *search) walk() (*walk, error) {
	w := &walk{search: s}
	var err error
	if w.names, w.single, err = s.repositories(); err != nil {
		return nil, err
	}
	if s.request.Cursor == "" {
		return w, nil
	}
	if s.ranked != nil {
		var from slice
		from, err = decodeSlice(s.request.Cursor, s.sum)
		s.ranked.resume(from, s.pinned)
		w.from = from.start
	} else {
		w.from, err = decodeCursor(s.request.Cursor, s.sum)
	}
	if err != nil {
		return nil, err
	}
	at, exists := slices.BinarySearch(w.names, w.from.repository)
	if !exists && !w.from.commit.IsZero() {
		return nil, ErrCursor
	}
	w.names = w.names[at:]
	if s.ranked != nil && s.ranked.pinned != nil {
		w.names = slices.DeleteFunc(w.names, func(name string) bool { return s.ranked.pinned[name].IsZero() })
	}
	return w, nil
}

// repositories lists the selected names in order. A name without a glob must exist: the query asked
// for that repository.
func (s *search) repositories() (names []string, single bool, err error) {
	choice := s.query.query.Repositories
	for _, name := range choice.Any {
		if isGlob(name) {
			continue
		}
		// Get finds repositories that the catalogue does not list yet.
		if _, err := s.view.Get(name); err != nil && !errors.Is(err, git.ErrNotFound) &&
			!errors.Is(err, git.ErrInvalid) {
			return nil, false, err
		}
	}
	for _, name := range s.view.Names() {
		if choice.selects(func(v string) bool { return matchRepository(v, name) }) {
			names = append(names, name)
		}
	}
	for _, wanted := range choice.Any {
		isIt := func(name string) bool { return strings.EqualFold(name, wanted) }
		excludes := func(value string) bool { return matchRepository(value, wanted) }
		if !isGlob(wanted) && !slices.ContainsFunc(names, isIt) && !slices.ContainsFunc(choice.None, excludes) {
			return nil, false, fmt.Errorf("repository %q: %w", wanted, git.ErrNotFound)
		}
	}
	return names, len(names) == 1 && len(choice.Any) == 1 && !isGlob(choice.Any[0]), nil
}

const (
	// firstWindow is the number of pending batches per worker at first: a search that finds a page
	// of lines in the first files should not read many more.
	firstWindow = 2
	// maxWindow bounds the growth of pending batches, one for each added batch: on a busy machine a
	// worker's thread may wait for long, and later results must wait for its files.
	maxWindow = 64
	// maxOpen bounds the open repositories, whose packs take file descriptors.
	maxOpen = 16
)

// run walks ahead, and adds results in order.
func (s *search) run(w *walk) error {
	size := firstWindow * s.scheduler.Workers()
	for more := true; more || len(s.pending) > 0; size = min(size+1, maxWindow) {
		for more && len(s.pending) < size && len(s.open) < maxOpen && !s.isNextDone() {
			b, err := s.fill(w, &more)
			if err != nil {
				return err
			}
			s.pending = append(s.pending, b)
		}
		b := s.pending[0]
		s.pending = s.pending[1:]
		if err := s.wait(b.done); err != nil {
			return err
		}
		if stopped, err := s.addBatch(b); stopped || err != nil {
			return err
		}
		s.buffered.Add(-b.buffered)
		clear(b.steps)
		s.steps = append(s.steps, b.steps[:0])
	}
	if s.result.Counts.Repositories == 0 && w.refError != nil && s.request.Ref != "" && s.request.Cursor == "" {
		return fmt.Errorf("no selected repository has the ref %q: %w", s.request.Ref, w.refError)
	}
	return nil
}

// isNextDone reports whether the next batch can be added. It is added before others are made, so that those take its
// room: many batches have no file to read.
func (s *search) isNextDone() bool {
	if len(s.pending) == 0 {
		return false
	}
	select {
	case <-s.pending[0].done:
		return true
	default:
		return false
	}
}

// takeSteps returns room for the steps of a batch: large repositories and many small ones need much of it.
func (s *search) takeSteps() []step {
	last := len(s.steps) - 1
	if last < 0 {
		return nil
	}
	room := s.steps[last]
	s.steps = s.steps[:last]
	return room
}

// fill makes the next batch and hands it to the workers. A batch ends at the end of a repository that was read,
// because adding it closes the snapshot.
func (s *search) fill(w *walk, more *bool) (*batch, error) {
	b := &batch{search: s, done: make(chan struct{}), steps: s.takeSteps()}
	for len(b.todo) < batchFiles && len(b.steps) < batchSteps {
		next, ok, err := w.next(s.ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			*more = false
			break
		}
		if next.kind == begin && next.target.snapshot != nil {
			s.open = append(s.open, next.target)
		}
		if next.kind == file && (next.outcome == unknown || next.unsure) {
			b.todo = append(b.todo, len(b.steps))
		}
		b.target = w.target
		b.steps = append(b.steps, next)
		if next.kind == problem || next.kind == end && (next.target.snapshot != nil || len(b.todo) > 0) {
			b.target = next.target
			break
		}
	}
	if len(b.todo) > 0 {
		if err := s.openTarget(b.target); err != nil {
			b.fail(err)
		}
	}
	if len(b.todo) == 0 {
		close(b.done)
		return b, nil
	}
	return b, s.queue.Submit(b)
}

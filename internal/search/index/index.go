package index

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// Options of an [Index]. A zero field means its default.
type Options struct {
	// Repositories are all that are indexed, for whatever client. Scheduler has the workers that read them.
	Repositories repos.View
	Scheduler    *workers.Scheduler
	// Memory bounds the memory in bytes: see [New].
	Memory int64
	// Dir is the folder of the segments; they are in memory if it is "". DirBytes bounds its files.
	Dir      string
	DirBytes int64
	// Shared is object storage where servers share segments; nil: none.
	Shared cache.Bucket
	// FileBytes is the size above which files are not searched.
	FileBytes int64
	Logger    *slog.Logger
}

// The defaults of [Options].
const (
	// DefaultMemory indexes some 400 MiB of texts without a folder.
	DefaultMemory = 128 << 20
	// DefaultDirBytes indexes some 30 GiB of texts, if the memory is enough for their documents.
	DefaultDirBytes = 10 << 30
)

// formatVersion changes with the format of segments, and with what [analyzer] finds.
const formatVersion = 1

// Index is the index of all repositories of a process. Any number of goroutines may use it.
type Index struct {
	options Options
	version string
	storage storage
	bound   int64 // of the segments' bytes
	room    int   // of the segments, for documents
	most    int   // documents, with those that have left the segments
	wake    chan struct{}

	heads    *lru.Cache[string, knownHead] // by repository
	progress progress                      // of the goroutine that builds
	own      []string                      // segments that this process has shared; of the same goroutine

	// reading is held while segments are read, and locked while files are closed.
	reading sync.RWMutex

	changing sync.Mutex // held while the state is replaced
	mu       sync.Mutex
	state    *state
	wanted   []want                       // by searches
	asked    *lru.Cache[git.ID, struct{}] // trees that were wanted before
	lost     int                          // damaged segments that were dropped, whose files are to be found again
	full     bool                         // there was no room for a segment
}

// New returns an index, with the segments in its folder. A quarter of the memory is for the numbers of documents, half
// for the segments if they are in memory, a sixteenth for the candidates of late queries, half of that for the trees
// that were looked at, and the rest for what is below folders. Close it.
func New(o Options) (*Index, error) {
	o.Memory, o.DirBytes = cmp.Or(o.Memory, DefaultMemory), cmp.Or(o.DirBytes, DefaultDirBytes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{
		options: o, storage: memory{}, bound: o.Memory / 2, most: int(o.Memory / 4 / documentCost),
		room:    int(o.Memory / 4 / documentCost * 3 / 4),
		version: fmt.Sprintf("%d %d %s %d", formatVersion, rank.FormsVersion, definitions.Version(), o.FileBytes),
		wake:    make(chan struct{}, 1), asked: lru.New[git.ID, struct{}](maxAsked),
		heads: lru.New[string, knownHead](maxHeads),
	}
	x.state = &state{numbering: x.newNumbering(), absent: roaring.New(), views: x.newViews()}
	if o.Dir == "" {
		return x, nil
	}
	folder, err := openFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	x.storage, x.bound = folder, o.DirBytes
	x.load(folder)
	return x, nil
}

// viewShare is the part of the memory for views, and treeShare that for trees that were looked at.
const viewShare, treeShare = 16, 32

func (x *Index) newNumbering() *numbering {
	bytes := x.options.Memory / 4
	if x.options.Dir != "" {
		bytes *= 3
	}
	return newNumbering(bytes - x.options.Memory/viewShare - x.options.Memory/treeShare)
}

func (x *Index) newViews() *lru.Cache[string, View] {
	return lru.New[string, View](x.options.Memory / viewShare)
}

// Close closes the files. No search may run, nor [Index.Run].
func (x *Index) Close() error {
	for _, s := range x.now().segments {
		_ = s.close() // it was only read
	}
	return x.storage.close()
}

// Stats tells how large an index is.
type Stats struct {
	Segments, Documents int
	Bytes, TextBytes    int64
}

// Stats returns the present size.
func (x *Index) Stats() (s Stats) {
	now := x.now()
	s.Segments, s.Documents = len(now.segments), len(now.known)-int(now.absent.GetCardinality())
	for _, segment := range now.segments {
		s.Bytes += segment.size
		s.TextBytes += segment.text
	}
	return s
}

func (x *Index) now() *state {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state
}

// replace replaces segments by others, which have been opened with their documents. Numbers begin anew if there are
// too many, or with anew.
func (x *Index) replace(anew bool, gone []*segment, added ...opened) {
	x.changing.Lock()
	defer x.changing.Unlock()
	old := x.now()
	next := &state{numbering: old.numbering, views: x.newViews()}
	for _, s := range old.segments {
		if !slices.ContainsFunc(gone, func(g *segment) bool { return g.name == s.name }) {
			next.segments = append(next.segments, s)
		}
	}
	for _, o := range added {
		o.numbers, o.foreign = next.numbering.add(o.documents)
		next.segments = append(next.segments, o.segment)
	}
	if anew || len(next.numbering.all()) > x.most {
		x.renumber(next)
	}
	next.known = next.numbering.all()
	next.absent = roaring.New()
	next.absent.AddRange(0, uint64(len(next.known)))
	present := roaring.New()
	for _, s := range next.segments {
		present.AddMany(s.numbers)
	}
	next.absent.AndNot(present)
	x.mu.Lock()
	x.state = next
	x.mu.Unlock()
}

// opened is a segment with its documents.
type opened struct {
	*segment
	documents []document
}

// renumber begins a new numbering with the segments of a state. Searches go on with copies that have the old numbers.
func (x *Index) renumber(s *state) {
	s.numbering = x.newNumbering()
	var kept []*segment
	for _, segment := range s.segments {
		again := *segment
		_, documents, err := openSegment(again.from, again.size)
		if err != nil {
			continue // it is dropped when it is read
		}
		again.numbers, again.foreign = s.numbering.add(documents)
		kept = append(kept, &again)
	}
	s.segments = kept
}

// drop removes a damaged segment, whose documents are to be indexed again.
func (x *Index) drop(d *damage) {
	if !slices.Contains(x.now().segments, d.segment) {
		return
	}
	x.options.Logger.Warn("a segment of the search index is damaged and is built again",
		"segment", d.segment.name, "error", d.err)
	x.remove(d.segment)
	x.mu.Lock()
	x.lost++
	x.asked = lru.New[git.ID, struct{}](maxAsked)
	x.mu.Unlock()
	x.rouse()
}

// remove removes a segment and its file. What is below folders is forgotten, because some of it is missing now.
func (x *Index) remove(s *segment) {
	x.replace(true, []*segment{s})
	x.discard([]*segment{s})
}

// makeRoom reports whether there is room for a new segment. It removes the oldest ones until there is, if they may be
// evicted.
func (x *Index) makeRoom(bytes int64, documents int, mayEvict func(*segment) bool) bool {
	for {
		segments := x.now().segments
		used, numbers := bytes, documents
		for _, s := range segments {
			used += s.size
			numbers += len(s.numbers)
		}
		if used <= x.bound && numbers <= x.room {
			return true
		}
		x.mu.Lock()
		told := x.full
		x.full = true
		x.mu.Unlock()
		if !told {
			x.options.Logger.Warn("the search index is full, so that searches have to read some files; " + x.remedy())
		}
		if len(segments) == 0 || !mayEvict(segments[0]) {
			return false
		}
		x.remove(segments[0])
	}
}

// remedy is what an operator can do about a full index.
func (x *Index) remedy() string {
	if x.options.Dir == "" {
		return "give it a folder with --index-dir, where it takes a fifth of the text, or raise --index-memory"
	}
	return "raise --index-bytes or --index-memory"
}

// isFull reports whether there was no room for a segment. Only pushes are indexed then.
func (x *Index) isFull() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.full
}

// discard removes the files of segments that are not in the state any more.
func (x *Index) discard(gone []*segment) {
	x.reading.Lock()
	defer x.reading.Unlock()
	for _, s := range gone {
		_ = s.close() // it was only read
		x.storage.remove(s.name)
	}
}

// rouse wakes the builder.
func (x *Index) rouse() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// want is a tree of which something was not in the index.
type want struct {
	repository string
	tree       git.ID
}

const (
	// maxWanted bounds the trees that wait to be indexed; others are asked for again.
	maxWanted = 1024
	// maxAsked bounds the trees that are remembered, so that damaged files are not asked for by each search.
	maxAsked = 16 * maxWanted
)

// Want asks for the files of a commit to be indexed.
func (x *Index) Want(repository string, tree git.ID) {
	w := want{repository, tree}
	if x.isFull() {
		return
	}
	x.mu.Lock()
	_, asked := x.asked.Get(tree)
	if !asked && len(x.wanted) < maxWanted {
		x.asked.Put(tree, struct{}{}, 1)
		x.wanted = append(x.wanted, w)
	}
	x.mu.Unlock()
	if !asked {
		x.rouse()
	}
}

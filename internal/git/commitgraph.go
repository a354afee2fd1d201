package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/git/commitgraph"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

const (
	// DefaultCommitGraphBytes holds the commit-graph files of a history of some 1.5
	// million commits, that of Linux, or of several smaller ones.
	DefaultCommitGraphBytes = 128 << 20
	// maxChainBytes bounds the list of a graph's layers: git counts them in a byte.
	maxChainBytes = 256 * (fullIDLength + 1)
	// wholeLayer is the size up to which a layer is checked before it is used, which takes some
	// milliseconds. A larger layer is checked while it is in use.
	wholeLayer = 1 << 20
	// checkDelay leaves the processors to requests that wait for a first answer.
	checkDelay = time.Second
	// maxChecks bounds the layers that wait for a check, each with a descriptor.
	maxChecks = 16
	// shapeCost is the memory of a shape besides its graph and its reach.
	shapeCost = 1 << 10

	graphFile    = "/objects/info/commit-graph"
	layersFolder = "/objects/info/commit-graphs/"
	chainFile    = layersFolder + "commit-graph-chain"
)

// shape is the cached history of one repository: its commit-graph, and the commits that its refs
// lead to.
type shape struct {
	loading sync.Mutex // one goroutine reads the files, the others wait

	stamp      [2]fs.FileInfo     // of the single file and the list of a chain, nil if missing
	graph      *commitgraph.Graph // nil without a trusted graph
	graphBytes int64
	reach      *reach
	reachBytes int64
}

// shapes keeps the most recently used shapes, within a number of bytes.
type shapes struct {
	limit int64

	mu    sync.Mutex                 // guards all of a shape except its files
	known *lru.Cache[string, *shape] // by folder of the repository
}

func newShapes(limit int64) *shapes {
	if limit <= 0 {
		limit = DefaultCommitGraphBytes
	}
	return &shapes{limit: limit, known: lru.New[string, *shape](limit)}
}

func (c *shapes) get(dir string) *shape {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known.Get(dir); ok {
		return known
	}
	s := new(shape)
	c.known.Put(dir, s, shapeCost)
	return s
}

// count updates the size of a shape, and drops the least recently used ones. A reach that does not
// fit beside its graph is dropped.
func (c *shapes) count(dir string, s *shape) {
	if kept, ok := c.known.Get(dir); !ok || kept != s {
		return // it was replaced
	}
	cost := shapeCost + s.graphBytes
	if s.reach == nil || cost+s.reachBytes > c.limit {
		s.reach, s.reachBytes = nil, 0
	}
	c.known.Put(dir, s, cost+s.reachBytes)
}

func (c *shapes) keepGraph(dir string, s *shape, now [2]fs.FileInfo, graph *commitgraph.Graph, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.stamp, s.graph, s.graphBytes, s.reach = now, graph, size, nil
	c.count(dir, s)
}

// reach returns the cached reach with a graph, or nil.
func (c *shapes) reach(dir string, graph *commitgraph.Graph) *reach {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known.Get(dir)
	if !ok || known.reach == nil || known.reach.graph != graph {
		return nil
	}
	return known.reach
}

// keepReach caches a reach so that later requests continue it, unless its graph is no longer used.
// It returns the reach that another goroutine has cached meanwhile, if any.
func (c *shapes) keepReach(dir string, r *reach) *reach {
	s := c.get(dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.graph != r.graph {
		return r
	}
	if s.reach == nil || s.reach.state != r.state || s.reach.graph != r.graph {
		s.reach = r
	}
	return s.reach
}

// countReach updates the size of a reach.
func (c *shapes) countReach(dir string, r *reach) {
	size := r.size()
	s := c.get(dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.reach == r {
		s.reachBytes = size
		c.count(dir, s)
	}
}

// layerChecks check layers that are in use already.
type layerChecks struct {
	ctx     context.Context // ends with the store
	end     context.CancelFunc
	running sync.WaitGroup
	slots   chan struct{}
	delay   time.Duration
}

func newLayerChecks() *layerChecks {
	c := &layerChecks{slots: make(chan struct{}, maxChecks), delay: checkDelay}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

// add starts a goroutine that checks a layer and closes the file. If too many checks are waiting,
// add checks the layer itself.
func (c *layerChecks) add(layer *commitgraph.Graph, file io.Closer) {
	check := func(delay time.Duration) {
		defer func() { _ = file.Close() }() // it was only read
		select {
		case <-c.ctx.Done():
		case <-time.After(delay):
			// Every error is the layer's fault, and so is a panic.
			if err := panics.Catch(func() error { return layer.Check(c.ctx) }); err != nil {
				layer.Refuse(err)
			}
		}
	}
	select {
	case c.slots <- struct{}{}:
		c.running.Go(func() {
			defer func() { <-c.slots }()
			check(c.delay)
		})
	default:
		check(0)
	}
}

func (c *layerChecks) close() {
	c.end()
	c.running.Wait()
}

// CommitGraph is the repository's history according to its commit-graph files, or nil: there are
// none, they cannot be used, or the history is shallow. It stays the same for the life of the
// snapshot, unless it is dropped.
//
// A graph may be wrong: code that shows a commit must compare the two (see [Snapshot.Confirm]).
func (s *Snapshot) CommitGraph() *commitgraph.Graph {
	s.graphing.Lock()
	defer s.graphing.Unlock()
	if !s.graphed {
		s.graphed = true
		if cut, err := s.isCut(); !cut && err == nil { // commits are right without the graph
			s.graph = s.repository.commitGraph()
		}
	}
	return s.graph
}

// commitGraph reads the files again if they have changed.
func (r *Repository) commitGraph() *commitgraph.Graph {
	c := r.store
	single, _ := c.root.Stat(r.dir + graphFile)
	chain, _ := c.root.Stat(r.dir + chainFile)
	now := [2]fs.FileInfo{single, chain}
	s := c.shapes.get(r.dir)
	s.loading.Lock()
	defer s.loading.Unlock()
	c.shapes.mu.Lock()
	graph, same := s.graph, files.Same(s.stamp[0], single) && files.Same(s.stamp[1], chain)
	c.shapes.mu.Unlock()
	if same {
		return graph
	}
	var size int64
	err := panics.Catch(func() (err error) { // a graph that causes a panic is not used
		graph, size, err = r.readCommitGraph()
		return err
	})
	r.options.Observer.CommitGraphRead(err)
	c.shapes.keepGraph(r.dir, s, now, graph, size)
	return graph
}

// readCommitGraph reads the single file or else the chain, as git does: nil without an error if
// there is neither.
func (r *Repository) readCommitGraph() (graph *commitgraph.Graph, size int64, err error) {
	names := []string{graphFile}
	chain, err := readRegular(r.store.root, r.dir+chainFile, maxChainBytes)
	if _, single := r.store.root.Stat(r.dir + graphFile); single != nil {
		if errors.Is(err, ErrNotFound) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		names = nil
		for line := range bytes.Lines(chain) {
			id := strings.TrimSuffix(string(line), "\n")
			if !isFullID(id) {
				return nil, 0, fmt.Errorf("the chain: %w", commitgraph.ErrMalformed)
			}
			names = append(names, layersFolder+"graph-"+id+".graph")
		}
	}
	for _, name := range names {
		layer, bytes, err := r.openLayer(r.dir+name, graph, r.store.shapes.limit-shapeCost-size)
		if err != nil {
			return nil, 0, err
		}
		graph, size = layer, size+bytes
	}
	return graph, size, nil
}

// openLayer opens a file of at most limit bytes, and checks it now or later.
func (r *Repository) openLayer(name string, base *commitgraph.Graph, limit int64) (*commitgraph.Graph, int64, error) {
	file, info, err := files.Open(r.store.root, name)
	if err != nil {
		return nil, 0, domainError(err)
	}
	size := info.Size()
	if size > limit {
		err = fmt.Errorf("it has more than the %d bytes that there is room for: %w", limit, ErrTooLarge)
		return nil, 0, errors.Join(err, file.Close())
	}
	if size > wholeLayer {
		graph, err := commitgraph.Open(file, size, base)
		if err == nil {
			r.store.layerChecks.add(graph, file)
			return graph, size, nil
		}
		return nil, 0, errors.Join(err, file.Close())
	}
	defer func() { _ = file.Close() }() // it was only read
	content := make([]byte, size)
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, 0, readError("the commit-graph", err)
	}
	graph, err := commitgraph.Parse(content, base)
	return graph, size, err
}

// errContradicted says that a commit-graph is wrong about a commit.
var errContradicted = errors.New("it contradicts a commit")

// DropCommitGraph stops the use of a graph that was found to be wrong, for this and later
// snapshots, until its files change. The observer is told.
func (s *Snapshot) DropCommitGraph(graph *commitgraph.Graph) {
	err := cmp.Or(graph.Fault(), errContradicted)
	s.graphing.Lock()
	if s.graph == graph {
		s.graph = nil
	}
	s.graphing.Unlock()
	r, c := s.repository, s.repository.store
	known := c.shapes.get(r.dir)
	c.shapes.mu.Lock()
	if known.graph == graph {
		known.graph, known.graphBytes, known.reach = nil, 0, nil
		c.shapes.count(r.dir, known)
	}
	c.shapes.mu.Unlock()
	r.options.Observer.CommitGraphDropped(err)
}

// Confirm reports whether a graph agrees with a commit about its tree, its parents and its date. It
// is true for a commit that is not in the graph.
func Confirm(graph *commitgraph.Graph, id, tree ID, parents []ID, date uint64) bool {
	at, ok := graph.Find(id)
	if !ok {
		return true
	}
	told := make([]ID, 0, len(parents))
	for parent := range graph.Parents(at) {
		told = append(told, graph.ID(parent))
	}
	return ID(graph.Tree(at)) == tree && graph.Date(at) == date&commitgraph.DateMask && slices.Equal(told, parents)
}

// confirmed compares commits with the graph. It drops a graph that is wrong about one.
func (s *Snapshot) confirmed(graph *commitgraph.Graph, ids []ID) (bool, error) {
	if graph == nil {
		return true, nil
	}
	for _, id := range ids {
		commit, err := s.Commit(id)
		if err != nil {
			return false, err
		}
		if !Confirm(graph, id, commit.Tree, commit.Parents, commit.Date) {
			s.DropCommitGraph(graph)
			return false, nil
		}
	}
	if graph.Fault() != nil {
		s.DropCommitGraph(graph)
		return false, nil
	}
	return true, nil
}

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
	// wholeLayer is up to which size a layer is checked before it is used, which takes
	// some milliseconds. A larger one is checked while it is in use.
	wholeLayer = 1 << 20
	// checkDelay leaves the processors to those who wait for a first answer.
	checkDelay = time.Second
	// maxChecks bounds the layers that wait for that, each with a descriptor.
	maxChecks = 16
	// shapeCost is what a shape takes apart from its graph and its reach.
	shapeCost = 1 << 10

	graphFile    = "/objects/info/commit-graph"
	layersFolder = "/objects/info/commit-graphs/"
	chainFile    = layersFolder + "commit-graph-chain"
)

// shape is what is remembered of the history of one repository: its
// commit-graph, and what its refs lead to.
type shape struct {
	loading sync.Mutex // one goroutine reads the files, the others wait

	stamp      [2]fs.FileInfo     // of the single file and the list of a chain, nil where there is none
	graph      *commitgraph.Graph // nil where there is none that is believed
	graphBytes int64
	reach      *reach
	reachBytes int64
}

// shapes keeps the shapes that were used last, within a number of bytes.
type shapes struct {
	limit int64

	mu    sync.Mutex                 // guards all of a shape but for its files
	known *lru.Cache[string, *shape] // by the repository's folder
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

// count notes what a shape takes now, and drops those that were not used for the
// longest time. A reach that does not fit beside its graph is not kept.
func (c *shapes) count(dir string, s *shape) {
	if kept, ok := c.known.Get(dir); !ok || kept != s {
		return // another has taken its place
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

// reach is what is known of what refs of a state lead to, or nil.
func (c *shapes) reach(dir, state string, graph *commitgraph.Graph) *reach {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known.Get(dir)
	if !ok || known.reach == nil || known.reach.state != state || known.reach.graph != graph {
		return nil
	}
	return known.reach
}

// keepReach remembers it for others to go on with, unless its graph is no longer
// used, and returns the one that another goroutine has kept meanwhile, if any.
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

// countReach notes what it takes now.
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

// layerChecks are the checks of layers that are in use already.
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

// add checks a layer by a goroutine that closes the file, or at once where too many
// are waiting.
func (c *layerChecks) add(layer *commitgraph.Graph, file io.Closer) {
	check := func(delay time.Duration) {
		defer func() { _ = file.Close() }() // only read from
		select {
		case <-c.ctx.Done():
		case <-time.After(delay):
			// What it finds is the layer's fault, and so is a panic.
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

// CommitGraph is what the commit-graph files of the repository say of its
// history, or nil: there are none, they cannot be used, or the history is shallow.
// It stays the same for all of the snapshot's life, until it is dropped.
//
// It is a claim: whoever shows a commit compares it (see [Snapshot.Confirm]).
func (s *Snapshot) CommitGraph() *commitgraph.Graph {
	s.graphing.Lock()
	defer s.graphing.Unlock()
	if !s.graphed {
		s.graphed = true
		if !s.isCut() {
			s.graph = s.repository.commitGraph()
		}
	}
	return s.graph
}

// commitGraph reads the files again when they are others.
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
	err := panics.Catch(func() (err error) { // a graph that makes it panic is one that is not used
		graph, size, err = r.readCommitGraph()
		return err
	})
	r.options.Observer.CommitGraphRead(err)
	c.shapes.keepGraph(r.dir, s, now, graph, size)
	return graph
}

// readCommitGraph reads the single file or else the chain, as git does: nil
// without an error where there is neither.
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

// openLayer opens a file of at most so many bytes, and checks it at once or later.
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
	defer func() { _ = file.Close() }() // only read from
	content := make([]byte, size)
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, 0, readError("the commit-graph", err)
	}
	graph, err := commitgraph.Parse(content, base)
	return graph, size, err
}

// errContradicted says that a commit-graph lies.
var errContradicted = errors.New("it contradicts a commit")

// DropCommitGraph ends the use of a graph that was found to be wrong, for this
// snapshot and those that come, until its files are others. The observer is told.
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

// Confirm reports whether a graph says of a commit what the commit does: its
// tree, its parents and its date. Of a commit that is not in the graph it says
// nothing.
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

// confirmed compares commits with the graph; those that it has wrong are an end of
// its use.
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

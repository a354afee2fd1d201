package index

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/definitions"
)

const (
	// draftBytes bounds the memory of the segment that is being made.
	draftBytes = 48 << 20
	// taskFiles and taskBytes bound a task of a worker, which then takes some milliseconds.
	taskFiles = 8
	taskBytes = 128 << 10
	// maxProved bounds the large files that are read once to know that they are large. Longer ones are looked up
	// in each search.
	maxProved = 64 << 20
	// yieldTime is how long a task waits for others at most, looking each yieldStep, so that the index gets on
	// under any load.
	yieldTime = 100 * time.Millisecond
	yieldStep = 2 * time.Millisecond
	// quietTime is how long the workers must have had no tasks of others: a download has none for
	// moments in which it reads.
	quietTime = 30 * time.Millisecond
)

// wantedFile is a file that is not in the index.
type wantedFile struct {
	id    git.ID
	namer *definitions.Namer
}

// builder makes segments. It is used by one goroutine.
type builder struct {
	*Index
	ctx   context.Context
	queue *workers.Queue
	draft *draft
	// evicts lets older segments make room, those that were not made by this builder: what is indexed was pushed.
	evicts bool
	made   map[string]bool // names of segments
	// analyzers are those that no task uses. They are too large to stay with the workers.
	analyzers chan *analyzer
	crowded   time.Time // when the workers were last seen with tasks of others
}

func (x *Index) newBuilder(ctx context.Context) *builder {
	return &builder{
		Index: x, ctx: ctx, queue: x.options.Scheduler.QueueOf(clientName), draft: newDraft(),
		analyzers: make(chan *analyzer, x.options.Scheduler.Workers()), made: make(map[string]bool),
	}
}

// clientName is that of the index among the clients of the workers. Those of requests have other names.
const clientName = "\x00index"

// pass goes through the trees of a repository.
type pass struct {
	*builder
	snapshot *git.Snapshot
	seen     map[git.ID]bool // folders of which something is missing
	wanted   []wantedFile
	left     []wantedFile    // of tasks that did not get to them; they come before wanted
	asked    map[git.ID]bool // in wanted
}

// index indexes what is below trees of a repository.
func (b *builder) index(snapshot *git.Snapshot, trees []git.ID) error {
	p := &pass{builder: b, snapshot: snapshot, seen: make(map[git.ID]bool), asked: make(map[git.ID]bool)}
	for _, tree := range trees {
		if _, err := p.folder(tree, 0); err != nil {
			return err
		}
	}
	if len(p.seen) == 0 {
		return nil
	}
	if err := p.analyzeAll(); err != nil {
		return err
	}
	clear(p.seen)
	for _, tree := range trees { // now the files are known, and with them what is below folders
		if _, err := p.folder(tree, 0); err != nil {
			return err
		}
	}
	return nil
}

// maxDepth bounds nested folders, as in a search.
const maxDepth = 1024

// folder returns what is below a folder, or nil if something is missing, which it notes. It fails if the context ends.
func (p *pass) folder(tree git.ID, depth int) (*Folder, error) {
	numbering := p.now().numbering
	if f, ok := numbering.folders.Get(tree); ok || p.seen[tree] || depth > maxDepth {
		return f, p.ctx.Err()
	}
	p.seen[tree] = true
	entries, err := p.snapshot.Tree(tree)
	if err != nil {
		return nil, p.ctx.Err() // the damage is reported when the folder is searched
	}
	var sum Sum
	for _, e := range entries {
		switch {
		case e.Mode.IsDir():
			f, err := p.folder(e.ID, depth+1)
			if err != nil {
				return nil, err
			}
			sum.AddFolder(f)
		case e.Mode.IsRegular():
			p.file(numbering, e, &sum)
		}
	}
	f := numbering.remember(tree, &sum)
	if f != nil {
		delete(p.seen, tree)
	}
	return f, p.ctx.Err()
}

func (p *pass) file(numbering *numbering, e git.TreeEntry, sum *Sum) {
	at, ok := numbering.find(e.ID)
	state := p.now()
	if ok {
		sum.add(at, numbering.all()[at].kind)
	} else {
		sum.Lack()
	}
	if (!ok || int(at) < len(state.known) && state.absent.Contains(at)) && !p.asked[e.ID] {
		p.asked[e.ID] = true
		p.wanted = append(p.wanted, wantedFile{e.ID, NamerOf(e.Name)})
	}
}

// analysisTask analyzes some files on a worker.
type analysisTask struct {
	pass    *pass
	files   []wantedFile // what is left is for another task
	results []*analysis
	done    chan struct{}
}

// Run implements [workers.Task].
func (t *analysisTask) Run(*workers.Worker) {
	a, read := t.pass.takeAnalyzer(), 0
	for len(t.files) > 0 && read < taskBytes && t.pass.ctx.Err() == nil {
		file := t.files[0]
		t.files = t.files[1:]
		content, err := t.pass.snapshot.ReadBlob(file.id, t.pass.options.FileBytes, a.content[:0])
		d := document{id: file.id, language: file.namer.Language()}
		switch {
		case errors.Is(err, git.ErrTooLarge):
			d.kind = largeFile
			t.results = append(t.results, &analysis{document: d})
		case err == nil:
			a.content = content
			read += len(content)
			t.results = append(t.results, a.analyze(d, file.namer, content))
		}
	}
	t.pass.analyzers <- a
	close(t.done)
}

// takeAnalyzer returns an analyzer, which goes back into analyzers. There are no more than workers.
func (b *builder) takeAnalyzer() *analyzer {
	select {
	case a := <-b.analyzers:
		return a
	default:
		return newAnalyzer()
	}
}

// analyzeAll adds the wanted files to the draft, nearly in their order.
func (p *pass) analyzeAll() error {
	var pending []*analysisTask
	for {
		if p.isFull() && !p.evicts {
			p.wanted, p.left = nil, nil
		}
		for len(pending) < 2*p.options.Scheduler.Workers() {
			files := p.takeFiles()
			if len(files) == 0 {
				break
			}
			t := &analysisTask{pass: p, files: files, done: make(chan struct{})}
			p.yield(len(pending))
			if err := p.queue.Submit(t); err != nil {
				return err
			}
			pending = append(pending, t)
		}
		if len(pending) == 0 {
			return nil
		}
		t := pending[0]
		pending = pending[1:]
		select {
		case <-t.done:
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-p.queue.Done():
			return p.queue.Err()
		}
		p.left = append(p.left, t.files...)
		for _, a := range t.results {
			if err := p.include(a); err != nil {
				return err
			}
		}
	}
}

// takeFiles takes files for a task, none if there are no more.
func (p *pass) takeFiles() (files []wantedFile) {
	from := &p.wanted
	if len(p.left) > 0 {
		from = &p.left
	}
	n := min(taskFiles, len(*from))
	files, *from = (*from)[:n:n], (*from)[n:]
	return files
}

// yield waits while the workers have tasks of others.
func (p *pass) yield(own int) {
	for start := time.Now(); time.Since(start) < yieldTime && p.ctx.Err() == nil; time.Sleep(yieldStep) {
		if pending, running := p.options.Scheduler.Load(); pending+running > own {
			p.crowded = time.Now()
		}
		if time.Since(p.crowded) > quietTime {
			return
		}
	}
}

// include adds a file to the draft.
func (p *pass) include(a *analysis) error {
	if a.kind == largeFile && !p.prove(a.id) {
		return nil
	}
	p.draft.add(a)
	p.now().numbering.add([]document{a.document})
	if p.draft.cost < min(draftBytes, p.bound/4) && len(p.draft.documents) < p.room/4 {
		return nil
	}
	return p.flush()
}

// prove reads a large file to its end, because a length is not compared with the id.
func (p *pass) prove(id git.ID) bool {
	size, err := p.snapshot.Size(id)
	if err != nil || size > maxProved {
		return false
	}
	size, err = p.snapshot.ProveBlob(p.ctx, id, func() io.Writer { return io.Discard })
	return err == nil && size > p.options.FileBytes
}

// flush writes the draft, and merges small segments.
func (b *builder) flush() error {
	if len(b.draft.documents) == 0 {
		return nil
	}
	d := b.draft
	b.draft = newDraft()
	if !b.makeRoom(d.cost/2, len(d.documents), b.mayEvict) { // what is written takes less
		b.evicts = false // this repository has all the room that there is
		return nil
	}
	s, err := b.add(nil, func(to io.Writer) (string, error) { return d.writeTo(to, b.version) })
	if err != nil {
		b.replace(true, nil) // forgets that the files were seen
		return err
	}
	b.made[s.name] = true
	b.share(s)
	return b.mergeSmall()
}

func (b *builder) mayEvict(s *segment) bool { return b.evicts && !b.made[s.name] }

const (
	// tier is how many segments of about one size are merged.
	tier = 6
	// maxSegment bounds the text of a segment, so that damage, or the bound of all, costs no more.
	maxSegment = 512 << 20
	// leastTier is the size of the smallest segments that are told apart.
	leastTier = 1 << 20
)

// mergeSmall merges segments of about one size until there are few of each.
func (b *builder) mergeSmall() error {
	for {
		list := b.mergeable()
		if list == nil {
			return nil
		}
		s, err := b.add(list, func(to io.Writer) (string, error) { return merge(to, b.version, list) })
		if broken := new(damage); errors.As(err, &broken) {
			b.drop(broken)
			continue
		}
		if err != nil {
			return err
		}
		b.made[s.name] = slices.ContainsFunc(list, func(s *segment) bool { return b.made[s.name] })
		b.share(s, list...)
	}
}

// mergeable returns segments of about one size, the smallest ones, or nil.
func (b *builder) mergeable() []*segment {
	var tiers [20][]*segment
	for _, s := range b.now().segments {
		level := 0
		for size := int64(leastTier); size < s.text && level < len(tiers)-1; size *= tier {
			level++
		}
		tiers[level] = append(tiers[level], s)
	}
	for _, list := range tiers {
		n, sum := 0, int64(0)
		for n < len(list) && sum+list[n].text <= maxSegment {
			sum += list[n].text
			n++
		}
		if len(list) >= tier && n > 1 {
			return list[:n]
		}
	}
	return nil
}

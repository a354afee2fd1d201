package pack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// maxVerdicts bounds the index files whose verdict is remembered, some 400 bytes each.
const maxVerdicts = 10_000

// checks compares large indexes with their checksums while they are already in use: that takes a
// second for some gigabytes, which no request should wait for. Each file is read once. A damaged
// index is refused from then on, as a small one is from the beginning.
type checks struct {
	root     *os.Root
	delay    time.Duration
	ctx      context.Context // ends with the reader
	end      context.CancelFunc
	verdicts *lru.Cache[string, verdict] // by file name

	starting sync.Mutex // or closing
	running  sync.WaitGroup
	reading  sync.Mutex // held while an index is read
}

// verdict is the result of checking an index file.
type verdict struct {
	info fs.FileInfo
	err  error // nil: it is sound
}

func newChecks(root *os.Root, delay time.Duration) *checks {
	c := &checks{root: root, delay: delay, verdicts: lru.New[string, verdict](maxVerdicts)}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

// known returns the verdict on the index of a pack, if there is one.
func (c *checks) known(p *Pack) (err error, known bool) {
	v, ok := c.verdicts.Get(p.indexName())
	if !ok || !files.Same(v.info, p.indexInfo) {
		return nil, false
	}
	return v.err, true
}

// add starts a goroutine that compares the index of a pack, or returns the known verdict.
func (c *checks) add(p *Pack) error {
	if err, known := c.known(p); known {
		return err
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.ctx.Err() == nil {
		c.running.Go(func() {
			select {
			case <-c.ctx.Done():
			case <-time.After(c.delay):
				c.reading.Lock()
				defer c.reading.Unlock()
				c.judge(p)
			}
		})
	}
	return nil
}

// judge reads an index unless there is a verdict on it. A file that is unreadable, or was replaced
// by now, gets none. A panic during the comparison is a verdict: requests fail with it, so it is
// logged.
func (c *checks) judge(p *Pack) {
	damage, known := c.known(p)
	if !known {
		err := panics.Catch(func() error { return c.compare(p) })
		var panicked *panics.Error
		if err != nil && !errors.Is(err, errChecksum) && !errors.As(err, &panicked) {
			return
		}
		damage = object.Corrupt(p.indexName(), err)
		c.verdicts.Put(p.indexName(), verdict{p.indexInfo, damage}, 1)
	}
	if damage != nil {
		p.index.fault.Store(&damage)
		p.suspect.Store(true)
	}
}

// errOtherFile says that a file was replaced.
var errOtherFile = errors.New("the file is another one")

// compare compares an index with its checksum. It opens a separate descriptor, since that of the
// pack may be closed meanwhile.
func (c *checks) compare(p *Pack) error {
	file, info, err := files.Open(c.root, p.indexName())
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	if !files.Same(info, p.indexInfo) {
		return errOtherFile
	}
	return checkSum(c.ctx, file, info.Size())
}

// close ends running checks, and waits for them.
func (c *checks) close() {
	c.starting.Lock() // add starts nothing from here on
	c.end()
	c.starting.Unlock()
	c.running.Wait()
}

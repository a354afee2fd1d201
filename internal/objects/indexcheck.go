package objects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/repomcp/repomcp/internal/panics"
)

// maxVerdicts bounds the index files whose verdict is remembered, some 400 bytes
// each. When there are more all are forgotten, and compared once more.
const maxVerdicts = 10_000

// indexChecks compares large indexes with their checksums while they are in use
// already: that takes a second for some gigabytes, which nobody is to wait for.
// Each file is read once. What is wrong is refused from then on, as a small
// index is from the beginning.
type indexChecks struct {
	store *Store
	ctx   context.Context // ends with the store
	end   context.CancelFunc
	done  sync.WaitGroup

	mu       sync.Mutex
	waiting  []indexCheck
	running  bool
	verdicts map[string]indexVerdict // by the name of the file
}

// indexCheck is an index that is open, and the file that it is of.
type indexCheck struct {
	name  string
	info  fs.FileInfo
	table *table
	pack  *pack
}

type indexVerdict struct {
	info fs.FileInfo
	err  error // nil: it is sound
}

func newIndexChecks(s *Store) *indexChecks {
	c := &indexChecks{store: s, verdicts: make(map[string]indexVerdict)}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

// known returns the verdict on a file, if there is one.
func (c *indexChecks) known(name string, info fs.FileInfo) (verdict error, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.verdicts[name]
	if !ok || !sameFile(v.info, info) {
		return nil, false
	}
	return v.err, true
}

// add has an index compared by a goroutine that ends when none is left.
func (c *indexChecks) add(check indexCheck) {
	if _, known := c.known(check.name, check.info); known {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	c.waiting = append(c.waiting, check)
	if !c.running {
		c.running = true
		c.done.Go(c.run)
	}
}

func (c *indexChecks) run() {
	for {
		c.mu.Lock()
		if len(c.waiting) == 0 || c.ctx.Err() != nil {
			c.waiting, c.running = nil, false
			c.mu.Unlock()
			return
		}
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		c.judge(next)
	}
}

// judge reads a file unless there is a verdict on it. A file that cannot be read,
// or is another one by now, gets none. That the comparison panicked is a verdict:
// requests fail with it, and so it comes to the log.
func (c *indexChecks) judge(check indexCheck) {
	verdict, known := c.known(check.name, check.info)
	if !known {
		var failure error
		panicked := panics.Catch(func() error {
			verdict, failure = c.read(check)
			return nil
		})
		if failure != nil {
			return
		}
		verdict = cmp.Or(verdict, corrupt(check.name, panicked))
		c.mu.Lock()
		if len(c.verdicts) >= maxVerdicts {
			clear(c.verdicts)
		}
		c.verdicts[check.name] = indexVerdict{check.info, verdict}
		c.mu.Unlock()
	}
	if verdict != nil {
		check.table.fault.Store(&verdict)
		check.pack.suspect.Store(true)
	}
}

// errOtherFile says that a file has taken the place of another.
var errOtherFile = errors.New("the file is another one")

// read compares a file with its checksum. It has a descriptor of its own, since
// that of the index may be closed meanwhile.
func (c *indexChecks) read(check indexCheck) (verdict, failure error) {
	file, info, err := c.store.openFile(check.name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read from
	if !sameFile(info, check.info) {
		return nil, errOtherFile
	}
	h, end := sha1.New(), info.Size()-IDSize
	buf := make([]byte, verifyStep)
	for off := int64(0); off < end; {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		n, err := file.ReadAt(buf[:min(end-off, verifyStep)], off)
		if err != nil {
			return nil, err
		}
		h.Write(buf[:n])
		off += int64(n)
	}
	var sum ID
	if _, err := file.ReadAt(sum[:], end); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(h.Sum(nil), sum[:]) {
		return corrupt(check.name, errChecksum), nil
	}
	return nil, nil
}

// close ends what runs, and waits for it.
func (c *indexChecks) close() {
	c.mu.Lock() // add starts nothing from here on
	c.end()
	c.mu.Unlock()
	c.done.Wait()
}

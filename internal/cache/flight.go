package cache

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
)

// errDiffers means that two builds of the same key wrote different bytes.
var errDiffers = errors.New("the build differs from an earlier one of the same key")

// leasePoll is the interval at which a replica checks another's build: a compromise between the
// client's delay and requests to object storage.
const leasePoll = 250 * time.Millisecond

// flight is one build with its readers.
type flight struct {
	*request
	cache  *Cache
	ctx    context.Context
	cancel context.CancelCauseFunc
	spool  *spool
	users  int // guarded by the cache's lock

	// damaged means that the file differs from what was written: it is not kept.
	damaged atomic.Bool

	// located is closed once the lookup in object storage is done; only then may object be read.
	located chan struct{}
}

// run is the goroutine of a flight.
func (f *flight) run() {
	c := f.cache
	defer c.wg.Done()
	defer f.unreserve()
	defer f.spool.release()
	defer f.cancel(nil)
	release := func() {}
	err := panics.Catch(func() error {
		if f.locate {
			f.object, release = c.locate(f.ctx, f.key)
		}
		return nil
	})
	release = sync.OnceFunc(release)
	defer release() // keeps the lease until others can find the object
	if f.locate && f.object != nil {
		c.retire(f)
		close(f.located)
		f.spool.end(Identity{}, errLost)
		return
	}
	close(f.located)
	w := newSpoolWriter(f.ctx, f.spool, f.draft())
	uploaded := f.upload()
	if uploaded == nil {
		release() // no object will appear
	}
	if err == nil {
		err = panics.Catch(func() error { return f.generate(w) })
	}
	f.finish(w, err)
	if uploaded != nil {
		<-uploaded
	}
}

// draft begins the file of a flight, if it is kept.
func (f *flight) draft() *draft {
	if f.private {
		return nil
	}
	d := f.cache.disk.create(f.key)
	if d != nil {
		f.spool.useFile(d.file, func() {
			f.damaged.Store(true)
			f.cache.disk.count.faults.Add(1)
		})
	}
	return d
}

// generate runs the build, or copies an object if there is one.
func (f *flight) generate(w *spoolWriter) error {
	build := func(ctx context.Context, to io.Writer) error {
		f.cache.count.builds.Add(1)
		return f.build(ctx, to)
	}
	var err error
	if f.object != nil {
		err = f.cache.objects.rebuild(f.ctx, f.object, w, build)
	} else {
		err = build(f.ctx, w)
	}
	if err == nil {
		// A build that ignores write errors must not seem complete.
		err = w.err
	}
	if cause := context.Cause(f.ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

// finish ends a build: it wakes the readers, and names the file.
func (f *flight) finish(w *spoolWriter, err error) {
	c := f.cache
	var whole seal
	if err == nil {
		whole = w.finish()
		if f.expected != nil && whole.Identity != *f.expected {
			err = errDiffers
		}
	}
	if err != nil {
		if errors.Is(err, errAbandoned) {
			c.count.abandoned.Add(1)
		} else {
			c.count.failures.Add(1)
		}
		// Requests after the failure build again.
		c.retire(f)
		f.spool.end(Identity{}, err)
		if w.draft != nil {
			w.draft.discard()
		}
		return
	}
	f.spool.end(whole.Identity, nil)
	switch {
	case w.draft == nil:
	case f.damaged.Load():
		w.draft.discard()
	default:
		w.draft.commit(whole)
	}
	c.retire(f)
}

// locate looks in object storage, and takes the lease if the bytes are not there. If another
// replica holds the lease, locate waits for its object, for a limited time.
func (c *Cache) locate(ctx context.Context, key Key) (*object, func()) {
	none := func() {}
	if !c.objects.on() {
		return nil, none
	}
	object, err := c.objects.find(ctx, key)
	if object != nil || err != nil || c.options.Leases == nil {
		return object, none
	}
	deadline := time.NewTimer(c.options.LeaseWait)
	defer deadline.Stop()
	for waited := false; ; waited = true {
		release, err := c.options.Leases.Take(ctx, key)
		if err != nil {
			c.count.leaseFaults.Add(1)
			return nil, none
		}
		if release != nil && !waited {
			return nil, release
		}
		if !waited {
			c.count.leaseWaits.Add(1)
		}
		// A released lease means that the other build has ended.
		object, err := c.objects.find(ctx, key)
		if release != nil && object == nil {
			return nil, release
		}
		if release != nil {
			release()
		}
		if object != nil || err != nil {
			return object, none
		}
		select {
		case <-time.After(leasePoll):
		case <-deadline.C:
			return nil, none
		case <-ctx.Done():
			return nil, none
		}
	}
}

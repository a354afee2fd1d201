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

// errDiffers says that a build wrote other bytes than an earlier one of the same
// key.
var errDiffers = errors.New("the build differs from an earlier one of the same key")

// leasePoll is how often a replica looks whether another has finished: what a
// client may wait too long, against requests to object storage.
const leasePoll = 250 * time.Millisecond

// flight is one build and its readers.
type flight struct {
	*request
	cache  *Cache
	ctx    context.Context
	cancel context.CancelCauseFunc
	spool  *spool
	users  int // guarded by the cache's lock

	// damaged says that the file has other bytes than were written: it is not kept.
	damaged atomic.Bool

	// located is closed once it is known whether there is an object; before
	// that, object is not read.
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
	defer release() // the lease is held until others can find the object
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
		release() // others would wait for an object that never comes
	}
	if err == nil {
		err = panics.Catch(func() error { return f.generate(w) })
	}
	f.finish(w, err)
	if uploaded != nil {
		<-uploaded
	}
}

// draft begins the file of a flight, if it is to have one.
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

// generate runs the build, from an object if there is one.
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
		// A build that does not look at its writes must not look whole.
		err = w.err
	}
	if cause := context.Cause(f.ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

// finish ends a build: readers are told, and the file gets its name.
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

// locate asks object storage, and takes the lease if the bytes are not there. Where
// another replica has the lease, it waits for that one's object, for a bounded time.
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
		// A lease that becomes free is a build that has ended.
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

package cache

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Build writes the bytes of a key. It runs in a goroutine of the cache and outlives its request: it
// must own its resources. It must end soon after its context, and with an error unless all bytes
// were written.
type Build func(ctx context.Context, w io.Writer) error

// Reserve takes what a build needs, for the request with that context. The cache calls it once for each
// build that a request begins, and calls release when the build has ended. Its error is that of the
// request: nothing was begun.
type Reserve func(ctx context.Context) (release func(), err error)

// ErrClosed is returned after the cache was closed.
var ErrClosed = errors.New("the cache is closed")

const (
	defaultWindow    = 1 << 20
	defaultLeaseWait = 5 * time.Second
)

// Leases let one replica at a time build a key. They only save work: builds are correct without
// them.
type Leases interface {
	// Take returns a function that ends the lease, or nil if another replica holds it. The lease
	// ends with that call or with the process.
	Take(ctx context.Context, key Key) (release func(), err error)
}

// Options are the optional parts of a cache.
type Options struct {
	Disk    *Disk
	Objects *Objects
	// Leases are used only with Objects: without them a replica cannot use another's build.
	Leases Leases
	// LeaseWait bounds how long a build waits for another replica's. Default 5 s: the client
	// receives nothing meanwhile.
	LeaseWait time.Duration
	// WindowBytes is the memory of a build without a disk. Default 1 MiB.
	WindowBytes int
}

// Cache finds bytes or builds them.
type Cache struct {
	options Options
	disk    *Disk
	objects *Objects
	pool    *sync.Pool

	ctx    context.Context // of all builds
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	flights map[Key]*flight

	count struct {
		hits, remoteHits, shared, builds, failures, abandoned, lost, leaseFaults, leaseWaits atomic.Int64
	}
}

// New returns a cache. Close it before its parts.
func New(o Options) *Cache {
	o.WindowBytes = cmp.Or(o.WindowBytes, defaultWindow)
	o.LeaseWait = cmp.Or(o.LeaseWait, defaultLeaseWait)
	c := &Cache{
		options: o, disk: cmp.Or(o.Disk, &Disk{}), objects: cmp.Or(o.Objects, &Objects{}), pool: newChunks(),
		flights: make(map[Key]*flight),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Close ends all builds and uploads, and waits for them.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(ErrClosed)
	c.wg.Wait()
}

// Redirects reports whether [Entry.Redirect] can return an address.
func (c *Cache) Redirects() bool { return c.objects.public != nil }

// Get finds the bytes of a key, or joins or begins their build. It waits for
// object storage and the lease, within their limits, not for bytes. The media
// type is what object storage answers with. Close the entry.
func (c *Cache) Get(ctx context.Context, key Key, mediaType string, build Build, reserve Reserve) (*Entry, error) {
	e := &Entry{cache: c, key: key, mediaType: mediaType, build: build, reserve: reserve}
	q := &request{
		key: key, mediaType: mediaType, build: build, reserve: reserve, locate: true, unlessStored: true,
	}
	var f *flight
	var r *reader
	err := errStored
	for errors.Is(err, errStored) {
		if e.fromDisk() {
			return e, nil
		}
		f, r, err = c.join(ctx, q)
		q.unlessStored = false // unreadable stored bytes are built again
	}
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, f.located); err != nil {
		r.close()
		c.leave(f)
		return nil, err
	}
	if f.object == nil {
		e.flight, e.reader = f, r
		return e, nil
	}
	r.close()
	c.leave(f)
	c.count.remoteHits.Add(1)
	e.object, e.known = f.object, &f.object.Identity
	return e, nil
}

// Find is Get without a build: it finds only complete bytes, because generating a part is faster
// than waiting for it.
func (c *Cache) Find(
	ctx context.Context, key Key, mediaType string, build Build, reserve Reserve,
) (*Entry, bool) {
	e := &Entry{cache: c, key: key, mediaType: mediaType, build: build, reserve: reserve}
	if e.fromDisk() {
		return e, true
	}
	object, err := c.objects.find(ctx, key)
	if err != nil || object == nil {
		return nil, false
	}
	c.count.remoteHits.Add(1)
	e.object, e.known = object, &object.Identity
	return e, true
}

// request describes a build.
type request struct {
	key          Key
	mediaType    string
	build        Build
	reserve      Reserve
	pos          int64     // start of the reader
	locate       bool      // ask object storage and the lease first
	object       *object   // source of the build
	expected     *Identity // expected identity of the bytes, if known
	unlessStored bool      // do not build what is on disk by now
	private      bool      // do not share, keep or upload
	unreserve    func()    // releases the reservation
}

// errStored means that the bytes were stored since the disk was checked.
var errStored = errors.New("the bytes are on disk by now")

// join attaches to the build of a key, or reserves what that needs and begins it.
func (c *Cache) join(ctx context.Context, q *request) (*flight, *reader, error) {
	if f, r, err := c.attach(q, false); f != nil || err != nil {
		return f, r, err
	}
	release, err := q.reserve(ctx)
	if err != nil {
		return nil, nil, err
	}
	q.unreserve = release
	f, r, err := c.attach(q, true)
	if err != nil || f.request != q {
		release() // another has begun it meanwhile
	}
	return f, r, err
}

// attach attaches to the build of a key. Where there is none it begins one, or returns no
// flight.
func (c *Cache) attach(q *request, begin bool) (*flight, *reader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	if f := c.flights[q.key]; f != nil && !q.private {
		if r, ok := f.spool.attach(q.pos, false); ok {
			f.users++
			c.count.shared.Add(1)
			return f, r, nil
		}
		// The window has moved past the position. A new build can be shared; the old one continues
		// for its own readers.
	}
	if q.unlessStored && c.disk.has(q.key) {
		return nil, nil, errStored
	}
	if !begin {
		return nil, nil, nil
	}
	f := &flight{request: q, cache: c, users: 1, located: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancelCause(c.ctx)
	f.spool = growingSpool(c.pool, max(1, c.options.WindowBytes/chunkBytes))
	if !q.private {
		c.flights[q.key] = f
	}
	r, _ := f.spool.attach(q.pos, false) // a new flight has lost nothing
	c.wg.Add(1)
	go f.run()
	return f, r, nil
}

// leave removes a user from a flight. Without users an incomplete flight ends, and no reader can
// join it.
func (c *Cache) leave(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.users--
	if f.users > 0 || f.spool.complete() {
		return
	}
	c.removeFlight(f)
	f.cancel(errAbandoned)
}

// retire keeps new readers from joining a flight.
func (c *Cache) retire(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeFlight(f)
}

// removeFlight is retire with the lock held.
func (c *Cache) removeFlight(f *flight) {
	if c.flights[f.key] == f {
		delete(c.flights, f.key)
	}
}

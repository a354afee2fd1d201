package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/repomcp/repomcp/internal/base/loopback"
	"github.com/repomcp/repomcp/internal/base/span"
)

// RedirectExpiry is the lifetime of a URL of [Entry.Redirect] for its first request, which follows
// immediately.
const RedirectExpiry = 60 * time.Second

const (
	// sealSuffix names the object that completes another one. The digests are no metadata of the
	// content, because metadata is sent before the first byte.
	sealSuffix = ".seal"

	// uploadsAtOnce bounds parallel uploads, each with buffers of 15 MiB. Further builds are not
	// uploaded.
	uploadsAtOnce = 4
	// stallTime is the time limit for uploading a chunk.
	stallTime = 30 * time.Second
	// readStallTime is how long a client waits for a chunk before the bytes are built instead.
	readStallTime = 5 * time.Second
)

// Objects keeps complete bytes in object storage: "{key}" holds them and "{key}.seal", written
// afterwards, completes them. The service should remove old objects, and unfinished multipart
// uploads, by rules of its own.
type Objects struct {
	bucket  Bucket // nil: no object storage
	public  Bucket // the same bucket at the address for clients; nil: no redirects
	breaker *gobreaker.CircuitBreaker[*object]
	slots   chan struct{}
	stall   time.Duration
	slow    time.Duration

	count struct{ uploads, drops, uploadFaults, faults, damaged atomic.Int64 }
}

// NewObjects uses open buckets; the caller closes them after the cache. public is the same bucket
// at the address that clients reach, and signs URLs. If it is nil there are no redirects.
func NewObjects(bucket, public Bucket) *Objects {
	return &Objects{
		bucket: bucket, public: public, breaker: newBreaker[*object]("objects"),
		slots: make(chan struct{}, uploadsAtOnce), stall: stallTime, slow: readStallTime,
	}
}

func (o *Objects) on() bool { return o.bucket != nil }

// object is a complete object in storage.
type object struct {
	footer
	key Key
}

// find returns nil for a missing or incomplete object, and an error if that could not be determined
// in time.
func (o *Objects) find(ctx context.Context, key Key) (*object, error) {
	if !o.on() {
		return nil, nil
	}
	whole, err := o.breaker.Execute(func() (*object, error) {
		ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
		defer cancel()
		whole, err := o.lookUp(ctx, key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return whole, err
	})
	if err != nil {
		o.count.faults.Add(1)
	}
	return whole, err
}

// lookUp compares the seal with the object.
func (o *Objects) lookUp(ctx context.Context, key Key) (*object, error) {
	end := make([]byte, footerBytes)
	if err := o.readFull(ctx, key.String()+sealSuffix, 0, end); err != nil {
		return nil, err
	}
	foot, err := parseFooter(key, end)
	if err != nil {
		o.count.damaged.Add(1)
		return nil, nil
	}
	size, err := o.bucket.Size(ctx, key.String())
	if err != nil {
		return nil, err
	}
	if size != foot.Size {
		o.count.damaged.Add(1)
		return nil, nil
	}
	return &object{foot, key}, nil
}

// readFull reads a part of an object.
func (o *Objects) readFull(ctx context.Context, name string, offset int64, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	r, err := o.bucket.Open(ctx, name, offset, int64(len(p)))
	if err != nil {
		return err
	}
	_, err = io.ReadFull(r, p)
	return errors.Join(err, r.Close())
}

// sign returns a URL for GET.
func (o *Objects) sign(ctx context.Context, key Key, fileName string) (string, error) {
	if o.public == nil {
		return "", ErrNoRedirect
	}
	// The driver may have to fetch credentials.
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	signed, err := o.public.SignURL(ctx, key.String(), fileName, RedirectExpiry)
	if err != nil {
		o.count.faults.Add(1)
		return "", fmt.Errorf("%w: %w", ErrNoRedirect, err)
	}
	if err := checkAddress(signed); err != nil {
		return "", err
	}
	return signed, nil
}

// checkAddress refuses addresses that clients cannot use, or must not use.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || !u.IsAbs() || u.Hostname() == "":
		return fmt.Errorf("%w: the signed URL is none", ErrNoRedirect)
	case loopback.Private(u):
		return nil
	default:
		return fmt.Errorf("%w: %w", ErrNoRedirect, ErrInsecure)
	}
}

// CheckRedirects signs a URL of a missing object, so that failures of redirects show at start.
func (o *Objects) CheckRedirects(ctx context.Context) error {
	_, err := o.sign(ctx, Key{}, "check")
	return err
}

// rebuild writes an object's bytes, and verifies each chunk. After a failure the build continues
// from there: it writes the same bytes.
func (o *Objects) rebuild(ctx context.Context, from *object, w *spoolWriter, build Build) error {
	written, err := o.copyTo(ctx, from, w)
	if err == nil || w.err != nil || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, errDamaged) {
		o.drop(ctx, from.key)
	} else {
		o.count.faults.Add(1)
	}
	return build(ctx, &span.Writer{W: w, Skip: written, Left: -1})
}

func (o *Objects) copyTo(ctx context.Context, from *object, w io.Writer) (written int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(o.slow, cancel)
	defer watch.Stop()
	table := make([]byte, tableBytes(from.Size))
	if err := o.readFull(ctx, from.key.String()+sealSuffix, footerBytes, table); err != nil {
		return 0, err
	}
	sealed, err := from.withTable(table)
	if err != nil || from.Size == 0 {
		return 0, err
	}
	r, err := o.bucket.Open(ctx, from.key.String(), 0, from.Size)
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }()
	buffer := make([]byte, min(chunkBytes, from.Size))
	for _, digest := range sealed.table {
		p := buffer[:min(chunkBytes, from.Size-written)]
		watch.Reset(o.slow)
		_, err := io.ReadFull(r, p)
		// The client's time does not count.
		watch.Stop()
		if err != nil {
			// A short reply is a broken connection: the lookup has compared the size.
			return written, err
		}
		if sha256.Sum256(p) != digest {
			return written, fmt.Errorf("%w: an object", errDamaged)
		}
		n, err := w.Write(p)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// drop removes an object that differs from its seal. The seal is removed first, so that clients are
// not redirected to the object.
func (o *Objects) drop(ctx context.Context, key Key) {
	o.count.damaged.Add(1)
	for _, name := range []string{key.String() + sealSuffix, key.String()} {
		ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
		if err := o.bucket.Delete(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			o.count.faults.Add(1)
		}
		cancel()
	}
}

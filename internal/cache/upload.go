package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/repomcp/repomcp/internal/base/panics"
)

// upload reads the build as a passive reader. The channel is closed at the end of the upload,
// successful or not; nil means that no upload began.
func (f *flight) upload() <-chan struct{} {
	o := f.cache.objects
	if !o.on() || f.private || f.object != nil {
		return nil
	}
	r, ok := o.beginUpload(f.spool)
	if !ok {
		o.count.drops.Add(1)
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { <-o.slots }()
		defer r.close()
		// The flight's context would end with the last client.
		o.countUpload(panics.Catch(func() error { return o.store(f.cache.ctx, f.key, f.mediaType, r) }))
	}()
	return done
}

// beginUpload takes a slot and a reader, if an upload may succeed.
func (o *Objects) beginUpload(s *spool) (*reader, bool) {
	if o.breaker.State() == gobreaker.StateOpen {
		return nil, false
	}
	select {
	case o.slots <- struct{}{}:
	default:
		return nil, false
	}
	// Before the first write nothing is lost.
	return s.attach(0, true)
}

func (o *Objects) countUpload(err error) {
	switch {
	case err == nil:
		o.count.uploads.Add(1)
	case errors.Is(err, errLost):
		o.count.drops.Add(1)
	case errors.Is(err, errBuild):
	default:
		o.count.uploadFaults.Add(1)
	}
}

// errBuild means that the build failed rather than the upload.
var errBuild = errors.New("the build failed")

// store uploads a reader's bytes, and then its seal. Only an upload whose context has ended is
// certain to leave no object.
func (o *Objects) store(ctx context.Context, key Key, mediaType string, r *reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(o.stall, cancel)
	defer watch.Stop()
	from, to := io.Pipe()
	var whole Identity
	var failed error
	read := make(chan struct{})
	go func() {
		defer close(read)
		failed = r.copyTo(ctx, &watchedWriter{to, watch, o.stall}, -1)
		if failed == nil {
			whole, failed = r.spool.waitEnd(ctx)
		}
		if failed != nil {
			cancel()
		}
		watch.Reset(o.stall)
		_ = to.CloseWithError(failed) // always succeeds
	}()
	err := o.bucket.Upload(ctx, key.String(), mediaType, from)
	_ = from.CloseWithError(err)
	<-read
	switch {
	case failed != nil && r.spool.failed():
		return errBuild
	case err != nil || failed != nil:
		return errors.Join(err, failed)
	}
	// The spool has ended: its digests are final.
	table, footer := seal{Identity: whole, table: r.spool.sums}.encode(key)
	watch.Reset(o.stall)
	return o.bucket.Upload(ctx, key.String()+sealSuffix, "application/octet-stream",
		bytes.NewReader(append(footer, table...)))
}

// failed reports whether the build ended in an error.
func (s *spool) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// watchedWriter limits the time of each write, but not the time between two writes.
type watchedWriter struct {
	w     io.Writer
	watch *time.Timer
	limit time.Duration
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.watch.Reset(w.limit)
	defer w.watch.Stop()
	return w.w.Write(p)
}

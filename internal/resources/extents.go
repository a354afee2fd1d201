package resources

import (
	"context"
	"sync"

	"github.com/repomcp/repomcp/internal/base/lru"
)

const (
	// extentCost is what remembering an archive takes: tags are of one length.
	extentCost = 256
	// maxExtentBytes bounds what is remembered.
	maxExtentBytes = 1 << 20
)

// extent is what is known of bytes that were generated before.
type extent struct {
	// size is the whole length, or UnknownSize.
	size int64
	// measured is the length that headers of objects tell, or 0. It has no part in
	// a range: when one of them is damaged, size turns out to be another.
	measured int64
	// atLeast is how much there was when a client went away.
	atLeast int64
	// digest is the SHA-256 of the whole, or nil.
	digest []byte
}

// extents remembers lengths and digests by strong ETag: the same tag means the
// same bytes, so that what was learned once holds for as long as the process
// lives. The least recently used are forgotten.
type extents struct {
	known *lru.Cache[string, extent]

	adding   sync.Mutex
	counting sync.Map // from tag to chan struct{}
}

func newExtents() *extents { return &extents{known: lru.New[string, extent](maxExtentBytes)} }

func (e *extents) get(tag string) (extent, bool) {
	known, ok := e.known.Get(tag)
	if !ok {
		known.size = UnknownSize
	}
	return known, ok
}

// put adds to what is known; it takes nothing away.
func (e *extents) put(tag string, x extent) {
	e.adding.Lock()
	defer e.adding.Unlock()
	known, _ := e.get(tag)
	known.atLeast, known.measured = max(known.atLeast, x.atLeast), max(known.measured, x.measured)
	if x.size != UnknownSize {
		known.size = x.size
	}
	if x.digest != nil {
		known.digest = x.digest
	}
	e.known.Put(tag, known, extentCost)
}

// begin waits until nobody else counts the bytes of a tag: a client that loads
// parts of one archive side by side must not have it generated for each of
// them. Call done at the end.
func (e *extents) begin(ctx context.Context, tag string) (done func(), err error) {
	mine := make(chan struct{})
	for {
		other, taken := e.counting.LoadOrStore(tag, mine)
		if !taken {
			return func() {
				e.counting.Delete(tag)
				close(mine)
			}, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

package resources

import (
	"container/list"
	"context"
	"sync"
)

const (
	// extentCost is what remembering an archive takes: tags are of one length.
	extentCost = 256
	// maxExtents is how many are remembered, in a megabyte.
	maxExtents = 1 << 20 / extentCost
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
	mu       sync.Mutex
	byTag    map[string]*list.Element
	recent   list.List // of *extentOf, the latest first
	counting map[string]chan struct{}
}

type extentOf struct {
	tag string
	extent
}

func newExtents() *extents {
	return &extents{byTag: make(map[string]*list.Element), counting: make(map[string]chan struct{})}
}

func (e *extents) get(tag string) (extent, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	element := e.byTag[tag]
	if element == nil {
		return extent{size: UnknownSize}, false
	}
	e.recent.MoveToFront(element)
	return element.Value.(*extentOf).extent, true
}

// put adds to what is known; it takes nothing away.
func (e *extents) put(tag string, x extent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	element := e.byTag[tag]
	if element == nil {
		element = e.recent.PushFront(&extentOf{tag, extent{size: UnknownSize}})
		e.byTag[tag] = element
	}
	e.recent.MoveToFront(element)
	known := element.Value.(*extentOf)
	known.atLeast, known.measured = max(known.atLeast, x.atLeast), max(known.measured, x.measured)
	if x.size != UnknownSize {
		known.size = x.size
	}
	if x.digest != nil {
		known.digest = x.digest
	}
	if e.recent.Len() > maxExtents {
		oldest := e.recent.Remove(e.recent.Back()).(*extentOf)
		delete(e.byTag, oldest.tag)
	}
}

// begin waits until nobody else counts the bytes of a tag: a client that loads
// parts of one archive side by side must not have it generated for each of
// them. Call done at the end.
func (e *extents) begin(ctx context.Context, tag string) (done func(), err error) {
	for {
		e.mu.Lock()
		other := e.counting[tag]
		if other == nil {
			mine := make(chan struct{})
			e.counting[tag] = mine
			e.mu.Unlock()
			return func() {
				e.mu.Lock()
				delete(e.counting, tag)
				e.mu.Unlock()
				close(mine)
			}, nil
		}
		e.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

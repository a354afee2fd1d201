package resources

import (
	"cmp"
	"context"
	"sync"

	"github.com/repomcp/repomcp/internal/base/lru"
)

const (
	// factsCost is the memory of one entry: all tags have the same length.
	factsCost = 320
	// maxKnownBytes bounds the memory to 4096 entries.
	maxKnownBytes = 4096 * factsCost
)

// facts are what is known about bytes that were read or generated before.
type facts struct {
	// size is the length of the whole, or UnknownSize. It is certain.
	size int64
	// measured is the length according to object headers, or 0. Ranges do not use it: if a header
	// is damaged, size turns out to be another.
	measured int64
	// atLeast is how many bytes there were when a client disconnected.
	atLeast int64
	// digest is the SHA-256 of the whole, or nil.
	digest []byte
	// kind is the type according to the first bytes of a file, or the zero value.
	kind kind
	// memory is what an open file holds, or 0 if unknown.
	memory int64
}

// likelySize returns the best known length; told is the length in an object header.
func (x facts) likelySize(told int64) int64 {
	switch {
	case x.size != UnknownSize:
		return x.size
	case x.measured > 0:
		return x.measured
	default:
		return told
	}
}

// known remembers facts by strong ETag, which is the object id for a file: the same tag means the
// same bytes, so facts hold for the life of the process. The least recently used are forgotten.
type known struct {
	facts *lru.Cache[string, facts]

	adding   sync.Mutex
	counting sync.Map // from tag to chan struct{}
}

func newKnown() *known { return &known{facts: lru.New[string, facts](maxKnownBytes)} }

func (k *known) get(tag string) (facts, bool) {
	x, ok := k.facts.Get(tag)
	if !ok {
		x.size = UnknownSize
	}
	return x, ok
}

// put adds facts and removes none.
func (k *known) put(tag string, x facts) {
	k.adding.Lock()
	defer k.adding.Unlock()
	old, _ := k.get(tag)
	old.atLeast, old.measured = max(old.atLeast, x.atLeast), max(old.measured, x.measured)
	if x.size != UnknownSize {
		old.size = x.size
	}
	if x.digest != nil {
		old.digest = x.digest
	}
	old.kind, old.memory = cmp.Or(x.kind, old.kind), cmp.Or(x.memory, old.memory)
	k.facts.Put(tag, old, factsCost)
}

// begin waits until no other request counts the bytes of a tag: a client that loads several ranges
// of one archive at once must not cause a generation for each. Call done at the end.
func (k *known) begin(ctx context.Context, tag string) (done func(), err error) {
	mine := make(chan struct{})
	for {
		other, taken := k.counting.LoadOrStore(tag, mine)
		if !taken {
			return func() {
				k.counting.Delete(tag)
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

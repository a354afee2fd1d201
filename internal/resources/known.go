package resources

import (
	"cmp"
	"context"
	"sync"

	"github.com/repomcp/repomcp/internal/base/lru"
)

const (
	// factsCost is what remembering one content takes: tags are of one length.
	factsCost = 320
	// maxKnownBytes bounds what is remembered to 4096 contents.
	maxKnownBytes = 4096 * factsCost
)

// facts are what is known of bytes that were read or generated before.
type facts struct {
	// size is the whole length, or UnknownSize. It is certain.
	size int64
	// measured is the length that headers of objects tell, or 0. It has no part in
	// a range: when one of them is damaged, size turns out to be another.
	measured int64
	// atLeast is how much there was when a client went away.
	atLeast int64
	// digest is the SHA-256 of the whole, or nil.
	digest []byte
	// kind is what the first bytes of a file are, or the zero value.
	kind kind
	// memory is what an open file holds, or 0 where that is not known.
	memory int64
}

// likelySize returns the best length that is known; told is what a header tells.
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

// known remembers facts by strong ETag, which is the object id of a file: the same tag
// means the same bytes, so that what was learned once holds for as long as the process
// lives. The least recently used are forgotten.
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

// put adds to what is known; it takes nothing away.
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

// begin waits until no other request counts the bytes of a tag: a client that loads
// parts of one archive side by side must not have it generated for each of
// them. Call done at the end.
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

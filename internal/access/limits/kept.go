package limits

import (
	"context"
	"sync"
)

// kept are grants that are needed until a request has its reply.
type kept struct {
	mu     sync.Mutex
	grants []*Grant
	over   bool
}

type keptKey struct{}

// WithKept returns a context for one request. release gives back the grants that were kept in it.
func WithKept(ctx context.Context) (_ context.Context, release func()) {
	k := new(kept)
	return context.WithValue(ctx, keptKey{}, k), k.release
}

// Keep holds a grant until the request has its reply. Without [WithKept] it gives the grant back at
// once.
func Keep(ctx context.Context, grant *Grant) {
	k, ok := ctx.Value(keptKey{}).(*kept)
	if !ok {
		k = &kept{over: true}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		grant.Release()
		return
	}
	k.grants = append(k.grants, grant)
}

func (k *kept) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	for _, grant := range k.grants {
		grant.Release()
	}
	k.grants = nil
}

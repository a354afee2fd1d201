package archive

import (
	"context"
	"fmt"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
)

// proof has a worker compare a large file with its id while the one before it is
// written: all of it is read for that before its first byte is written, which is half of
// the work for it.
type proof struct {
	ctx    context.Context
	source tree.Source
	id     git.ID
	done   chan struct{}
}

// Run implements [workers.Task]. Whoever opens the file meets the same error.
func (p *proof) Run(*workers.Worker) {
	if blob, err := p.source.Blob(p.ctx, p.id); err == nil {
		_ = blob.Close() // only compared
	}
	p.done <- struct{}{}
}

// proveNext begins with the file behind the next one of a run, if it is large as well.
func (l *pipeline) proveNext(r *run) error {
	l.proof = nil
	if r.next+1 >= r.Len() {
		return nil
	}
	e := r.Entry(r.next + 1)
	if !e.Mode.IsRegular() || e.Treatment != nil {
		return nil
	}
	if size, err := r.Source.Size(e.ID); err != nil || size <= largeBytes || size > l.plan.options.Limits.BlobBytes {
		return nil // what is wrong with it is found in its turn
	}
	l.proof = &proof{l.ctx, r.Source, e.ID, make(chan struct{}, 1)}
	if err := l.queue.Submit(l.proof, runCost); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

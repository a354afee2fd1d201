package archive

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive/tree"
)

// walk yields the entries of an archive in order.
type walk interface {
	// Fill adds entries to a batch until it is full, and reports whether there are more. After an
	// error the batch contains the entries before it.
	Fill(b *tree.Batch) (more bool, err error)
	// Counts returns the number of entries so far, and of files and folders that export-ignore
	// excluded.
	Counts() (entries, ignored int64)
}

// newWalk returns a walk before the first entry.
func (p *Plan) newWalk(ctx context.Context) (walk, error) {
	if p.changes != nil {
		return p.changes.Walk(p.firstMember()), nil
	}
	return p.selection.Walk(ctx)
}

// each calls do for all entries.
func (p *Plan) each(ctx context.Context, do func(tree.Entry) error) error {
	w, err := p.newWalk(ctx)
	if err != nil {
		return err
	}
	var b tree.Batch
	for more := true; more; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		b.Reset(p.source, runEntries)
		if more, err = w.Fill(&b); err != nil {
			return err
		}
		for e := range b.All() {
			if err := do(e); err != nil {
				return err
			}
		}
	}
	return nil
}

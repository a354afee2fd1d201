package archive

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive/tree"
)

// walk hands out the entries of an archive in its order.
type walk interface {
	// Fill adds entries to a batch until it is full, and reports whether there
	// are more. On an error the batch still has what comes before it.
	Fill(b *tree.Batch) (more bool, err error)
	// Counts is how many entries were handed out, and how many files and
	// folders export-ignore left out meanwhile.
	Counts() (entries, ignored int64)
}

// newWalk stands before the first entry.
func (p *Plan) newWalk(ctx context.Context) (walk, error) {
	if p.changes != nil {
		return p.changes.Walk(p.firstMember()), nil
	}
	return p.selection.Walk(ctx)
}

// each walks over all entries.
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

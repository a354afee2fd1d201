package archive

import "context"

// supply hands out the entries of an archive in its order.
type supply interface {
	// fill adds entries to a run until it is full, and reports whether there
	// are more. On an error the run still has what comes before it.
	fill(r *run) (more bool, err error)
	// counts says how many entries were handed out, and how many files and
	// folders export-ignore left out meanwhile.
	counts() (entries, ignored int64)
}

// newSupply stands before the first entry.
func (p *Plan) newSupply(ctx context.Context) (supply, error) {
	if p.delta != nil {
		return p.delta.supply(p), nil
	}
	return p.newWalk(ctx)
}

func (w *walk) counts() (entries, ignored int64) { return w.entries, w.ignored }

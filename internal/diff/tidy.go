package diff

import "context"

// run is a group of changed lines of one side, or the empty place between two
// unchanged lines: [start, end). Both sides have equally many unchanged lines,
// hence equally many runs; run number n of one side is opposite to run number
// n of the other.
type run struct {
	side       *side
	start, end int
}

func firstRun(s *side) run { return run{side: s, end: s.endOfRun(0)} }

func (r *run) empty() bool { return r.start == r.end }

func (r *run) last() bool { return r.end == r.side.lines() }

// next goes to the run after the unchanged line that ends this one.
func (r *run) next() {
	r.start = r.end + 1
	r.end = r.side.endOfRun(r.start)
}

// previous goes to the run before the unchanged line that precedes this one.
func (r *run) previous() {
	r.end = r.start - 1
	r.start = r.side.startOfRun(r.end)
}

// up moves the run by one line if the line before it equals its last, so that
// the text stays the same. It swallows a run that it comes upon.
func (r *run) up() bool {
	s := r.side
	if r.start == 0 || s.class[r.start-1] != s.class[r.end-1] {
		return false
	}
	s.changed[r.start-1], s.changed[r.end-1] = true, false
	r.end--
	r.start = s.startOfRun(r.start - 1)
	return true
}

// down moves the run by one line the other way.
func (r *run) down() bool {
	s := r.side
	if r.last() || s.class[r.start] != s.class[r.end] {
		return false
	}
	s.changed[r.start], s.changed[r.end] = false, true
	r.start++
	r.end = s.endOfRun(r.end + 1)
	return true
}

// tidy moves changes that could stand in several places: to where lines are
// both taken out and put in, else to where a reader would see a block begin.
// Runs that meet become one.
func (p *pair) tidy(ctx context.Context, indents bool) error {
	if err := slide(ctx, &p.a, &p.b, indents); err != nil {
		return err
	}
	return slide(ctx, &p.b, &p.a, indents)
}

// slide moves the runs of one side.
func slide(ctx context.Context, s, opposite *side, indents bool) error {
	r, o := firstRun(s), firstRun(opposite)
	for ; ; r.next() {
		if !r.empty() {
			if err := place(ctx, &r, &o, indents); err != nil {
				return err
			}
		}
		if r.last() {
			return nil
		}
		o.next()
	}
}

// place moves one run; o stays the run opposite to it.
func place(ctx context.Context, r, o *run, indents bool) error {
	highest, facing, err := stretch(ctx, r, o)
	switch {
	case err != nil || r.end == highest:
		return err
	case facing:
		for o.empty() {
			r.up()
			o.previous()
		}
	case indents:
		for best := bestEnd(r, highest); r.end > best; {
			r.up()
			o.previous()
		}
	}
	return nil
}

// stretch moves a run up and down as far as it goes, and again for as long as
// it grows on the way. It leaves the run as far down as possible and returns
// where it ends when it is as far up as possible, and whether in any place on
// the last way it is opposite to a changed run.
func stretch(ctx context.Context, r, o *run) (highest int, facing bool, err error) {
	for grown := true; grown; {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		size := r.end - r.start
		for r.up() {
			o.previous()
		}
		highest, facing = r.end, !o.empty()
		for r.down() {
			o.next()
			facing = facing || !o.empty()
		}
		grown = r.end-r.start != size
	}
	return highest, facing, nil
}

package diff

import "slices"

// Range is a run of lines, counted from 0: those from Start up to, and without, End.
type Range struct{ Start, End int }

// MapRanges finds where lines of the second text come from, as `git log -L` does. mapped are the
// ranges of the first text that hold them: those of equal lines, and for changed lines what stood in
// their place. touched reports whether a change is within the ranges. Ranges are ascending and
// disjoint, and so are those returned.
func MapRanges(ranges []Range, changes []Change) (mapped []Range, touched bool) {
	shift := 0 // from lines of the second text to those of the first
	for _, r := range ranges {
		for len(changes) > 0 && changes[0].B+changes[0].BLines <= r.Start {
			shift = changes[0].shift()
			changes = changes[1:]
		}
		start, shift := r.Start, shift
		for _, c := range changes {
			if c.B >= r.End {
				break
			}
			touched = true
			mapped = append(mapped, Range{start + shift, c.B + shift}, Range{c.A, c.A + c.ALines})
			start, shift = c.B+c.BLines, c.shift()
		}
		mapped = append(mapped, Range{start + shift, r.End + shift})
	}
	return union(mapped), touched
}

// shift returns the distance from lines of the second text behind the change to those of the first.
func (c Change) shift() int { return c.A + c.ALines - c.B - c.BLines }

// UniteRanges returns the lines that are in one of two lists of ranges.
func UniteRanges(a, b []Range) []Range { return union(slices.Concat(a, b)) }

// union sorts ranges, joins those that touch each other and drops empty ones.
func union(ranges []Range) (joined []Range) {
	slices.SortStableFunc(ranges, func(a, b Range) int { return a.Start - b.Start })
	for _, r := range ranges {
		last := len(joined) - 1
		switch {
		case r.Start >= r.End:
		case last >= 0 && joined[last].End >= r.Start:
			joined[last].End = max(joined[last].End, r.End)
		default:
			joined = append(joined, r)
		}
	}
	return joined
}

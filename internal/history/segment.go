package history

import (
	"cmp"
	"slices"

	"github.com/repomcp/repomcp/internal/diff"
)

// segment is a run of lines of a file that is blamed, and where it is in an older
// version. Lines are counted from 0.
type segment struct {
	line     int // the first in the file
	original int // the first in the version
	count    int
}

// split divides a segment behind so many lines, of which it may have fewer.
func (s segment) split(lines int) (first, rest segment) {
	lines = min(max(lines, 0), s.count)
	return segment{s.line, s.original, lines}, segment{s.line + lines, s.original + lines, s.count - lines}
}

// divide separates lines of a version that were the same before the changes, with
// their places there, from those that were not.
func divide(segments []segment, changes []diff.Change) (same, changed []segment) {
	keep := func(s segment, shift int) {
		if s.count > 0 {
			same = append(same, segment{s.line, s.original + shift, s.count})
		}
	}
	shiftAtEnd := 0
	if n := len(changes); n > 0 {
		last := changes[n-1]
		shiftAtEnd = last.A + last.ALines - last.B - last.BLines
	}
	for _, s := range segments {
		next, _ := slices.BinarySearchFunc(changes, s.original, func(c diff.Change, line int) int {
			return cmp.Compare(c.B+c.BLines, line+1)
		})
		for ; s.count > 0 && next < len(changes); next++ {
			c := changes[next]
			before, rest := s.split(c.B - s.original)
			keep(before, c.A-c.B)
			within, rest := rest.split(c.B + c.BLines - rest.original)
			if within.count > 0 {
				changed = append(changed, within)
			}
			s = rest
		}
		keep(s, shiftAtEnd)
	}
	return same, changed
}

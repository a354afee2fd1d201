package diff

const (
	// deepest is from which indent on lines count as equally deep: what is
	// beyond is no text that somebody indented.
	deepest = 200
	// mostBlanks is how many blank lines in a row are counted.
	mostBlanks = 20
	// mostSlides is how many places for a change are weighed.
	mostSlides = 100
	// blank is the indent of a line that has nothing but white space.
	blank = -1
	// unmeasured is the indent of a line that nobody has asked for.
	unmeasured = -2
)

// The weights are those of git's --indent-heuristic (git-diff(1)), which M.
// Haggerty found by letting people judge places. Lower is better; they only mean something to each other.
const (
	weightStart         = 1   // no text before the border
	weightEnd           = 21  // no text after the border
	weightBlank         = -30 // each blank line around the border
	weightBlankAfter    = 6   // each of them that comes after it
	weightIndent        = 60  // of the sum of the indents, more or less
	deeper, deeperBlank = -4, 10
	opensBlock          = 24 // less deep than the line before and than the one after
	opensBlockBlank     = 17
	closesBlock         = 23 // less deep than the line before alone
	closesBlockBlank    = 17
)

// indent is the width of the white space that a line begins with, tabs to
// columns of eight, or blank. It is measured once: a line may be long.
func (s *side) indent(i int) int {
	if s.indents == nil {
		s.indents = make([]int16, s.lines())
		for i := range s.indents {
			s.indents[i] = unmeasured
		}
	}
	if s.indents[i] == unmeasured {
		s.indents[i] = measureIndent(s.line(i))
	}
	return int(s.indents[i])
}

func measureIndent(line []byte) int16 {
	width := int16(0)
	for _, c := range line {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 8 - width%8
		case '\r', '\n':
		default:
			return width
		}
		if width >= deepest {
			return deepest
		}
	}
	return blank
}

// badness says how bad a place for a change is: first by the depth of its two
// borders, then by their weights.
type badness struct{ depth, weight int }

// worse reports whether a place is worse than another one.
func (x badness) worse(y badness) bool {
	sign := 0
	if x.depth != y.depth {
		sign = 1
		if x.depth < y.depth {
			sign = -1
		}
	}
	return weightIndent*sign+x.weight-y.weight > 0
}

func (x badness) plus(y badness) badness { return badness{x.depth + y.depth, x.weight + y.weight} }

// bestEnd weighs the places that a run, which is as far down as possible, can
// be moved up to, and returns its end in the best of them: of equally good ones
// the lowest. No place is more than the run's own length and mostSlides away.
func bestEnd(r *run, highest int) int {
	size := r.end - r.start
	best, least := -1, badness{}
	for end := max(highest, r.end-size-1, r.end-mostSlides); end <= r.end; end++ {
		bad := r.side.border(end).plus(r.side.border(end - size))
		if best < 0 || !bad.worse(least) {
			best, least = end, bad
		}
	}
	return best
}

// surroundings is the nearest line with text in one direction: its indent, or
// blank when there is none, and the blank lines before it.
func (s *side) surroundings(i, step int) (indent, blanks int) {
	for ; i >= 0 && i < s.lines(); i += step {
		if indent := s.indent(i); indent != blank {
			return indent, blanks
		}
		if blanks++; blanks == mostBlanks {
			return 0, blanks
		}
	}
	return blank, blanks
}

// border weighs a border between line i and the one before it.
func (s *side) border(i int) badness {
	indent, blanksAfter := blank, 0
	after, more := s.surroundings(i+1, 1)
	before, blanksBefore := s.surroundings(i-1, -1)
	weight := 0
	if before == blank && blanksBefore == 0 {
		weight += weightStart
	}
	if i >= s.lines() {
		weight += weightEnd
	} else {
		indent = s.indent(i)
	}
	if indent == blank {
		indent, blanksAfter = after, more+1
	}
	weight += weightBlank*(blanksBefore+blanksAfter) + weightBlankAfter*blanksAfter
	if indent != blank && before != blank {
		weight += stepWeight(before, indent, after, blanksBefore+blanksAfter > 0)
	}
	return badness{depth: indent, weight: weight}
}

// stepWeight weighs how deep the line after a border is, in comparison with
// the text before it and after it.
func stepWeight(before, indent, after int, blanks bool) int {
	choose := func(plain, withBlanks int) int {
		if blanks {
			return withBlanks
		}
		return plain
	}
	switch {
	case indent > before:
		return choose(deeper, deeperBlank)
	case indent == before:
		return 0
	case after > indent: // which blank never is
		return choose(opensBlock, opensBlockBlank)
	default:
		return choose(closesBlock, closesBlockBlank)
	}
}

package diff

import "cmp"

const (
	// maxIndent is the indent from which lines count as equally deep: real text is not indented so
	// far.
	maxIndent = 200
	// maxBlanks bounds the consecutive blank lines that are counted.
	maxBlanks = 20
	// maxRise bounds the places above the lowest that are rated.
	maxRise = 100
	// noText is the indent of a blank line.
	noText = -1
)

// The weights of `git diff --indent-heuristic`, which were derived from people's judgement. Lower
// weights are better; they are only meaningful relative to each other.
const (
	startWeight      = 1   // nothing above the border
	endWeight        = 21  // nothing below the border
	blankWeight      = -30 // each blank line around the border
	blankBelowWeight = 6   // added for each that is below it
	indentWeight     = 60  // for the larger sum of indents
)

// step compares the indents below and above a border.
type step int

const (
	level   step = iota
	inward       // deeper
	opening      // less deep, but followed by a deeper line
	closing      // less deep
)

// stepWeights distinguish borders with blank lines.
var stepWeights = [...]struct{ plain, withBlanks int }{
	level:   {0, 0},
	inward:  {-4, 10},
	opening: {24, 17},
	closing: {23, 17},
}

// rating tells how badly the borders of a block divide the text.
type rating struct{ indent, weight int }

func (r rating) plus(o rating) rating { return rating{r.indent + o.indent, r.weight + o.weight} }

func (r rating) worseThan(o rating) bool {
	return indentWeight*cmp.Compare(r.indent, o.indent)+r.weight-o.weight > 0
}

// bestRise returns the number of lines by which to move a block up to its best place; the lowest of
// equally good ones. The maximum is limit, and slightly more than the block's own length.
func (s *side) bestRise(first, lines, limit int) int {
	rise := min(limit, lines+1, maxRise)
	if rise == 0 {
		return 0
	}
	best, least := rise, s.rateBlock(first-rise, lines)
	for rise--; rise >= 0; rise-- {
		if r := s.rateBlock(first-rise, lines); !r.worseThan(least) {
			best, least = rise, r
		}
	}
	return best
}

func (s *side) rateBlock(first, lines int) rating {
	return s.rateBorder(first).plus(s.rateBorder(first + lines))
}

// rateBorder rates the border between a line and the one before it.
func (s *side) rateBorder(line int) rating {
	above, blanksAbove := s.nearestText(line-1, -1, maxBlanks)
	below, blanksBelow := s.nearestText(line, 1, maxBlanks+1)
	weight := 0
	if above == noText && blanksAbove == 0 {
		weight += startWeight
	}
	if line == s.lines() {
		weight += endWeight
		blanksBelow = 1
	}
	blanks := blanksAbove + blanksBelow
	weight += blankWeight*blanks + blankBelowWeight*blanksBelow
	if above != noText && below != noText {
		following, _ := s.nearestText(line+1, 1, maxBlanks)
		weights := stepWeights[stepOf(above, below, following)]
		if blanks > 0 {
			weight += weights.withBlanks
		} else {
			weight += weights.plain
		}
	}
	return rating{indent: below, weight: weight}
}

func stepOf(above, below, following int) step {
	switch {
	case below > above:
		return inward
	case below == above:
		return level
	case following > below:
		return opening
	default:
		return closing
	}
}

// nearestText returns the indent of the nearest line with text in one direction, and the number of
// blank lines before it. The indent is noText at the end of the text, and 0 after limit blank
// lines.
func (s *side) nearestText(line, direction, limit int) (indent, blanks int) {
	for ; line >= 0 && line < s.lines(); line += direction {
		if indent := s.indent(line); indent != noText {
			return indent, blanks
		}
		if blanks++; blanks == limit {
			return 0, blanks
		}
	}
	return noText, blanks
}

// indent returns the indent of a line. All indents are measured once, because measuring a long line
// for each border would be expensive.
func (s *side) indent(line int) int {
	if s.indents == nil {
		s.indents = make([]int16, s.lines())
		for i := range s.indents {
			s.indents[i] = measureIndent(s.line(i))
		}
	}
	return int(s.indents[line])
}

// measureIndent returns the width of a line's leading white space; tab stops are at multiples of
// eight.
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
		if width >= maxIndent {
			return maxIndent
		}
	}
	return noText
}

package diff

import "math/bits"

// rarity says how many lines of the other text a line is equal to.
type rarity uint8

const (
	unmatched rarity = iota // none: it is changed for certain
	rare                    // few: it is worth comparing
	frequent                // so many that a match tells little
)

const (
	// frequentAtMost bounds from how many matches on a line is frequent.
	frequentAtMost = 1024
	// crowdWindow is how far around a frequent line its surroundings are
	// looked at; without it a large file would cost its square.
	crowdWindow = 100
	// crowdFactor is how much of the surroundings may be frequent lines for
	// the line to be given up with its unmatched neighbours: less than one in
	// so many.
	crowdFactor = 4
)

// remainder is the part of one side that is left to compare.
type remainder struct {
	class []int32
	line  []int32 // where each of them is in the text
}

// reduce leaves out lines that both texts begin or end with, marks those
// without a match in the other text as changed, and with them frequent lines in
// the midst of such: a "}" between a hundred new lines belongs to the new ones.
func (p *pair) reduce() (a, b remainder) {
	head := 0
	for limit := min(p.a.lines(), p.b.lines()); head < limit && p.a.class[head] == p.b.class[head]; {
		head++
	}
	tail := 0
	for limit := min(p.a.lines(), p.b.lines()) - head; tail < limit &&
		p.a.class[p.a.lines()-1-tail] == p.b.class[p.b.lines()-1-tail]; {
		tail++
	}
	return p.reduceSide(&p.a, 1, head, tail), p.reduceSide(&p.b, 0, head, tail)
}

// reduceSide reduces one side; other is the side that its lines are looked up in.
func (p *pair) reduceSide(s *side, other, head, tail int) remainder {
	end := s.lines() - tail
	rarities := make([]rarity, end-head)
	enough := min(roughRoot(s.lines()), frequentAtMost)
	for i := range rarities {
		switch matches := int(p.classes[s.class[head+i]].lines[other]); {
		case matches == 0:
			rarities[i] = unmatched
		case matches < enough:
			rarities[i] = rare
		default:
			rarities[i] = frequent
		}
	}
	k := remainder{class: make([]int32, 0, len(rarities)), line: make([]int32, 0, len(rarities))}
	for i, r := range rarities {
		if r == rare || r == frequent && !crowded(rarities, i) {
			k.class = append(k.class, s.class[head+i])
			k.line = append(k.line, int32(head+i))
		} else {
			s.changed[head+i] = true
		}
	}
	return k
}

// crowded reports whether the frequent line i lies among unmatched lines, up
// to the next rare line on either side.
func crowded(rarities []rarity, i int) bool {
	frequentBefore, unmatchedBefore := neighbours(rarities, i, -1)
	if unmatchedBefore == 0 {
		return false
	}
	frequentAfter, unmatchedAfter := neighbours(rarities, i, 1)
	if unmatchedAfter == 0 {
		return false
	}
	// The line itself is counted once for each direction, as git does.
	frequents := 2 + frequentBefore + frequentAfter
	return frequents*crowdFactor < frequents+unmatchedBefore+unmatchedAfter
}

func neighbours(rarities []rarity, i, step int) (frequents, unmatcheds int) {
	for range crowdWindow {
		i += step
		if i < 0 || i >= len(rarities) || rarities[i] == rare {
			break
		}
		if rarities[i] == frequent {
			frequents++
		} else {
			unmatcheds++
		}
	}
	return frequents, unmatcheds
}

// roughRoot returns the least power of two whose square is larger than n, which git
// takes for a square root.
func roughRoot(n int) int { return 1 << ((bits.Len(uint(n)) + 1) / 2) }

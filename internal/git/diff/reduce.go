package diff

import "math/bits"

// rarity classifies a line by the number of equal lines in the other text.
type rarity uint8

const (
	unmatched rarity = iota // none: certainly changed
	rare                    // few: worth comparing
	frequent                // so many that a match means little
)

const (
	// frequentAtMost bounds the number of matches from which a line is frequent.
	frequentAtMost = 1024
	// crowdWindow bounds the examined neighbourhood of a frequent line; without it a large file
	// would take quadratic time.
	crowdWindow = 100
	// crowdFactor limits the share of frequent lines in the neighbourhood for a line to be dropped
	// with its unmatched neighbours: less than one in so many.
	crowdFactor = 4
)

// remainder is the part of one side to compare.
type remainder struct {
	class []int32
	line  []int32 // line number of each
}

// reduce removes the common beginning and end of both texts, and marks lines without a match in the
// other text as changed. It also marks frequent lines among those: a "}" between a hundred new
// lines belongs to the new ones.
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

// reduceSide reduces one side; other is the index of the other one.
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

// crowded reports whether the frequent line i is among unmatched lines, up to the next rare line on
// either side.
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

// roughRoot returns the least power of two whose square exceeds n, git's approximation of a square
// root.
func roughRoot(n int) int { return 1 << ((bits.Len(uint(n)) + 1) / 2) }

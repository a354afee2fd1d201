package diff

import (
	"context"
	"math"
	"slices"
)

const (
	// costAtLeast is the edit cost that a search may always reach before it stops with its best
	// result; for large texts the limit is the root of their size.
	costAtLeast = 256
	// snakeLength is the number of consecutive equal lines in a good snake.
	snakeLength = 20
	// snakeCost is the edit cost from which a good snake suffices.
	snakeCost = 256
	// snakeGain is the number of lines per edit that a path must have advanced for its snake to be
	// used.
	snakeGain = 4
)

// box is a part of both reduced lists that is still to be compared. In an exact box the shortest
// path is known to be short, so the search has no cost limit.
type box struct {
	a, aEnd, b, bEnd int
	exact            bool
}

// cutPoint divides a path through a box, and tells which parts are exact.
type cutPoint struct {
	a, b          int
	before, after bool
}

// search finds paths with E. Myers' "An O(ND) Difference Algorithm and Its Variations" (1986),
// section 4b: from both corners of a box at once, until the two meet. A diagonal is the line number
// in a minus that in b.
type search struct {
	a, b      []int32 // classes
	forward   frontier
	backward  frontier
	costLimit int
}

// frontier is the furthest position in a of the paths on each diagonal.
type frontier struct {
	reach     []int32
	zero      int // index of diagonal 0 in reach
	start     int // the diagonal of the corner
	low, high int // diagonals reached at the current cost; every second one
	outside   int32
}

func (f *frontier) at(diagonal int) int32 { return f.reach[f.zero+diagonal] }

func (f *frontier) set(diagonal int, position int32) { f.reach[f.zero+diagonal] = position }

// begin resets the frontier to a corner.
func (f *frontier) begin(diagonal, position int) {
	f.start, f.low, f.high = diagonal, diagonal, diagonal
	f.set(diagonal, int32(position))
}

// widen advances to the next cost: one more diagonal on either side, or one less at the border of
// the box, so that every second one is visited.
func (f *frontier) widen(lowest, highest int) {
	if f.low > lowest {
		f.low--
		f.set(f.low-1, f.outside)
	} else {
		f.low++
	}
	if f.high < highest {
		f.high++
		f.set(f.high+1, f.outside)
	} else {
		f.high--
	}
}

func (f *frontier) covers(diagonal int) bool { return f.low <= diagonal && diagonal <= f.high }

// mark compares the reduced texts.
func (p *pair) mark(ctx context.Context) error {
	a, b := p.reduce()
	diagonals := len(a.class) + len(b.class) + 3
	reach := make([]int32, 2*diagonals)
	zero := len(b.class) + 1
	s := &search{
		a: a.class, b: b.class,
		forward:   frontier{reach: reach[:diagonals], zero: zero, outside: -1},
		backward:  frontier{reach: reach[diagonals:], zero: zero, outside: math.MaxInt32},
		costLimit: max(roughRoot(diagonals), costAtLeast),
	}
	boxes := []box{{aEnd: len(a.class), bEnd: len(b.class)}}
	for len(boxes) > 0 {
		area := s.shrink(boxes[len(boxes)-1])
		boxes = boxes[:len(boxes)-1]
		if area.a == area.aEnd || area.b == area.bEnd {
			markAll(&p.a, a.line[area.a:area.aEnd])
			markAll(&p.b, b.line[area.b:area.bEnd])
			continue
		}
		c, err := s.divide(ctx, area)
		if err != nil {
			return err
		}
		boxes = append(boxes,
			box{c.a, area.aEnd, c.b, area.bEnd, c.after},
			box{area.a, c.a, area.b, c.b, c.before})
	}
	return nil
}

func markAll(s *side, lines []int32) {
	for _, line := range lines {
		s.changed[line] = true
	}
}

// shrink removes equal lines at both ends of a box.
func (s *search) shrink(area box) box {
	for area.a < area.aEnd && area.b < area.bEnd && s.a[area.a] == s.b[area.b] {
		area.a++
		area.b++
	}
	for area.a < area.aEnd && area.b < area.bEnd && s.a[area.aEnd-1] == s.b[area.bEnd-1] {
		area.aEnd--
		area.bEnd--
	}
	return area
}

// divide finds a point on a good path through the box. Neither side of the box is empty, and the
// point is not an end of the path, so both parts are smaller than the box.
func (s *search) divide(ctx context.Context, area box) (cutPoint, error) {
	lowest, highest := area.a-area.bEnd, area.aEnd-area.b
	s.forward.begin(area.a-area.b, area.a)
	s.backward.begin(area.aEnd-area.bEnd, area.aEnd)
	odd := (s.forward.start-s.backward.start)&1 != 0
	for cost := 1; ; cost++ {
		if err := ctx.Err(); err != nil {
			return cutPoint{}, err
		}
		s.forward.widen(lowest, highest)
		c, met, snake := s.advance(area, odd)
		if met {
			return c, nil
		}
		s.backward.widen(lowest, highest)
		c, met, snakeBack := s.retreat(area, !odd)
		if met {
			return c, nil
		}
		if area.exact {
			continue
		}
		if (snake || snakeBack) && cost > snakeCost {
			if c, ok := s.goodSnake(area, cost); ok {
				return c, nil
			}
		}
		if cost >= s.costLimit {
			return s.furthest(area), nil
		}
	}
}

// advance extends the paths from the first corner by one edit and all equal lines after it. It
// reports whether one met a path from the other corner, if meet is set, and whether there was a
// good snake.
func (s *search) advance(area box, meet bool) (c cutPoint, met, snake bool) {
	f, other := &s.forward, &s.backward
	for d := f.high; d >= f.low; d -= 2 {
		i := max(int(f.at(d-1))+1, int(f.at(d+1)))
		begin := i
		for j := i - d; i < area.aEnd && j < area.bEnd && s.a[i] == s.b[j]; j++ {
			i++
		}
		snake = snake || i-begin > snakeLength
		f.set(d, int32(i))
		if meet && other.covers(d) && int(other.at(d)) <= i {
			return cutPoint{i, i - d, true, true}, true, snake
		}
	}
	return cutPoint{}, false, snake
}

// retreat is advance from the last corner.
func (s *search) retreat(area box, meet bool) (c cutPoint, met, snake bool) {
	f, other := &s.backward, &s.forward
	for d := f.high; d >= f.low; d -= 2 {
		i := min(int(f.at(d-1)), int(f.at(d+1))-1)
		begin := i
		for j := i - d; i > area.a && j > area.b && s.a[i-1] == s.b[j-1]; j-- {
			i--
		}
		snake = snake || begin-i > snakeLength
		f.set(d, int32(i))
		if meet && other.covers(d) && i <= int(other.at(d)) {
			return cutPoint{i, i - d, true, true}, true, snake
		}
	}
	return cutPoint{}, false, snake
}

// goodSnake finds a path that has advanced far for its cost and diagonal, and that ends with a good
// snake: first among the forward paths, then among the backward ones.
func (s *search) goodSnake(area box, cost int) (cutPoint, bool) {
	best, c := snakeGain*cost, cutPoint{}
	for d := s.forward.high; d >= s.forward.low; d -= 2 {
		i := int(s.forward.at(d))
		j := i - d
		gain := i - area.a + j - area.b - distance(d, s.forward.start)
		if gain > best && area.a+snakeLength <= i && i < area.aEnd && area.b+snakeLength <= j && j < area.bEnd &&
			slices.Equal(s.a[i-snakeLength:i], s.b[j-snakeLength:j]) {
			best, c = gain, cutPoint{a: i, b: j, before: true}
		}
	}
	if c.before {
		return c, true
	}
	for d := s.backward.high; d >= s.backward.low; d -= 2 {
		i := int(s.backward.at(d))
		j := i - d
		gain := area.aEnd - i + area.bEnd - j - distance(d, s.backward.start)
		if gain > best && area.a < i && i <= area.aEnd-snakeLength && area.b < j && j <= area.bEnd-snakeLength &&
			slices.Equal(s.a[i:i+snakeLength], s.b[j:j+snakeLength]) {
			best, c = gain, cutPoint{a: i, b: j, after: true}
		}
	}
	return c, c.after
}

func distance(a, b int) int { return max(a-b, b-a) }

// furthest returns the end of the path with the most lines of both texts. Paths may exceed the box
// by an edit; they are moved back along their diagonal.
func (s *search) furthest(area box) cutPoint {
	ahead, back := cutPoint{a: -1, before: true}, cutPoint{a: math.MaxInt32, after: true}
	for d := s.forward.high; d >= s.forward.low; d -= 2 {
		i := min(int(s.forward.at(d)), area.aEnd, area.bEnd+d)
		if i+i-d > ahead.a+ahead.b {
			ahead.a, ahead.b = i, i-d
		}
	}
	for d := s.backward.high; d >= s.backward.low; d -= 2 {
		i := max(int(s.backward.at(d)), area.a, area.b+d)
		if i+i-d < back.a+back.b {
			back.a, back.b = i, i-d
		}
	}
	if area.aEnd+area.bEnd-(back.a+back.b) < ahead.a+ahead.b-(area.a+area.b) {
		return ahead
	}
	return back
}

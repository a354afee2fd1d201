package diff

import (
	"cmp"
	"context"
	"slices"
)

// block is a run of changed lines in one text. Its place is the number of unchanged lines before
// it. Both texts have the same unchanged lines, so blocks of the same place are opposite.
type block struct{ place, lines int }

// blocks lists the marked lines.
func (s *side) blocks() []block {
	var list []block
	for unchanged, i := 0, 0; i < s.lines(); unchanged, i = unchanged+1, i+1 {
		first := i
		for i < s.lines() && s.changed[i] {
			i++
		}
		if i > first {
			list = append(list, block{unchanged, i - first})
		}
	}
	return list
}

// placeBlocks returns the marked lines of both texts as blocks. It chooses the place of a movable
// block: opposite another block, or else where a reader expects it to begin. Adjacent blocks are
// joined.
func (p *pair) placeBlocks(ctx context.Context) (a, b []block, err error) {
	a, b = p.a.blocks(), p.b.blocks()
	if a, err = p.a.placeAll(ctx, a, b); err != nil {
		return nil, nil, err
	}
	b, err = p.b.placeAll(ctx, b, a)
	return a, b, err
}

func (s *side) placeAll(ctx context.Context, blocks, opposite []block) ([]block, error) {
	m := mover{text: s, below: blocks}
	for len(m.below) > 0 {
		m.block, m.below = m.below[0], m.below[1:]
		top, err := m.slide(ctx)
		if err != nil {
			return nil, err
		}
		if place, ok := lowestWithin(opposite, top, m.place); ok {
			m.place = place
		} else {
			m.place -= s.bestRise(m.first(), m.lines, m.place-top)
		}
		m.above = append(m.above, m.block)
		m.linesAbove += m.lines
	}
	return m.above, nil
}

// lowestWithin returns the place of the lowest block from top to bottom.
func lowestWithin(blocks []block, top, bottom int) (place int, ok bool) {
	n, _ := slices.BinarySearchFunc(blocks, bottom+1, func(b block, place int) int {
		return cmp.Compare(b.place, place)
	})
	if n == 0 || blocks[n-1].place < top {
		return 0, false
	}
	return blocks[n-1].place, true
}

// mover moves one block between the blocks that are already placed and those that are not.
type mover struct {
	text *side
	block
	above, below []block
	linesAbove   int // of the blocks above
}

// first returns the first line of the block.
func (m *mover) first() int { return m.place + m.linesAbove }

// slide moves the block up as far as the text stays the same, then down, and repeats that while it
// joins other blocks. It leaves the block at the bottom and returns its place at the top.
func (m *mover) slide(ctx context.Context) (top int, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		lines := m.lines
		for m.moveUp() {
		}
		top = m.place
		for m.moveDown() {
		}
		if m.lines == lines {
			return top, nil
		}
	}
}

// moveUp moves the block by a line if the line above it equals its last one.
func (m *mover) moveUp() bool {
	first := m.first()
	if first == 0 || m.text.class[first-1] != m.text.class[first+m.lines-1] {
		return false
	}
	m.place--
	if last := len(m.above) - 1; last >= 0 && m.above[last].place == m.place {
		m.lines += m.above[last].lines
		m.linesAbove -= m.above[last].lines
		m.above = m.above[:last]
	}
	return true
}

// moveDown moves the block by a line if the line below it equals its first one.
func (m *mover) moveDown() bool {
	first := m.first()
	end := first + m.lines
	if end == len(m.text.class) || m.text.class[first] != m.text.class[end] {
		return false
	}
	m.place++
	if len(m.below) > 0 && m.below[0].place == m.place {
		m.lines += m.below[0].lines
		m.below = m.below[1:]
	}
	return true
}

// changesOf joins opposite blocks.
func changesOf(a, b []block) []Change {
	var changes []Change
	for aLines, bLines := 0, 0; len(a)+len(b) > 0; {
		var place int
		if len(b) == 0 || len(a) > 0 && a[0].place <= b[0].place {
			place = a[0].place
		} else {
			place = b[0].place
		}
		c := Change{A: place + aLines, B: place + bLines}
		c.ALines, a = takeAt(a, place)
		c.BLines, b = takeAt(b, place)
		aLines, bLines = aLines+c.ALines, bLines+c.BLines
		changes = append(changes, c)
	}
	return changes
}

// takeAt returns the lines of the first block if it has the place, and the remaining blocks.
func takeAt(blocks []block, place int) (lines int, rest []block) {
	if len(blocks) == 0 || blocks[0].place != place {
		return 0, blocks
	}
	return blocks[0].lines, blocks[1:]
}

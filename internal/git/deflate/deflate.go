package deflate

import (
	"bufio"
	"errors"
	"hash"
	"hash/adler32"
	"io"
)

const (
	windowBytes = 32 << 10 // reach of matches
	windowMask  = windowBytes - 1
	minMatch    = 3
	maxMatch    = 258
	// lookahead is how many bytes have to follow a position for a search, except at the end.
	lookahead = maxMatch + minMatch + 1
	maxReach  = windowBytes - lookahead

	hashBits  = 15
	hashShift = 5

	// The limits of level 1: the candidates of a search, the length that ends it, and the length up
	// to which all positions of a match become candidates.
	maxCandidates = 4
	niceMatch     = 8
	maxIndexed    = 4

	// maxSymbols is the number of literals and matches that ends a block.
	maxSymbols = 1<<14 - 1
)

// header is that of a zlib stream with a window of 32 KiB and the fastest level.
var header = []byte{0x78, 0x01}

// Compress writes the zlib stream of a content. Errors are those of the reader and the writer.
func Compress(w io.Writer, content io.Reader) error {
	c := &compressor{content: content, sum: adler32.New(), out: bitWriter{w: bufio.NewWriter(w)}}
	c.block.begin()
	_, _ = c.out.w.Write(header) // the writer keeps its first error
	if err := c.run(); err != nil {
		return err
	}
	_, _ = c.out.w.Write(c.sum.Sum(nil))
	return c.out.w.Flush()
}

// compressor finds matches in a window of twice their reach, whose older half is dropped when the
// newer one is full. Position 0 of the window is never a candidate: 0 ends a chain.
type compressor struct {
	content io.Reader
	ended   bool
	sum     hash.Hash32

	window     [2 * windowBytes]byte
	at, left   int // the position, and the bytes from there on
	blockStart int // of the current block; negative if the window has lost it
	head       [1 << hashBits]uint16
	previous   [windowBytes]uint16

	block block
	out   bitWriter
}

func (c *compressor) run() error {
	for {
		if c.left < lookahead {
			if err := c.fill(); err != nil {
				return err
			}
			if c.left == 0 {
				return c.flush(true)
			}
		}
		length, distance := c.match()
		if length >= minMatch {
			c.block.addMatch(length, distance)
			c.skip(length)
		} else {
			c.block.addLiteral(c.window[c.at])
			c.at, c.left = c.at+1, c.left-1
		}
		if len(c.block.symbols) == maxSymbols {
			if err := c.flush(false); err != nil {
				return err
			}
		}
	}
}

// fill fills the window, as far as there is content.
func (c *compressor) fill() error {
	if c.at >= windowBytes+maxReach {
		copy(c.window[:windowBytes], c.window[windowBytes:])
		c.at, c.blockStart = c.at-windowBytes, c.blockStart-windowBytes
		slide(c.head[:])
		slide(c.previous[:])
	}
	if c.ended {
		return nil
	}
	room := c.window[c.at+c.left:]
	n, err := io.ReadFull(c.content, room)
	_, _ = c.sum.Write(room[:n]) // a hash cannot fail
	c.left += n
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		c.ended, err = true, nil
	}
	return err
}

// slide moves positions to the older half, and drops those that are there.
func slide(positions []uint16) {
	for i, p := range positions {
		positions[i] = max(p, windowBytes) - windowBytes
	}
}

// index makes a position a candidate, and returns the nearest earlier one, or 0.
func (c *compressor) index(at int) (candidate int) {
	hash := (uint(c.window[at])<<(2*hashShift) ^ uint(c.window[at+1])<<hashShift ^ uint(c.window[at+2])) &
		(1<<hashBits - 1)
	candidate = int(c.head[hash])
	c.previous[at&windowMask] = c.head[hash]
	c.head[hash] = uint16(at)
	return candidate
}

// match returns the longest match at the position among the nearest candidates.
func (c *compressor) match() (length, distance int) {
	if c.left < minMatch {
		return 0, 0
	}
	candidate := c.index(c.at)
	if candidate == 0 || c.at-candidate > maxReach {
		return 0, 0
	}
	oldest := max(c.at-maxReach, 0)
	nice := min(niceMatch, c.left)
	for range maxCandidates {
		if n := c.common(candidate); n > length {
			length, distance = n, c.at-candidate
			if n >= nice {
				break
			}
		}
		if candidate = int(c.previous[candidate&windowMask]); candidate <= oldest {
			break
		}
	}
	return length, distance
}

// common returns how many bytes are equal at a candidate and at the position.
func (c *compressor) common(candidate int) (n int) {
	most := min(maxMatch, c.left)
	for n < most && c.window[candidate+n] == c.window[c.at+n] {
		n++
	}
	return n
}

// skip advances behind a match. The positions of a short one become candidates.
func (c *compressor) skip(length int) {
	c.left -= length
	if length <= maxIndexed && c.left >= minMatch {
		for i := 1; i < length; i++ {
			c.index(c.at + i)
		}
	}
	c.at += length
}

// flush writes the block.
func (c *compressor) flush(last bool) error {
	var stored []byte
	if c.blockStart >= 0 {
		stored = c.window[c.blockStart:c.at]
	}
	c.block.write(&c.out, stored, last)
	c.blockStart = c.at
	c.block.begin()
	_, err := c.out.w.Write(nil)
	return err
}

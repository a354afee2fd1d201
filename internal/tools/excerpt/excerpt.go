// Package excerpt extracts lines from texts of any length, as many as a bound allows. Continuing
// after an excerpt returns every line once.
package excerpt

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

const (
	// MaxReadBytes bounds the part of a text that is read to find and count lines.
	MaxReadBytes = 64 << 20
	// foreignShare limits the invalid UTF-8 in a text to one byte in so many, enough for accents in
	// an older encoding. A text with more is unreadable.
	foreignShare = 6
	// foreignGrowth is the number of bytes that U+FFFD adds to a replaced byte.
	foreignGrowth = 2
)

// Excerpt is a part of a text.
type Excerpt struct {
	Text        string
	First, Last int  // lines, from 1; Last is First-1 when there is none
	Total       int  // lines of the text, or of its part that was read
	Counted     bool // Total is exact
	Binary      bool // the file is not text
	Cut         bool // the excerpt ends before the last requested line
	Within      int  // shown bytes of the last line, if that was cut
	Replaced    bool // invalid UTF-8 was replaced by U+FFFD
}

// Read extracts the lines from start to end; 0 stands for the first or last line. The lines have at
// most limit bytes, with their line ends. Later lines are only counted. The error is that of the
// reader or the context.
func Read(ctx context.Context, source io.Reader, start, end, limit int) (Excerpt, error) {
	limited := &io.LimitedReader{R: source, N: MaxReadBytes}
	reader := bufio.NewReaderSize(limited, 64<<10)
	head, err := reader.Peek(diff.BinaryBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return Excerpt{}, err
	}
	if diff.Binary(head) {
		return Excerpt{Binary: true}, nil
	}
	c := collector{start: max(start, 1), end: end, limit: limit}
	for {
		part, err := reader.ReadSlice('\n')
		c.add(part)
		switch {
		case errors.Is(err, io.EOF):
			return c.excerptOfFile(limited.N > 0), nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return Excerpt{}, err
		}
		if err := ctx.Err(); err != nil {
			return Excerpt{}, err
		}
	}
}

// Beginning returns the beginning of a valid text in whole lines, or a part of its first line: as much
// as a limit allows.
func Beginning(text string, limit int) Excerpt {
	c := collector{start: 1, limit: limit}
	for line := range strings.Lines(text) {
		c.add([]byte(line))
	}
	return c.excerpt(true)
}

// collector receives a text in parts, each a line or a part of one.
type collector struct {
	start, end int
	limit      int // bytes to collect
	lines      int // number of lines begun
	inside     bool
	collected  []byte
	foreign    int // invalid UTF-8 bytes in collected, which are shown as three each
	whole      int // bytes of collected up to the last line end
	last       int
	full       bool
}

func (c *collector) add(part []byte) {
	if len(part) == 0 {
		return
	}
	if !c.inside {
		c.lines++
	}
	c.inside = part[len(part)-1] != '\n'
	if c.full || c.lines < c.start || c.end != 0 && c.lines > c.end {
		return
	}
	foreign := foreignBytes(string(part))
	room := c.limit - len(c.collected) - foreignGrowth*c.foreign
	if len(part)+foreignGrowth*foreign > room {
		if foreign > 0 {
			room /= 1 + foreignGrowth
		}
		c.collected = append(c.collected, part[:min(room, len(part))]...)
		c.full = true
		return
	}
	c.collected, c.foreign = append(c.collected, part...), c.foreign+foreign
	if !c.inside {
		c.whole, c.last = len(c.collected), c.lines
	}
}

// excerptOfFile returns the collected lines if they are text.
func (c *collector) excerptOfFile(ended bool) Excerpt {
	x := c.excerpt(ended)
	if foreignBytes(x.Text) > len(x.Text)/foreignShare {
		return Excerpt{Binary: true}
	}
	return x.valid()
}

// valid replaces invalid UTF-8.
func (x Excerpt) valid() Excerpt {
	valid := strings.ToValidUTF8(x.Text, string(utf8.RuneError))
	x.Text, x.Replaced = valid, valid != x.Text
	return x
}

// excerpt returns the collected lines. ended reports whether the text was read to its end.
func (c *collector) excerpt(ended bool) Excerpt {
	if c.inside && !c.full && len(c.collected) > c.whole { // the last line has no line end
		c.whole, c.last = len(c.collected), c.lines
	}
	x := Excerpt{First: c.start, Last: max(c.last, c.start-1), Total: c.lines, Counted: ended, Cut: c.full}
	text := c.collected[:c.whole]
	if c.full && c.whole == 0 { // not even one line fits
		text = c.collected[:quoting.WholeRunes(c.collected)]
		x.Last, x.Within = c.start, len(text)
	}
	x.Text = string(text)
	return x
}

// foreignBytes counts bytes of invalid UTF-8.
func foreignBytes(text string) int {
	count := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			count++
		}
		text = text[size:]
	}
	return count
}

package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// maxReadBytes is how much of a file is read to find lines and to count them.
	maxReadBytes = 64 << 20
	// binaryBytes is how far git looks for a NUL, which makes a file binary.
	binaryBytes = 8000
	// foreignShare is the part of a text, one in so many, that may be no UTF-8:
	// accents in an older encoding. Of more than that nothing can be read.
	foreignShare = 6
	// foreignGrowth is by how many bytes U+FFFD is longer than what it replaces.
	foreignGrowth = 2
)

// excerpt is a part of a text.
type excerpt struct {
	text        string
	first, last int // lines shown, from 1; last is first-1 when there is none
	total       int // lines of the file, or those that were read
	counted     bool
	binary      bool
	cut         bool // before the line that was asked for as the last
	within      int  // bytes shown of the last line, when it was cut in it
	replaced    bool // something was not UTF-8
}

// count is the number of lines in words.
func (x excerpt) count() string {
	switch {
	case !x.counted:
		return fmt.Sprintf("more than %d lines", x.total)
	case x.total == 1:
		return "1 line"
	default:
		return fmt.Sprintf("%d lines", x.total)
	}
}

// readLines takes lines out of a file, from start to end; 0 is the first and the
// last. Line ends stay as they are. What follows is only counted.
func readLines(ctx context.Context, source io.Reader, start, end int) (excerpt, error) {
	limited := &io.LimitedReader{R: source, N: maxReadBytes}
	reader := bufio.NewReaderSize(limited, 64<<10)
	head, err := reader.Peek(binaryBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return excerpt{}, err
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return excerpt{binary: true}, nil
	}
	c := collector{start: max(start, 1), end: end, limit: maxListedBytes}
	for {
		part, err := reader.ReadSlice('\n')
		c.add(part)
		switch {
		case errors.Is(err, io.EOF):
			return c.excerpt(limited.N > 0), nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return excerpt{}, err
		}
		if err := ctx.Err(); err != nil {
			return excerpt{}, err
		}
	}
}

// collector gets a text in parts, each a line or a part of one.
type collector struct {
	start, end int
	limit      int // bytes that are shown
	lines      int // that began
	inside     bool
	kept       []byte
	foreign    int // bytes of kept that are no UTF-8, which are shown as three
	whole      int // bytes of kept up to the end of a line
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
	room := c.limit - len(c.kept) - foreignGrowth*c.foreign
	if len(part)+foreignGrowth*foreign > room {
		if foreign > 0 {
			room /= 1 + foreignGrowth
		}
		c.kept = append(c.kept, part[:min(room, len(part))]...)
		c.full = true
		return
	}
	c.kept, c.foreign = append(c.kept, part...), c.foreign+foreign
	if !c.inside {
		c.whole, c.last = len(c.kept), c.lines
	}
}

// excerpt is what was collected, if it is text.
func (c *collector) excerpt(ended bool) excerpt {
	x := c.cut(ended)
	switch foreign := foreignBytes(x.text); {
	case foreign > len(x.text)/foreignShare:
		return excerpt{binary: true}
	case foreign > 0:
		x.text, x.replaced = strings.ToValidUTF8(x.text, string(utf8.RuneError)), true
	}
	return x
}

// cut is what was collected, whatever it is. ended says that the file was read
// to its end.
func (c *collector) cut(ended bool) excerpt {
	if c.inside && !c.full && len(c.kept) > c.whole { // the last line has no end
		c.whole, c.last = len(c.kept), c.lines
	}
	x := excerpt{first: c.start, last: max(c.last, c.start-1), total: c.lines, counted: ended, cut: c.full}
	text := c.kept[:c.whole]
	if c.full && c.whole == 0 { // not even one line fits
		text = c.kept[:wholeRunes(c.kept)]
		x.last, x.within = c.start, len(text)
	}
	x.text = string(text)
	return x
}

// foreignBytes is the number of bytes that are no UTF-8.
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

// wholeRunes is how much of a cut text ends with a whole character.
func wholeRunes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

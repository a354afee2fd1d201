package excerpt

import (
	"bytes"
	"errors"
)

// ErrEnough ends writing once the excerpt is complete.
var ErrEnough = errors.New("enough of the text")

// Writer extracts lines from what is written to it, which is text in any encoding.
type Writer struct {
	collector
	written int
}

// NewWriter returns a Writer for the lines from start on, up to limit bytes.
func NewWriter(start, limit int) *Writer {
	return &Writer{collector: collector{start: start, limit: limit}}
}

// Write fails with [ErrEnough] once the excerpt is complete, or after [MaxReadBytes].
func (w *Writer) Write(p []byte) (int, error) {
	w.written += len(p)
	for line := range bytes.Lines(p) {
		w.add(line)
	}
	if w.full || w.written > MaxReadBytes {
		return 0, ErrEnough
	}
	return len(p), nil
}

// Lines returns the number of lines written.
func (w *Writer) Lines() int { return w.lines }

// Excerpt returns the lines. ended reports whether everything was written; otherwise the last line
// may be incomplete and is left out.
func (w *Writer) Excerpt(ended bool) Excerpt {
	if !ended && !w.full {
		w.inside = false
	}
	return w.excerpt(ended).valid()
}

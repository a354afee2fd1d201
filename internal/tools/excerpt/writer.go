package excerpt

import (
	"bytes"
	"errors"
)

// ErrEnough ends writing when no more is needed.
var ErrEnough = errors.New("enough of the text")

// Writer takes lines out of what is written to it, which is text in any encoding.
type Writer struct {
	collector
	written int
}

// NewWriter takes lines from start on, of at most limit bytes.
func NewWriter(start, limit int) *Writer {
	return &Writer{collector: collector{start: start, limit: limit}}
}

// Write fails with [ErrEnough] when it has its lines, or was written [MaxReadBytes].
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

// Lines returns how many lines were written.
func (w *Writer) Lines() int { return w.lines }

// Excerpt returns the lines. ended says that all was written; otherwise the last line
// may be a part of one, which is left out.
func (w *Writer) Excerpt(ended bool) Excerpt {
	if !ended && !w.full {
		w.inside = false
	}
	return w.excerpt(ended).valid()
}

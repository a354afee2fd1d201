// Package span passes on a part of the bytes that are written to it.
package span

import (
	"errors"
	"io"
)

var (
	// ErrEnd stops a writer after the end of the span: all of the span was written.
	ErrEnd = errors.New("the end of the span")
	// ErrLonger says that bytes follow a span that should be the last one.
	ErrLonger = errors.New("bytes follow the last span")
)

// Writer drops the bytes before a span and passes the span on. The write that completes the span
// returns [ErrEnd]; for an empty span that is the first write.
type Writer struct {
	W    io.Writer // gets the span
	Skip int64     // bytes before the span that were not written yet
	Left int64     // bytes of the span that were not written yet; negative: all that follow
	// Last says that the span ends the content. The end of the span is no error then, and a write
	// beyond the end passes on nothing and fails with [ErrLonger].
	Last bool
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	dropped := min(w.Skip, int64(len(p)))
	w.Skip -= dropped
	part, written := p[dropped:], int(dropped)
	if w.Left >= 0 && int64(len(part)) > w.Left {
		if w.Last {
			return written, ErrLonger
		}
		part = part[:w.Left]
	}
	if len(part) > 0 {
		n, err := w.W.Write(part)
		written += n
		if w.Left > 0 {
			w.Left -= int64(n)
		}
		if err == nil && n < len(part) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, err
		}
	}
	if w.Left == 0 && !w.Last {
		return written, ErrEnd
	}
	return written, nil
}

package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLong says that a line was longer than a message may be. Later lines can be read.
var errLong = errors.New("the line is too long")

// lines reads a stream line by line, and never holds more than one line.
type lines struct {
	source *bufio.Reader
	most   int // bytes of a line, without its end
}

// next returns the next non-empty line, without its end: LF, CR LF or the end of the stream. It
// fails with [errLong], with [io.EOF] after the last line, or with the error of the stream.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if line = bytes.Trim(line, " \t\r"); len(line) > 0 || err != nil {
			return line, err
		}
	}
}

// line returns a line, which may be empty. The last line may lack its end: it is complete
// nevertheless, or no JSON.
func (l *lines) line() (line []byte, err error) {
	long := false
	for {
		part, err := l.source.ReadSlice('\n')
		whole := err == nil
		if !long {
			line = append(line, bytes.TrimSuffix(part, []byte("\n"))...)
		}
		if len(bytes.TrimSuffix(line, []byte("\r"))) > l.most {
			long, line = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case !whole && (!errors.Is(err, io.EOF) || !long && len(line) == 0):
			return nil, err
		case long:
			return nil, errLong
		default:
			return line, nil
		}
	}
}

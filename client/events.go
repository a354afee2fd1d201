package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// events returns the next message of an event stream.
type events func() (message, error)

// newEvents reads an event stream (HTML, server-sent events). It skips comments, which only show
// that the server is alive, and events that are no messages, unless they are a flood. progress is
// called for pieces of long lines.
func newEvents(r io.Reader, progress func()) events {
	in, useless := bufio.NewReaderSize(r, stepBytes), chatter{}
	return func() (m message, err error) {
		var data []byte
		for {
			line, err := nextLine(in, progress)
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return message{}, err
			}
			value, isData := bytes.CutPrefix(line, []byte("data:"))
			switch {
			case isData && len(data)+len(value) > maxMessage:
				return message{}, errTooLong
			case isData:
				data = append(append(data, value...), '\n')
				continue
			case len(line) > 0:
				err = useless.add(len(line) + 1)
			case len(data) > 0 && json.Unmarshal(data, &m) == nil:
				return m, nil
			default:
				err = useless.add(len(data) + 1)
				m, data = message{}, nil
			}
			if err != nil {
				return message{}, err
			}
		}
	}
}

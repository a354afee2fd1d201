package client

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
)

// events waits for the next message of a stream of them.
type events func() (message, error)

// newEvents reads an event stream (HTML, server-sent events). Comments, which only show
// that somebody is there, and events that are no messages are passed over.
func newEvents(r io.Reader) events {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	return func() (m message, err error) {
		var data []byte
		for lines.Scan() {
			line := lines.Bytes()
			if value, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(data)+len(value) < maxMessage {
				data = append(append(data, value...), '\n')
			}
			if len(line) == 0 && len(data) > 0 {
				if json.Unmarshal(data, &m) == nil {
					return m, nil
				}
				m, data = message{}, nil
			}
		}
		return message{}, cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
	}
}

package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// events reads the messages of an event stream (HTML, server-sent events).
type events struct {
	lines *bufio.Reader
	close func() // ends the stream
}

func newEvents(r io.Reader) *events { return &events{lines: bufio.NewReader(r)} }

// next waits for a message. Comments, which only show that somebody is there,
// and events that are no messages are passed over.
func (e *events) next() (message, error) {
	var data []byte
	for {
		line, err := e.line(len(data))
		if err != nil {
			return message{}, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case string(name) == "data":
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		case len(line) == 0 && len(data) > 0:
			var m message
			if json.Unmarshal(data, &m) == nil {
				return m, nil
			}
			data = nil
		}
	}
}

// line reads one of any length that a message may have.
func (e *events) line(before int) ([]byte, error) {
	var line []byte
	for {
		piece, err := e.lines.ReadSlice('\n')
		line = append(line, piece...)
		if before+len(line) > maxMessage {
			return nil, fmt.Errorf("an event has more than %d bytes", maxMessage)
		}
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

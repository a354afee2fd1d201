package client

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
)

// events reads the messages of an event stream (HTML, server-sent events).
type events struct {
	lines *bufio.Scanner
	close func() // ends the stream, wherever it is read
	// receive, if any, has the messages in place of lines.
	receive func() (message, error)
}

func newEvents(r io.Reader) *events {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	return &events{lines: lines}
}

// next waits for a message. Comments, which only show that somebody is there,
// and events that are no messages are passed over.
func (e *events) next() (m message, err error) {
	if e.receive != nil {
		return e.receive()
	}
	var data []byte
	for e.lines.Scan() {
		line := e.lines.Bytes()
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
	return message{}, cmp.Or(e.lines.Err(), io.ErrUnexpectedEOF)
}

// told is a message of a stream, or why there is none any more.
type told struct {
	message
	err error
}

// inBackground has the stream read by a goroutine until it fails, which end makes it
// do.
func (e *events) inBackground() (_ <-chan told, end func()) {
	out, stop, stopped := make(chan told), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for err := error(nil); err == nil; {
			var m message
			m, err = e.next()
			select {
			case out <- told{m, err}:
			case <-stop:
				return
			}
		}
	}()
	return out, func() {
		close(stop)
		e.close()
		<-stopped
	}
}

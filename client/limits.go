package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

const (
	// maxMessage bounds a message, and all input in reply to one.
	maxMessage = binary.MaxMessageBytes
	// stepBytes of a message prove progress: at least so many have to arrive within Options.Idle.
	stepBytes = 4 << 10
	// maxChatter bounds the useless bytes within chatterTime. Heartbeats take some of them, and an
	// abandoned stream some hundred kilobytes.
	maxChatter = 4 << 20
	// maxUnsent bounds the bytes that wait until the server reads them: answers to its own
	// requests, and cancellations of abandoned requests.
	maxUnsent   = 4 << 20
	chatterTime = time.Minute
)

var (
	errTooLong = fmt.Errorf("%w: a message of more than %d bytes", ErrDamaged, maxMessage)
	errUnread  = fmt.Errorf("%w: the server does not read what it is sent: %d bytes wait", ErrNetwork, maxUnsent)
	errChatter = fmt.Errorf("%w: more than %d bytes in a minute that are of no use", ErrDamaged, maxChatter)
)

// chatter counts useless bytes.
type chatter struct {
	since time.Time
	bytes int
}

func (c *chatter) add(n int) error {
	if now := time.Now(); now.Sub(c.since) > chatterTime {
		c.since, c.bytes = now, 0
	}
	if c.bytes += n; c.bytes > maxChatter {
		return errChatter
	}
	return nil
}

// nextLine reads a line of at most maxMessage bytes, without its end. It calls progress for each
// piece of a line that is longer than the buffer.
func nextLine(in *bufio.Reader, progress func()) (line []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > maxMessage {
			return nil, errTooLong
		}
		line = append(line, piece...)
		switch {
		case err == nil:
			line = line[:len(line)-1]
			if end := len(line) - 1; end >= 0 && line[end] == '\r' {
				line = line[:end]
			}
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
			progress()
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// capped fails if there are more bytes than left.
type capped struct {
	io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// steps calls progress once per stepBytes bytes.
type steps struct {
	io.Reader
	progress func()
	bytes    int
}

func (s *steps) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.bytes += n; s.bytes >= stepBytes {
		s.bytes = 0
		s.progress()
	}
	return n, err
}

// silence is the time without useful input over a connection. Time in which the client does not
// read does not count.
type silence struct {
	mu    sync.Mutex
	from  time.Time // the last useful input
	freed time.Time // the end of the last hold
	held  bool
}

// end notes useful input.
func (s *silence) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = time.Now()
}

// hold says that nothing is read until free.
func (s *silence) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

func (s *silence) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.freed = false, time.Now()
}

// lasts is how long the silence has lasted since a time, not counting time before the end of a
// hold. With anything set, input that was useful to any request ends it.
func (s *silence) lasts(since time.Time, anything bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		return 0
	}
	if s.freed.After(since) {
		since = s.freed
	}
	if anything && s.from.After(since) {
		since = s.from
	}
	return time.Since(since)
}

package blocks

import (
	"context"
	"io"
)

// Series is a stream of a format whose files may be put one after another: every
// block becomes a file of its own. It must be closed or aborted, and is for one
// goroutine at a time; to end it from another, cancel its context.
//
// The first error stays: the stream's blocks are given back at once, and Write
// and Close return the error from then on.
type Series struct {
	stream *Stream
	empty  string
	begun  bool // there is input
}

// OpenSeries starts a stream to dst, as [Pool.Open] does. Without input it
// becomes the given file of no content, since nothing would be no file.
func (p *Pool) OpenSeries(ctx context.Context, dst io.Writer, encoder Encoder, empty string) *Series {
	return &Series{stream: p.Open(ctx, dst, encoder, nil), empty: empty}
}

// Write is that of [Stream].
func (s *Series) Write(p []byte) (int, error) {
	s.begun = s.begun || len(p) > 0
	return s.stream.Write(p)
}

// Close encodes the rest and writes all. After an error it writes nothing and
// returns the error. Closing again returns the same.
func (s *Series) Close() error {
	if !s.begun {
		return s.stream.Close([]byte(s.empty))
	}
	return s.stream.Close(nil)
}

// Abort ends the stream within a file: a reader will notice. After Close, or
// again, it does nothing; so it can be deferred.
func (s *Series) Abort() { s.stream.Abort() }

// DoubledSize is the input of the block with a number where each is twice the one
// before, up to the largest: the first byte leaves early, and a short stream still
// occupies several workers. It depends on the position only and never on time, so
// that the output does too.
func DoubledSize(first, largest, number int) int {
	for ; number > 0 && first < largest; number-- {
		first *= 2
	}
	return min(first, largest)
}

package archive

import (
	"errors"
	"io"

	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// chunkBytes is how much of a large file is read at a time.
	chunkBytes = 128 << 10
	// chunks is how many of those are in memory: one is read while another is
	// written, and one waits, so that neither side waits for a slower moment of
	// the other.
	chunks = 3
)

// chunk is a part of a file, or why there is no more.
type chunk struct {
	bytes []byte
	err   error
}

// copy writes a large file's content while it is read ahead: reading one costs
// as much as compressing it. A blob gives exactly its size or an error.
func (l *pipeline) copy(blob *repos.Blob) error {
	free, full, stop := make(chan []byte, chunks), make(chan chunk, chunks), make(chan struct{})
	for range chunks {
		free <- l.engine.takeChunk()
	}
	go readChunks(blob, free, full, stop)
	err := l.writeChunks(free, full)
	close(stop)
	for c := range full { // until the reader has ended: it uses the blob
		l.engine.giveChunk(c.bytes)
	}
	close(free)
	for buffer := range free {
		l.engine.giveChunk(buffer)
	}
	return err
}

// readChunks reads a file into free buffers until its end, an error, or stop.
// It closes full when it has let go of the file.
func readChunks(blob io.Reader, free <-chan []byte, full chan<- chunk, stop <-chan struct{}) {
	defer close(full)
	for {
		select {
		case <-stop:
			return
		case buffer := <-free:
			n, err := io.ReadFull(blob, buffer[:chunkBytes])
			if errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, repos.ErrCorrupt) {
				err = io.EOF // a last chunk that is not full
			}
			full <- chunk{buffer[:n], err} // has room for all buffers
			if err != nil {
				return
			}
		}
	}
}

func (l *pipeline) writeChunks(free chan<- []byte, full <-chan chunk) error {
	for c := range full {
		err := c.err
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if failed := l.write(c.bytes); failed != nil {
			err = failed
		}
		if err != nil || c.err != nil {
			l.engine.giveChunk(c.bytes)
			return err
		}
		free <- c.bytes
	}
	return io.ErrUnexpectedEOF // full ends with an error of its own
}

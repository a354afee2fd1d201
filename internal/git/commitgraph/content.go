package commitgraph

import (
	"context"
	"crypto/sha1"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// blockBits is the size of a read, as a power of two: a walk accesses commits all over the file,
// and a system call costs as much as copying such a block.
const blockBits = 13

// content is a file that is read block by block on demand. Memory is reserved for the whole file,
// but only used for the blocks that were read.
type content struct {
	bytes []byte
	have  []atomic.Bool // by block
	fault atomic.Pointer[error]

	reading sync.Mutex
	file    io.ReaderAt
}

func newContent(file io.ReaderAt, size int64) *content {
	return &content{bytes: make([]byte, size), have: make([]atomic.Bool, size>>blockBits+1), file: file}
}

// wholeContent returns a content in memory.
func wholeContent(data []byte) *content {
	c := &content{bytes: data, have: make([]atomic.Bool, len(data)>>blockBits+1)}
	for block := range c.have {
		c.have[block].Store(true)
	}
	return c
}

// at returns n bytes. Unreadable bytes are zero, and set the fault.
func (c *content) at(from, n int) []byte {
	for block := from >> blockBits; block <= (from+n-1)>>blockBits; block++ {
		if !c.have[block].Load() {
			c.read(block)
		}
	}
	return c.bytes[from : from+n]
}

func (c *content) read(block int) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.have[block].Load() {
		return
	}
	from := block << blockBits
	part := c.bytes[from:min(from+1<<blockBits, len(c.bytes))]
	if n, err := c.file.ReadAt(part, int64(from)); n < len(part) {
		clear(part)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		c.refuse(err)
	}
	c.have[block].Store(true)
}

// refuse records that the file is invalid.
func (c *content) refuse(err error) { c.fault.CompareAndSwap(nil, &err) }

func (c *content) failure() error {
	if fault := c.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// sum returns the SHA-1 of all bytes but the stored checksum. It reads the whole file.
func (c *content) sum(ctx context.Context) (sum [sha1.Size]byte, err error) {
	h, end := sha1.New(), len(c.bytes)-sha1.Size
	for from := 0; from < end; from += 1 << blockBits {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		h.Write(c.at(from, min(1<<blockBits, end-from)))
	}
	c.at(end, sha1.Size)
	return [sha1.Size]byte(h.Sum(nil)), nil
}

package history

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/repos"
)

// maxContents bounds the contents that are kept besides the two that are compared.
const maxContents = 2 * MaxBlameBytes

// contents keeps the versions that were read last: each is compared with what is
// before it and with what comes after it.
type contents struct {
	source *source
	known  map[repos.ID][]byte
	order  []repos.ID
	bytes  int
}

func (c *contents) read(id repos.ID) ([]byte, error) {
	if content, ok := c.known[id]; ok {
		return content, nil
	}
	content, err := c.source.ReadBlob(id, MaxBlameBytes, nil)
	switch {
	case errors.Is(err, repos.ErrTooLarge):
		return nil, fmt.Errorf("a version of the file has more than %d bytes: %w", MaxBlameBytes, repos.ErrTooLarge)
	case err != nil:
		return nil, damageIfMissing(id, err)
	case len(content) > MaxBlameLines && bytes.Count(content, []byte{'\n'}) > MaxBlameLines:
		return nil, fmt.Errorf("a version of the file has more than %d lines: %w", MaxBlameLines, repos.ErrTooLarge)
	}
	if c.known == nil {
		c.known = make(map[repos.ID][]byte)
	}
	c.known[id] = content
	c.order = append(c.order, id)
	for c.bytes += len(content); c.bytes > maxContents; c.order = c.order[1:] {
		c.bytes -= len(c.known[c.order[0]])
		delete(c.known, c.order[0])
	}
	return content, nil
}

package history

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/repos"
)

// maxContents bounds the contents that are kept besides the two that are compared.
const maxContents = 2 * MaxBlameBytes

// read reads a version. The last ones are kept: each is compared with what is before
// it and with what comes after it.
func (t *tracer) read(id repos.ID) ([]byte, error) {
	if content, ok := t.contents.Get(id); ok {
		return content, nil
	}
	content, err := t.source.ReadBlob(id, MaxBlameBytes, nil)
	switch {
	case errors.Is(err, repos.ErrTooLarge):
		return nil, fmt.Errorf("a version of the file has more than %d bytes: %w", MaxBlameBytes, repos.ErrTooLarge)
	case err != nil:
		return nil, damageIfMissing(id, err)
	case len(content) > MaxBlameLines && bytes.Count(content, []byte{'\n'}) > MaxBlameLines:
		return nil, fmt.Errorf("a version of the file has more than %d lines: %w", MaxBlameLines, repos.ErrTooLarge)
	}
	t.contents.Put(id, content, int64(len(content)))
	return content, nil
}

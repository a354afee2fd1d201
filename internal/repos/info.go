package repos

import (
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/objects"
)

// maxInfoAttributesBytes bounds info/attributes: git has 100 MB for such a file,
// this one is written by an operator.
const maxInfoAttributesBytes = 1 << 20

// InfoAttributes is the content of info/attributes, which wins over every
// .gitattributes file (gitattributes(5)); nil when there is none.
func (s *Snapshot) InfoAttributes() ([]byte, error) {
	file, info, err := objects.OpenRegular(s.refs.root, s.repository.dir+"/info/attributes")
	if errors.Is(err, objects.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, domainError(err)
	}
	defer func() { _ = file.Close() }() // only read from
	if info.Size() > maxInfoAttributesBytes {
		return nil, fmt.Errorf("info/attributes has more than %d bytes: %w", maxInfoAttributesBytes, ErrUnsupported)
	}
	content, err := io.ReadAll(io.LimitReader(file, info.Size()))
	if err != nil {
		return nil, readError("info/attributes", err)
	}
	return content, nil
}

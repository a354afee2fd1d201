package repos

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// maxInfoAttributesBytes bounds info/attributes: git has 100 MB for such a file,
// this one is written by an operator.
const maxInfoAttributesBytes = 1 << 20

// InfoAttributes is the content of info/attributes, which wins over every
// .gitattributes file (gitattributes(5)); nil when there is none.
func (s *Snapshot) InfoAttributes() ([]byte, error) {
	file, err := s.refs.root.Open(s.repository.dir + "/info/attributes")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, domainError(err)
	}
	defer func() { _ = file.Close() }() // only read from
	content, err := io.ReadAll(io.LimitReader(file, maxInfoAttributesBytes+1))
	if err != nil {
		return nil, domainError(err)
	}
	if len(content) > maxInfoAttributesBytes {
		return nil, fmt.Errorf("info/attributes has more than %d bytes: %w", maxInfoAttributesBytes, ErrUnsupported)
	}
	return content, nil
}

package repos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/repomcp/repomcp/internal/objects"
)

// maxShallowBytes bounds the list of commits whose parents are left out: some
// six million.
const maxShallowBytes = 256 << 20

// RawCommit returns a commit object as it is stored, for what [Commit] leaves
// out. It is compared with its id.
func (s *Snapshot) RawCommit(id ID) ([]byte, error) {
	return s.read(id, objects.Commit, maxCommitBytes)
}

// RawTag returns an annotated tag object as it is stored. It is compared with its
// id.
func (s *Snapshot) RawTag(id ID) ([]byte, error) {
	return s.read(id, objects.Tag, maxCommitBytes)
}

// Shallow lists the commits whose parents a shallow clone left out
// (gitrepository-layout(5)); none in a whole repository.
func (s *Snapshot) Shallow() ([]ID, error) {
	file, _, err := objects.OpenRegular(s.refs.root, path.Join(s.repository.dir, "shallow"))
	if errors.Is(err, objects.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading shallow: %w", domainError(err))
	}
	defer func() { _ = file.Close() }() // only read from
	var ids []ID
	lines := bufio.NewScanner(io.LimitReader(file, maxShallowBytes))
	for lines.Scan() {
		id, err := ParseID(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("reading shallow: %w: %w", ErrCorrupt, err)
		}
		ids = append(ids, id)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading shallow: %w: %w", ErrCorrupt, err)
	}
	return ids, nil
}

// ScanCommit is [Snapshot.RawCommit] for walks over whole histories: it appends
// the object to buf. It is compared with its id like all others, which git does
// not do in its walks: where a history leads to by a wrong commit nobody would
// notice.
func (s *Snapshot) ScanCommit(id ID, buf []byte) ([]byte, error) {
	return s.scan(id, objects.Commit, maxCommitBytes, buf)
}

// StoredTree reads a tree object, whose content it appends to buf: see ScanCommit.
func (s *Snapshot) StoredTree(id ID, buf []byte) (StoredTree, error) {
	content, err := s.scan(id, objects.Tree, maxTreeBytes, buf)
	return StoredTree{id, content}, err
}

func (s *Snapshot) scan(id ID, want objects.Type, limit int64, buf []byte) ([]byte, error) {
	kind, content, err := s.objects.ReadVerified(id, limit, buf)
	switch {
	case errors.Is(err, objects.ErrTooLarge):
		return buf, damage(id, err)
	case err != nil:
		return buf, mustExist(id, domainError(err))
	case kind != want:
		return buf, damage(id, fmt.Errorf("is a %s, not a %s", kind, want))
	default:
		return content, nil
	}
}

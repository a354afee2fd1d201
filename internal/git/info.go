package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// maxInfoAttributesBytes bounds info/attributes: git allows 100 MB for such a file, but this one is
// written by an operator.
const maxInfoAttributesBytes = 1 << 20

// InfoAttributes is the content of info/attributes, which overrides every .gitattributes file
// (gitattributes(5)); nil if there is none.
func (s *Snapshot) InfoAttributes() ([]byte, error) {
	content, err := files.Read(s.repository.store.root, s.repository.dir+"/info/attributes", maxInfoAttributesBytes)
	switch {
	case errors.Is(err, objects.ErrNotFound):
		return nil, nil
	case errors.Is(err, objects.ErrTooLarge):
		return nil, fmt.Errorf("info/attributes has more than %d bytes: %w", maxInfoAttributesBytes, ErrUnsupported)
	}
	return content, domainError(err)
}

// maxShallowBytes bounds the list of commits without parents, which is in memory: some four hundred thousand.
const maxShallowBytes = 16 << 20

// Shallow lists the commits whose parents a shallow clone left out
// (gitrepository-layout(5)); none in a whole repository.
func (s *Snapshot) Shallow() (map[ID]bool, error) {
	content, err := readRegular(s.repository.store.root, s.repository.dir+"/shallow", maxShallowBytes)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading shallow: %w", err)
	}
	ids := make(map[ID]bool)
	for line := range bytes.Lines(content) {
		id, err := ParseID(string(bytes.TrimRight(line, "\r\n")))
		if err != nil {
			return nil, fmt.Errorf("reading shallow: %w: %w", ErrCorrupt, err)
		}
		ids[id] = true
	}
	return ids, nil
}

// isCut reports whether the repository is shallow, so that its graph may contain parents that it
// lacks.
func (s *Snapshot) isCut() (bool, error) {
	name := s.repository.dir + "/shallow"
	info, err := s.repository.store.root.Stat(name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, domainError(files.OpenError(name, err))
	}
	return info.Size() > 0, nil
}

// Fetch describes a repository's last git fetch. Git notes it in FETCH_HEAD (git-fetch(1)): it
// empties the file first, and writes the result when the other side has listed its refs. The times
// of other files tell less: refs change only when something is new, and packed-refs also with every
// repack.
type Fetch struct {
	State FetchState
	// At is when the fetch ended or, if it did not end, when it began; zero without a fetch.
	At time.Time
}

// FetchState is the outcome of the last fetch.
type FetchState string

// The states.
const (
	// FetchNever: no fetch since the repository was made, or none by git.
	FetchNever FetchState = "never"
	// FetchDone: the last fetch was complete.
	FetchDone FetchState = "done"
	// FetchUnfinished: the last fetch failed, or is in progress, or found a repository without
	// refs.
	FetchUnfinished FetchState = "unfinished"
)

// LastFetch reads the file at each call.
func (r *Repository) LastFetch() (Fetch, error) {
	info, err := r.store.root.Stat(r.dir + "/FETCH_HEAD")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Fetch{State: FetchNever}, nil
	case err != nil:
		return Fetch{}, files.Pathless(err)
	case info.Size() == 0:
		return Fetch{FetchUnfinished, info.ModTime()}, nil
	default:
		return Fetch{FetchDone, info.ModTime()}, nil
	}
}

// Fetched is when git last fetched into the repository; zero if unknown, as after a failed fetch.
func (r *Repository) Fetched() time.Time {
	last, err := r.LastFetch()
	if err != nil || last.State != FetchDone {
		return time.Time{}
	}
	return last.At
}

package repos

import (
	"errors"
	"io/fs"
	"time"
)

// Fetch is what a repository tells of its last git fetch. Git notes that in
// FETCH_HEAD (git-fetch(1)): it empties the file first, and writes what came when
// the other side has told what it has. The times of other files tell less: refs
// change only when something is new, and packed-refs with every repack as well.
type Fetch struct {
	State FetchState
	// At is when the fetch ended or, of one that did not, when it began; zero where
	// there was none.
	At time.Time
}

// FetchState is how the last fetch went.
type FetchState string

// The states.
const (
	// FetchNever: nobody has fetched since the repository was made, or not with git.
	FetchNever FetchState = "never"
	// FetchDone: the last fetch brought what there was.
	FetchDone FetchState = "done"
	// FetchUnfinished: the last fetch failed, or is under way, or found a repository
	// without refs.
	FetchUnfinished FetchState = "unfinished"
)

// LastFetch looks at the file each time.
func (r *Repository) LastFetch() (Fetch, error) {
	info, err := r.catalogue.root.Stat(r.dir + "/FETCH_HEAD")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Fetch{State: FetchNever}, nil
	case err != nil:
		return Fetch{}, pathless(err)
	case info.Size() == 0:
		return Fetch{FetchUnfinished, info.ModTime()}, nil
	default:
		return Fetch{FetchDone, info.ModTime()}, nil
	}
}

// Fetched is when git last fetched into the repository; zero where that is not
// known, as after a fetch that failed.
func (r *Repository) Fetched() time.Time {
	last, err := r.LastFetch()
	if err != nil || last.State != FetchDone {
		return time.Time{}
	}
	return last.At
}

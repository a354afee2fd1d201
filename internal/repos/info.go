package repos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// maxDescriptionBytes bounds the one-line description of a repository.
const maxDescriptionBytes = 1024

// Description is the text of the repository's description file, as gitweb
// shows it, or "". Git's placeholder for an unnamed repository counts as none.
func (r *Repository) Description() string {
	file, _, err := files.Open(r.catalogue.root, r.dir+"/description")
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read from
	content, err := io.ReadAll(io.LimitReader(file, maxDescriptionBytes))
	text := strings.TrimSpace(strings.ToValidUTF8(string(content), "\uFFFD"))
	if err != nil || strings.HasPrefix(text, "Unnamed repository") {
		return ""
	}
	return text
}

// maxInfoAttributesBytes bounds info/attributes: git has 100 MB for such a file,
// this one is written by an operator.
const maxInfoAttributesBytes = 1 << 20

// InfoAttributes is the content of info/attributes, which wins over every
// .gitattributes file (gitattributes(5)); nil when there is none.
func (s *Snapshot) InfoAttributes() ([]byte, error) {
	content, err := files.Read(s.refs.root, s.repository.dir+"/info/attributes", maxInfoAttributesBytes)
	switch {
	case errors.Is(err, objects.ErrNotFound):
		return nil, nil
	case errors.Is(err, objects.ErrTooLarge):
		return nil, fmt.Errorf("info/attributes has more than %d bytes: %w", maxInfoAttributesBytes, ErrUnsupported)
	}
	return content, domainError(err)
}

// maxShallowBytes bounds the list of commits whose parents are left out: some
// six million.
const maxShallowBytes = 256 << 20

// Shallow lists the commits whose parents a shallow clone left out
// (gitrepository-layout(5)); none in a whole repository.
func (s *Snapshot) Shallow() (map[ID]bool, error) {
	content, err := readRegular(s.refs.root, s.repository.dir+"/shallow", maxShallowBytes)
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

// isCut reports whether the repository is a shallow one, whose graph may know
// parents that it has not.
func (s *Snapshot) isCut() bool {
	info, err := s.refs.root.Stat(s.repository.dir + "/shallow")
	return err == nil && info.Size() > 0
}

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

// Origin is the address that the mirror was cloned from, for people, without what may be a secret: "" where it has
// none, or one on this machine.
func (r *Repository) Origin() string {
	database, err := r.catalogue.store.Open(r.dir)
	if err != nil {
		return ""
	}
	address := ""
	for _, value := range database.Configured("remote.origin.url") {
		address = value // the last one counts
	}
	return withoutCredentials(address)
}

// withoutCredentials keeps the user of ssh, without whom the address would not work.
func withoutCredentials(address string) string {
	host, _, ok := splitURL(address)
	if !ok || host == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.User == nil { // host:path has no password
		return address
	}
	u.User = url.User(u.User.Username())
	if u.Scheme != "ssh" {
		u.User = nil
	}
	return u.String()
}

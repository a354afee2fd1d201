package statuspage

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/repos"
)

// row describes one repository.
type row struct {
	Name        string
	Description string
	// Branch is the default branch, "" if HEAD names none; Commit is HEAD's commit, "" if there is
	// none.
	Branch, Commit string
	Short          string // of Commit
	// State is the error shown when HEAD has no commit.
	State   string
	Fetched time.Time // zero if unknown or never
	Age     time.Duration
	// FetchState is the problem of the last fetch.
	FetchState string
	Downloads  []download
}

// download is an address of HEAD's content.
type download struct{ Label, Address string }

// shortID is the length of ids for people.
const shortID = 10

func newRow(repository *repos.Repository, base string, now time.Time) row {
	// A description of several lines becomes one line.
	description := strings.Join(strings.Fields(repository.Description()), " ")
	r := row{Name: repository.Name(), Description: quoting.Clean(description)}
	r.addFetch(repository, now)
	r.State = r.addHead(repository)
	if r.Commit != "" {
		r.Downloads = downloads(r.Name, base)
	}
	return r
}

// states are descriptions of a HEAD without a commit; the first match counts.
var states = []struct {
	is   error
	says string
}{
	{git.ErrUnborn, "HEAD names no branch that exists"}, // also matches ErrEmpty
	{git.ErrEmpty, "empty"},
	{git.ErrUnsupported, "a format that is not read"},
}

// addHead returns the error shown when HEAD has no commit.
func (r *row) addHead(repository *repos.Repository) (state string) {
	snapshot, err := repository.Snapshot()
	if err != nil {
		return stateOf(err)
	}
	defer func() { _ = snapshot.Close() }() // only read
	if r.Branch, err = snapshot.DefaultBranch(); err != nil {
		return stateOf(err)
	}
	r.Branch = quoting.Clean(r.Branch)
	head, err := snapshot.Head()
	if err != nil {
		return stateOf(err)
	}
	r.Commit = head.Commit.String()
	r.Short = r.Commit[:shortID]
	return ""
}

func stateOf(err error) string {
	for _, state := range states {
		if errors.Is(err, state.is) {
			return state.says
		}
	}
	return "cannot be read"
}

// addFetch adds the age of the mirror.
func (r *row) addFetch(repository *repos.Repository, now time.Time) {
	last, err := repository.LastFetch()
	switch {
	case err != nil:
		r.FetchState = "not known"
	case last.State == git.FetchDone:
		r.Fetched, r.Age = last.At, now.Sub(last.At)
	case last.State == git.FetchUnfinished:
		r.FetchState = "fetch unfinished"
	}
}

// downloads returns addresses of HEAD's content. They name HEAD rather than a branch, so that
// bookmarks stay valid.
func downloads(name, base string) []download {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	path := strings.Join(parts, "/")
	archive := base + "/archive/" + path + "/HEAD."
	return []download{
		{"tar.gz", archive + "tar.gz"}, {"tar.zst", archive + "tar.zst"}, {"zip", archive + "zip"},
		{"refs", base + "/refs/" + path},
	}
}

// age formats a duration for people.
func age(d time.Duration) string {
	units := []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}}
	for _, unit := range units {
		if n := int(d / unit.size); n > 0 {
			return plural(n, unit.name) + " ago"
		}
	}
	return "just now"
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return count(n) + " " + unit + "s"
}

// count formats a number with thousands separators.
func count(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

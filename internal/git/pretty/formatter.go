package pretty

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/mailmap"
)

// maxMailmap bounds the mailmap; Linux's has 50 KiB.
const maxMailmap = 16 << 20

// Repository is the data that formats read. [git.Snapshot] implements it.
type Repository interface {
	mailmap.Repository
	RawTag(id git.ID) ([]byte, error)
	Refs() ([]git.Ref, error)
	Tags() ([]git.Ref, error)
	Shallow() (map[git.ID]bool, error)
	Abbreviate(id git.ID, digits int) (string, error)
}

var _ Repository = (*git.Snapshot)(nil)

// Formatter expands formats with one commit. It is used by one goroutine. It caches what it reads
// of the repository, so that all its texts agree.
type Formatter struct {
	repository Repository
	id         git.ID
	now        func() time.Time
	work       int64 // maxWork
	history    int   // maxHistory

	commit      func() (*commit, error)
	shallow     func() (map[git.ID]bool, error)
	people      func() (*mailmap.Map, error)
	decorations func() ([]string, error)

	shortIDs     map[git.ID]string
	described    bool // %(describe) was expanded
	descriptions *Descriptions
}

// New returns the formatter of a commit. The clock is for relative dates.
func New(r Repository, id git.ID, now func() time.Time) *Formatter {
	f := &Formatter{
		repository: r, id: id, now: now, descriptions: new(Descriptions),
		work: maxWork, history: maxHistory, shortIDs: make(map[git.ID]string),
	}
	f.commit = sync.OnceValues(f.readCommit)
	f.shallow = sync.OnceValues(r.Shallow)
	f.people = sync.OnceValues(func() (*mailmap.Map, error) { return mailmap.Read(r, maxMailmap) })
	f.decorations = sync.OnceValues(f.readDecorations)
	return f
}

// Sharing makes the formatter use a shared cache of the commit's descriptions, and returns the
// formatter.
func (f *Formatter) Sharing(known *Descriptions) *Formatter {
	f.descriptions = known
	return f
}

// readable fails if a ref is unreadable: it may point to any commit, so no answer would be certain.
func readable(refs []git.Ref, err error) ([]git.Ref, error) {
	for _, ref := range refs {
		if ref.Damage != nil {
			return nil, fmt.Errorf("%s: %w", ref.Name, ref.Damage)
		}
	}
	return refs, err
}

// shortID abbreviates an id. It caches the results, because the same ids recur.
func (f *Formatter) shortID(id git.ID) (string, error) {
	if short, known := f.shortIDs[id]; known {
		return short, nil
	}
	short, err := f.repository.Abbreviate(id, automatic)
	if err == nil {
		f.shortIDs[id] = short
	}
	return short, err
}

// automatic selects git's default length of abbreviations.
const automatic = -1

// DependsOnRefs reports whether the expansion of a format may depend on more than the commit: on
// refs, on the existence of other objects, on the mailmap of HEAD, on the time, or on the
// verification of signatures. It may be true for a format that does not depend on these, but is
// never false for one that does.
func DependsOnRefs(format string) bool {
	format = untilNUL(format)
	// After a padded colour, the second of two percent signs starts a placeholder.
	doubled := !strings.ContainsAny(format, "<>")
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return false
		}
		format = rest
		if after, isSign := strings.CutPrefix(rest, "%"); isSign && doubled {
			format = after
			continue
		}
		if signs[byteAt(rest, 0)] != "" {
			rest = rest[1:]
		}
		if found, _ := find(rest); found.drifts {
			return true
		}
	}
}

package pretty

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/git/mailmap"
	"github.com/repomcp/repomcp/internal/repos"
)

// maxMailmap bounds the mailmap; that of Linux has 50 KiB.
const maxMailmap = 16 << 20

// Repository is what is read of a repository. [repos.Snapshot] implements it.
type Repository interface {
	mailmap.Repository
	RawTag(id repos.ID) ([]byte, error)
	Refs() ([]repos.Ref, error)
	Tags() ([]repos.Ref, error)
	Shallow() (map[repos.ID]bool, error)
	Abbreviate(id repos.ID, digits int) (string, error)
}

var _ Repository = (*repos.Snapshot)(nil)

// Formatter expands formats with one commit. It is used by one goroutine. What it
// reads of the repository it remembers, so that all its texts agree.
type Formatter struct {
	repository Repository
	id         repos.ID
	now        func() time.Time
	work       int64 // maxWork
	history    int   // maxHistory

	commit      func() (*commit, error)
	shallow     func() (map[repos.ID]bool, error)
	people      func() (*mailmap.Map, error)
	decorations func() ([]string, error)

	shortIDs     map[repos.ID]string
	described    bool // %(describe) was seen
	descriptions *Descriptions
}

// New makes the formatter of a commit. The clock is for relative dates.
func New(r Repository, id repos.ID, now func() time.Time) *Formatter {
	f := &Formatter{
		repository: r, id: id, now: now, descriptions: new(Descriptions),
		work: maxWork, history: maxHistory, shortIDs: make(map[repos.ID]string),
	}
	f.commit = sync.OnceValues(f.readCommit)
	f.shallow = sync.OnceValues(r.Shallow)
	f.people = sync.OnceValues(func() (*mailmap.Map, error) { return mailmap.Read(r, maxMailmap) })
	f.decorations = sync.OnceValues(f.readDecorations)
	return f
}

// Sharing makes the formatter take part in what is known of the commit's
// descriptions, and returns it.
func (f *Formatter) Sharing(known *Descriptions) *Formatter {
	f.descriptions = known
	return f
}

// readable refuses refs of which one cannot be read: it may lead to anything, so
// that no answer would be right.
func readable(refs []repos.Ref, err error) ([]repos.Ref, error) {
	for _, ref := range refs {
		if ref.Damage != nil {
			return nil, fmt.Errorf("%s: %w", ref.Name, ref.Damage)
		}
	}
	return refs, err
}

// shortID abbreviates an id. The same ones are asked for again and again, so that
// they are remembered.
func (f *Formatter) shortID(id repos.ID) (string, error) {
	if short, known := f.shortIDs[id]; known {
		return short, nil
	}
	short, err := f.repository.Abbreviate(id, automatic)
	if err == nil {
		f.shortIDs[id] = short
	}
	return short, err
}

// automatic asks for abbreviations of git's default length.
const automatic = -1

// DependsOnRefs reports whether the expansion of a format may depend on more than
// the commit: on refs, on which other objects there are, on the mailmap of HEAD,
// on the time, or on whoever verifies signatures. It may say so of a format that
// does not, never the other way round.
func DependsOnRefs(format string) bool {
	format = untilNUL(format)
	// After a padded colour, the second of two percent signs begins a placeholder.
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

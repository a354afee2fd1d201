package pretty

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/mailmap"
)

// maxMailmap bounds the mailmap; that of Linux has 50 KiB.
const maxMailmap = 16 << 20

// Repository is what is read of a repository. [git.Snapshot] implements it.
type Repository interface {
	mailmap.Repository
	RawTag(id git.ID) ([]byte, error)
	Refs() ([]git.Ref, error)
	Tags() ([]git.Ref, error)
	Shallow() (map[git.ID]bool, error)
	Abbreviate(id git.ID, digits int) (string, error)
}

var _ Repository = (*git.Snapshot)(nil)

// Formatter expands formats with one commit. It is used by one goroutine. What it
// reads of the repository it remembers, so that all its texts agree.
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
	described    bool // %(describe) was seen
	descriptions *Descriptions
}

// New makes the formatter of a commit. The clock is for relative dates.
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

// Sharing makes the formatter take part in what is known of the commit's
// descriptions, and returns it.
func (f *Formatter) Sharing(known *Descriptions) *Formatter {
	f.descriptions = known
	return f
}

// readable refuses refs of which one cannot be read: it may lead to anything, so
// that no answer would be right.
func readable(refs []git.Ref, err error) ([]git.Ref, error) {
	for _, ref := range refs {
		if ref.Damage != nil {
			return nil, fmt.Errorf("%s: %w", ref.Name, ref.Damage)
		}
	}
	return refs, err
}

// shortID abbreviates an id. The same ones are asked for again and again, so that
// they are remembered.
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

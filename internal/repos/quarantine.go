package repos

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos/stamp"
)

// ErrQuarantined means that nothing of the repository can be read, or that reading it panicked,
// and that it is not read again yet. It matches [git.ErrCorrupt].
var ErrQuarantined = fmt.Errorf("the repository is quarantined: %w", git.ErrCorrupt)

// QuarantineCounts returns the numbers of quarantines since the catalogue was opened, by cause.
func (c *Catalogue) QuarantineCounts() (panics, damages int64) {
	return c.quarantine.Panics.Load(), c.quarantine.Damages.Load()
}

// Quarantined lists the quarantined repositories in byte order.
func (c *Catalogue) Quarantined() (names []string) {
	for _, name := range c.Names() {
		if r := c.lookup(name); r != nil && r.Quarantined() {
			names = append(names, name)
		}
	}
	return names
}

// Quarantined reports whether the repository is quarantined at the moment.
func (r *Repository) Quarantined() bool { return r.catalogue.quarantine.Holds(r.dir) }

// admit returns [ErrQuarantined] if the repository is quarantined.
func (r *Repository) admit() error {
	if !r.catalogue.quarantine.Admits(subject{r}) {
		return ErrQuarantined
	}
	return nil
}

// notice reports damage to the quarantine.
func (r *Repository) notice(err error) {
	if errors.Is(err, git.ErrCorrupt) && !errors.Is(err, ErrQuarantined) {
		r.catalogue.quarantine.Damaged(subject{r})
	}
}

// subject implements [quarantine.Repository].
type subject struct{ *Repository }

func (s subject) Key() string { return s.dir }

func (s subject) Stamp() [sha256.Size]byte {
	return stamp.OfAll(s.catalogue.store.Root(), s.dir, s.list)
}

// Examine returns nil for a repository that is deleted, or unreadable for another reason than
// damage: the next request to it gets that error.
func (s subject) Examine() error {
	snapshot, err := s.git.Snapshot()
	if err == nil {
		err = errors.Join(snapshot.Examine(), snapshot.Close())
	}
	if !errors.Is(err, git.ErrCorrupt) {
		return nil
	}
	return err
}

package repos

import (
	"errors"
	"fmt"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos/quarantine"
	"github.com/repomcp/repomcp/internal/repos/stamp"
)

// ErrQuarantined means that nothing of the repository can be read, or that reading it
// panicked, and that it is not tried again just now. It matches [git.ErrCorrupt].
var ErrQuarantined = fmt.Errorf("the repository is set aside: %w", git.ErrCorrupt)

// QuarantineCounts tells how many repositories were set aside so far.
type QuarantineCounts = quarantine.Counts

// newWard makes the ward of a catalogue. Its lines are the only ones of what it does:
// requests that it refuses are not logged as failures of their own.
func (c *Catalogue) newWard() *quarantine.Ward {
	return quarantine.New(time.Now, func(q quarantine.Case) {
		c.logger.Error("a repository is set aside: requests to it are refused until its files change, or at the "+
			"latest when the pause ends; run git fsck on the mirror",
			"repository", c.nameIn(q.Key), "pause_seconds", q.Again.Sub(q.Since).Seconds(), "panic", q.Panicked,
			"error", q.Cause)
	}, func(q quarantine.Case) {
		c.logger.Info("a repository is no longer set aside", "repository", c.nameIn(q.Key),
			"seconds", time.Since(q.Since).Seconds())
	})
}

// nameIn is the name of the repository in a folder.
func (c *Catalogue) nameIn(dir string) string {
	for _, name := range c.Names() {
		if r := c.lookup(name); r != nil && r.dir == dir {
			return name
		}
	}
	return dir
}

// Quarantined lists the repositories that are set aside, in byte order.
func (c *Catalogue) Quarantined() (names []string) {
	for _, name := range c.Names() {
		if r := c.lookup(name); r != nil && r.Quarantined() {
			names = append(names, name)
		}
	}
	return names
}

// QuarantineCounts tells how many were set aside since the catalogue was opened.
func (c *Catalogue) QuarantineCounts() QuarantineCounts { return c.ward.Counts() }

// forgetGone drops what the ward knows of repositories that the last walk did not find.
func (c *Catalogue) forgetGone(found map[string]*Repository) {
	dirs := make(map[string]bool, len(found))
	for _, r := range found {
		dirs[r.dir] = true
	}
	c.ward.Forget(func(dir string) bool { return !dirs[dir] })
}

// Quarantined reports whether the repository is set aside at the moment.
func (r *Repository) Quarantined() bool {
	_, aside := r.catalogue.ward.Case(r.dir)
	return aside
}

// admit returns an error that matches [ErrQuarantined] where the repository is set
// aside.
func (r *Repository) admit() error {
	if err := r.catalogue.ward.Admit(subject{r}); err != nil {
		return fmt.Errorf("%w: %w", ErrQuarantined, err)
	}
	return nil
}

// notice has the repository examined when damage comes often. What is damaged in part
// is served on.
func (r *Repository) notice(err error) {
	if errors.Is(err, git.ErrCorrupt) && !errors.Is(err, ErrQuarantined) {
		r.catalogue.ward.Damaged(subject{r})
	}
}

// subject is a repository as the ward sees it.
type subject struct{ repository *Repository }

// Key implements [quarantine.Subject]: two names may lead to one folder.
func (s subject) Key() string { return s.repository.dir }

// Stamp implements [quarantine.Subject].
func (s subject) Stamp() quarantine.Stamp {
	r := s.repository
	return stamp.OfAll(r.catalogue.store.Root(), r.dir, r.list)
}

// Examine implements [quarantine.Subject]. A repository that is gone, or cannot be
// read for another reason than damage, is not held back: whoever asks is told that.
func (s subject) Examine() error {
	snapshot, err := s.repository.git.Snapshot()
	if err == nil {
		err = errors.Join(snapshot.Examine(), snapshot.Close())
	}
	if !errors.Is(err, git.ErrCorrupt) {
		return nil
	}
	return err
}

package repos

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/repos/quarantine"
	"github.com/repomcp/repomcp/internal/repos/stamp"
)

// ErrQuarantined means that nothing of the repository can be read, or that reading it
// panicked, and that it is not tried again just now. It matches [ErrCorrupt].
var ErrQuarantined = fmt.Errorf("the repository is set aside: %w", ErrCorrupt)

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
	if errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrQuarantined) {
		r.catalogue.ward.Damaged(subject{r})
	}
}

// contain is deferred by what reads a repository: a panic there comes of the
// repository's bytes, so it is damage, and the repository is set aside.
func (r *Repository) contain(err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("reading the repository: %w: %w", ErrCorrupt,
			&panics.Error{Value: value, Stack: debug.Stack()})
		r.catalogue.ward.Panicked(subject{r}, *err)
	}
}

// containPanic does so for a panic that was made an error where it was.
func (r *Repository) containPanic(err error) {
	if panicked := (*panics.Error)(nil); errors.As(err, &panicked) {
		r.catalogue.ward.Panicked(subject{r}, err)
	}
}

// subject is a repository as the ward sees it.
type subject struct{ repository *Repository }

// Key implements [quarantine.Subject]: two names may lead to one folder.
func (s subject) Key() string { return s.repository.dir }

// Stamp implements [quarantine.Subject].
func (s subject) Stamp() quarantine.Stamp {
	r := s.repository
	return stamp.OfAll(r.catalogue.root, r.dir, r.catalogue.list)
}

// Examine implements [quarantine.Subject]. A repository that is gone, or cannot be
// read for another reason than damage, is not held back: whoever asks is told that.
func (s subject) Examine() error {
	snapshot, err := s.repository.open()
	if err == nil {
		err = errors.Join(snapshot.examine(), snapshot.Close())
	}
	if !errors.Is(err, ErrCorrupt) {
		return nil
	}
	return err
}

// maxExamined is how many refs besides HEAD are looked at before all are taken for
// damaged.
const maxExamined = 32

// examine returns nil if HEAD, or one of some refs all over the list, leads to a commit
// whose folder can be read, or if there is none.
func (s *Snapshot) examine() (damaged error) {
	head, err := s.Head()
	if err == nil {
		err = s.examineRef(head)
	}
	if err == nil || errors.Is(err, ErrEmpty) && !errors.Is(err, ErrUnborn) {
		return nil
	}
	names, raws, listing := s.refs.all()
	if listing != nil {
		return errors.Join(err, listing)
	}
	if errors.Is(err, ErrUnborn) {
		err = nil
	}
	step := max(len(names)/maxExamined, 1)
	for i := 0; i < len(names); i += step {
		raw, ok := s.refs.followIn(raws, names[i])
		if !ok || s.refs.hide.hides(names[i]) {
			continue
		}
		ref, failure := s.ref(names[i], raw)
		if failure == nil {
			failure = s.examineRef(ref)
		}
		if failure == nil {
			return nil
		}
		if err == nil {
			err = failure
		}
	}
	return err
}

func (s *Snapshot) examineRef(ref Ref) error {
	if ref.Commit.IsZero() { // a tag of something else
		return nil
	}
	commit, err := s.Commit(ref.Commit)
	if err != nil {
		return mustExist(ref.Commit, err)
	}
	_, err = s.Tree(commit.Tree)
	return mustExist(commit.Tree, err)
}

package repos

import "github.com/repomcp/repomcp/internal/git"

// observer passes on to the log and the quarantine what git finds out about a repository.
type observer struct{ *Repository }

// Panicked implements [git.Observer]: the repository is quarantined.
func (o observer) Panicked(err error) { o.catalogue.quarantine.Panicked(subject(o), err) }

// Resolved implements [git.Observer].
func (o observer) Resolved(err error) { o.notice(err) }

// RefsListed implements [git.Observer]: unreadable refs are logged once, and the repository is
// examined.
func (o observer) RefsListed(refs, damaged int, first git.Ref) {
	key := o.dir + "/refs"
	switch {
	case damaged == 0:
		o.catalogue.told.over(key)
	case o.catalogue.told.first(key):
		o.catalogue.logger.Error("refs of a repository cannot be read; run git fsck on the mirror",
			"repository", o.name, "refs", damaged, "of", refs, "first", first.Name, "error", first.Damage)
	}
	o.notice(first.Damage)
}

// CommitGraphRead implements [git.Observer].
func (o observer) CommitGraphRead(err error) {
	switch key := o.graphNotice(); {
	case err == nil:
		o.catalogue.told.over(key)
	case o.catalogue.told.first(key):
		o.catalogue.logger.Warn("a commit-graph is not used; git commit-graph write --reachable --changed-paths "+
			"makes another", "repository", o.name, "error", err)
	}
}

// CommitGraphDropped implements [git.Observer].
func (o observer) CommitGraphDropped(err error) {
	if o.catalogue.told.first(o.graphNotice()) {
		o.catalogue.logger.Error("a commit-graph is wrong and is not used; run git commit-graph verify on the mirror",
			"repository", o.name, "error", err)
	}
}

func (o observer) graphNotice() string { return o.dir + "/commit-graph" }

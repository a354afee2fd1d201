package repos

import (
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/repos/stamp"
)

// Repository is one entry of the catalogue.
type Repository struct {
	catalogue *Catalogue
	name      string
	dir       string          // below the root
	git       *git.Repository // reads a quarantined repository as well
}

func newRepository(c *Catalogue, name, dir string) *Repository {
	r := &Repository{catalogue: c, name: name, dir: dir}
	r.git = c.store.Repository(dir, r.gitOptions())
	return r
}

// gitOptions are the rules of the catalogue in git's form.
func (r *Repository) gitOptions() git.Options {
	return git.Options{
		ReachableOnly: !r.catalogue.options.AllowUnreachable,
		Hidden: func(configured func(keys ...string) []string) func(name string) bool {
			return r.catalogue.hidingRules(configured).hides
		},
		Observer: observer{r},
	}
}

// Name is the repository's path below the root without .git.
func (r *Repository) Name() string { return r.name }

// Folder is the repository's path on this machine. It is for the operator's programs, and never for
// clients.
func (r *Repository) Folder() string { return r.git.Folder() }

// Snapshot opens the repository as it is now: see [git.Repository.Snapshot]. It fails with
// [ErrQuarantined] for a quarantined repository.
func (r *Repository) Snapshot() (*git.Snapshot, error) {
	if err := r.admit(); err != nil {
		return nil, err
	}
	snapshot, err := r.git.Snapshot()
	r.notice(err)
	return snapshot, err
}

// Tips reads all served refs. A repository that was removed is [git.ErrNotFound].
func (r *Repository) Tips() (*git.Tips, error) {
	if err := r.admit(); err != nil {
		return nil, err
	}
	return r.git.Tips()
}

// HeadTip is [git.Repository.HeadTip].
func (r *Repository) HeadTip() (name string, id git.ID, err error) {
	if err := r.admit(); err != nil {
		return "", git.ID{}, err
	}
	return r.git.HeadTip()
}

// LongestRef is [git.Repository.LongestRef].
func (r *Repository) LongestRef(prefix, p, marker string) (name, rest string, err error) {
	if err := r.admit(); err != nil {
		return "", "", err
	}
	return r.git.LongestRef(prefix, p, marker)
}

// LastFetch is [git.Repository.LastFetch].
func (r *Repository) LastFetch() (git.Fetch, error) { return r.git.LastFetch() }

// Fetched is [git.Repository.Fetched].
func (r *Repository) Fetched() time.Time { return r.git.Fetched() }

// Denied is [git.Repository.Denied].
func (r *Repository) Denied(limit int) (count int, first string) { return r.git.Denied(limit) }

// RefStamp changes when the files that hold refs may have changed.
type RefStamp = stamp.Refs

// RefStamp computes the present stamp.
func (r *Repository) RefStamp() RefStamp {
	return stamp.OfRefs(r.catalogue.store.Root(), r.dir, r.list)
}

// HeadStamp changes when HEAD may lead to another commit.
type HeadStamp = stamp.Head

// HeadStamp computes the present stamp. holder is [git.Snapshot.HolderOf] the branch that HEAD leads to, or of HEAD.
func (r *Repository) HeadStamp(holder string) (HeadStamp, error) {
	if err := r.admit(); err != nil {
		return HeadStamp{}, err
	}
	return stamp.OfHead(r.catalogue.store.Root(), r.dir, holder), nil
}

// list lists a folder below the root.
func (r *Repository) list(dir string) ([]fs.DirEntry, error) {
	return files.ReadDir(r.catalogue.store.Root(), dir)
}

// maxDescriptionBytes bounds the one-line description of a repository.
const maxDescriptionBytes = 1024

// Description is the content of the repository's description file, as gitweb shows it, or "". Git's
// placeholder for an unnamed repository counts as none.
func (r *Repository) Description() string {
	file, _, err := files.Open(r.catalogue.store.Root(), r.dir+"/description")
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxDescriptionBytes))
	text := strings.TrimSpace(strings.ToValidUTF8(string(content), "\uFFFD"))
	if err != nil || strings.HasPrefix(text, "Unnamed repository") {
		return ""
	}
	return text
}

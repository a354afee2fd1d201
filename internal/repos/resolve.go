package repos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/objects"
)

// Resolve finds the commit that a revision names: HEAD, a full ref name, a
// full or abbreviated object id, a bare tag or branch name, or what git describe
// prints. Where several
// fit, the order is that of gitrevisions(7): a full id first, then refs, tags
// before branches, and abbreviations last.
//
// It is [ErrNotFound] for what does not exist and for what is not served, and
// an [AmbiguousError] for an abbreviation of several served commits.
func (s *Snapshot) Resolve(ctx context.Context, revision string) (Commit, error) {
	id, err := s.resolve(ctx, revision)
	if err != nil {
		return Commit{}, err
	}
	commit, err := s.Commit(id)
	return commit, mustExist(id, err)
}

func (s *Snapshot) resolve(ctx context.Context, revision string) (ID, error) {
	if revision == "HEAD" {
		head, err := s.Head()
		return head.Commit, err
	}
	if isFullID(revision) {
		return s.resolveID(ctx, revision)
	}
	for _, pattern := range []string{"%s", "refs/tags/%s", "refs/heads/%s"} {
		ref, err := s.Ref(fmt.Sprintf(pattern, revision))
		if err == nil && !ref.Commit.IsZero() {
			return ref.Commit, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return ID{}, err
		}
	}
	if abbreviation := describedID(revision); isAbbreviation(abbreviation) {
		return s.resolveAbbreviation(ctx, abbreviation)
	}
	return ID{}, fmt.Errorf("revision: %w", ErrNotFound)
}

// describedID cuts what git describe prints ("v1.0-14-g2414721") down to the
// abbreviated id at its end, which alone counts (get_describe_name in git's
// object-name.c). Other revisions stay as they are.
func describedID(revision string) string {
	name, id, ok := cutLast(revision, "-g")
	if !ok || name == "" {
		return revision
	}
	return id
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// resolveID accepts the id of a commit, or of an annotated tag that leads to
// one.
func (s *Snapshot) resolveID(ctx context.Context, hex string) (ID, error) {
	id, err := ParseID(hex)
	if err != nil {
		return ID{}, err
	}
	commit, err := s.peel(id)
	if err != nil {
		return ID{}, err
	}
	return commit, s.authorise(ctx, commit)
}

// authorise refuses commits that no served ref leads to, with the error of
// what does not exist.
func (s *Snapshot) authorise(ctx context.Context, id ID) error {
	if s.repository.catalogue.options.AllowUnreachable {
		return nil
	}
	ok, err := s.reachable(ctx, id)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("revision: %w", ErrNotFound)
	}
	return nil
}

// maxCandidates bounds the objects that one abbreviation is compared with. Four
// digits, the shortest, fit one in 65536: sixty million objects.
const maxCandidates = 1000

// resolveAbbreviation looks at served commits only: an object that is not
// served must not make an abbreviation ambiguous, nor be listed.
func (s *Snapshot) resolveAbbreviation(ctx context.Context, prefix string) (ID, error) {
	ids, err := s.objects.Prefix(prefix, maxCandidates)
	if err != nil {
		return ID{}, domainError(err)
	}
	var commits []ID
	for _, id := range ids {
		kind, _, err := s.objects.Stat(id)
		if err == nil && kind == objects.Commit {
			commits = append(commits, id)
		}
	}
	if !s.repository.catalogue.options.AllowUnreachable {
		if commits, err = s.reachableOf(ctx, commits); err != nil {
			return ID{}, err
		}
	}
	switch len(commits) {
	case 0:
		return ID{}, fmt.Errorf("revision: %w", ErrNotFound)
	case 1:
		return commits[0], nil
	default:
		return ID{}, &AmbiguousError{Prefix: prefix, Candidates: commits}
	}
}

// isShallow reports whether a commit is missing because the repository was
// cloned without its older history.
func (s *Snapshot) isShallow(err error) bool {
	if !errors.Is(err, ErrNotFound) {
		return false
	}
	info, statErr := s.refs.root.Stat(s.repository.dir + "/shallow")
	return statErr == nil && info.Size() > 0
}

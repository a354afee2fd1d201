package resources

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
)

// absences are the errors that say that a resource does not exist, or can never be read; other
// errors may be temporary.
var absences = []error{git.ErrNotFound, git.ErrInvalid, git.ErrEmpty, git.ErrUnsupported, ErrURI}

// IsAbsence reports whether an error means that the resource does not exist.
func IsAbsence(err error) bool {
	if syntax := (*git.RevisionError)(nil); errors.As(err, &syntax) {
		return true
	}
	return slices.ContainsFunc(absences, func(absence error) bool { return errors.Is(err, absence) })
}

// Identity is a string that changes whenever a file, a folder, an archive, its checksum or
// signature, or the commits of a patch change. It is computed without reading them. A SKILL.md by
// its URI of [SkillScheme] changes with each file of its folder: the URI is that of the skill.
func Identity(ctx context.Context, snapshot *git.Snapshot, r Resource) (string, error) {
	switch r.Kind {
	case Archive, Checksum:
		return identityOfArchive(ctx, snapshot, r)
	case Compare, Commit:
		return commitsOf(ctx, snapshot, r.Revision, r.BaseRevision(), true)
	case Signature:
		found, err := findSignature(ctx, snapshot, r)
		if err != nil {
			return "", err
		}
		return found.ETag, nil
	default:
		if r.Skill && path.Base(r.Path) == skillFile {
			r.Path = strings.TrimSuffix(strings.TrimSuffix(r.Path, skillFile), "/")
		}
		_, entry, err := locate(ctx, snapshot, r)
		if err != nil {
			return "", err
		}
		return entry.Mode.String() + " " + entry.ID.String(), nil
	}
}

// identityOfArchive is that of the commits, and of the branch or tag that a checkout is of.
func identityOfArchive(ctx context.Context, snapshot *git.Snapshot, r Resource) (string, error) {
	if r.Options.Profile != archive.ProfileCheckout {
		return commitsOf(ctx, snapshot, r.Revision, r.Options.Base, false)
	}
	head, options, err := archive.Resolve(ctx, snapshot, r.Revision, r.Options)
	if err != nil {
		return "", err
	}
	commits, err := commitsOf(ctx, snapshot, r.Revision, r.Options.Base, false)
	return commits + " " + head.ID.String() + " " + options.Ref, err
}

// commitsOf returns the ids of the revisions that exist: the bytes of an archive depend only on
// them. A base that is not served makes an archive without a base, or none, and no patch: there it is needed.
func commitsOf(ctx context.Context, snapshot *git.Snapshot, revision, base string, needed bool) (string, error) {
	commit, err := snapshot.Resolve(ctx, revision)
	if err != nil {
		return "", err
	}
	if base == "" {
		return commit.ID.String(), nil
	}
	from, err := snapshot.Resolve(ctx, base)
	if err != nil && (needed || !IsAbsence(err)) {
		return "", err
	}
	return commit.ID.String() + " " + from.ID.String(), nil
}

// skillFile is the file that makes a folder a skill.
const skillFile = "SKILL.md"

// PathOf returns the path in the URI of a repository or of one of its resources. The error is
// [ErrURI], or [git.ErrNotFound] for another scheme.
func PathOf(uri string) (string, error) {
	path, _, err := decode(uri)
	return path, err
}

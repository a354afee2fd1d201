package resources

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/patch"
)

// planMemory is what finding the commits of a patch and the files that they change holds: a walk
// over history, and a folder of each side.
const planMemory = 10 << 20

// Patch is what a Compare or a Commit has besides its revision.
type Patch struct {
	// Base and Dots of a Compare: BASE...HEAD.
	Base string
	Dots patch.Dots
	Form patch.Form
}

// isPatch reports whether the resource is a patch.
func (r Resource) isPatch() bool { return r.Kind == Compare || r.Kind == Commit }

// BaseRevision is the revision that an archive or a patch is compared with, or "".
func (r Resource) BaseRevision() string {
	if r.Kind == Compare {
		return r.Patch.Base
	}
	return r.Options.Base
}

// parseCompare divides BASE...HEAD.FORM. Names of refs have no two dots in a row.
func parseCompare(name, rest string, _ Namespace) (Resource, error) {
	ends, form, err := cutForm(rest)
	if err != nil {
		return Resource{}, err
	}
	base, head, found := strings.Cut(ends, string(patch.Two))
	dots := patch.Two
	if after, more := strings.CutPrefix(head, "."); more {
		head, dots = after, patch.Three
	}
	if !found || base == "" || head == "" {
		return Resource{}, malformedPatch("A comparison is written BASE...HEAD.diff, or BASE..HEAD.diff without the " +
			"search for a merge base; with .patch at the end it is in mails, for git am.")
	}
	return Resource{Repository: name, Kind: Compare, Revision: head, Patch: Patch{base, dots, form}}, nil
}

func parseCommit(name, rest string, _ Namespace) (Resource, error) {
	revision, form, err := cutForm(rest)
	if err == nil && revision == "" {
		err = malformedPatch("Name a commit, branch or tag before ." + string(form) + ".")
	}
	return Resource{Repository: name, Kind: Commit, Revision: revision, Patch: Patch{Form: form}}, err
}

func malformedPatch(message string) error {
	return &Error{Reason: ReasonURI, Message: message, Cause: ErrURI}
}

// cutForm splits the suffix off the name of a patch.
func cutForm(name string) (stem string, form patch.Form, err error) {
	stem, form = strings.TrimSuffix(name, path.Ext(name)), patch.Form(strings.TrimPrefix(path.Ext(name), "."))
	if !slices.Contains(patch.Forms(), form) {
		return "", "", fmt.Errorf("no form of a patch: %w", git.ErrNotFound)
	}
	return stem, form, nil
}

// patchFile is the last part of the URI of a patch.
func (r Resource) patchFile() string {
	name := r.Revision
	if r.Kind == Compare {
		name = r.Patch.Base + string(r.Patch.Dots) + name
	}
	return escape(name, pathBytes) + "." + string(r.Patch.Form)
}

// patchName is "repository-base...head.form" or "repository-commit.form". base is "" for a commit.
func patchName(r Resource, base, head string) string {
	name := path.Base(r.Repository) + "-"
	if r.Kind == Compare {
		name += revisionName(r.Patch.Base, base) + string(r.Patch.Dots)
	}
	return name + revisionName(r.Revision, head) + "." + string(r.Patch.Form)
}

// findPatch finds the commits of a patch, and examines the files that differ: the lengths of
// abbreviated ids are part of the bytes.
func (s *Service) findPatch(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Found, error) {
	grant, err := s.options.Limits.Call(ctx, r.Repository, planMemory)
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	resolved := AccountOf(ctx).Stage("resolve")
	byID, err := pinned(ctx, snapshot, r)
	resolved()
	if err != nil {
		return nil, err
	}
	defer AccountOf(ctx).Stage("plan")()
	plan, err := s.planPatch(ctx, snapshot, byID)
	if errors.Is(err, git.ErrTooLarge) {
		err = errors.Join(history.ErrTooMany, err)
	}
	if err != nil {
		return nil, err
	}
	found := patchOutline(byID)
	found.FileName = patchName(r, byID.Patch.Base, byID.Revision)
	found.ETag, found.source = plan.Tag(), &changes{s.options.Limits, plan}
	found.remember(s.archives)
	return found, nil
}

// pinned returns a patch by the ids of its commits.
func pinned(ctx context.Context, snapshot *git.Snapshot, r Resource) (Resource, error) {
	head, err := snapshot.Resolve(ctx, r.Revision)
	if err != nil {
		return Resource{}, err
	}
	r.Revision = head.ID.String()
	if r.Kind == Compare {
		base, err := snapshot.Resolve(ctx, r.Patch.Base)
		if err != nil {
			return Resource{}, err
		}
		r.Patch.Base = base.ID.String()
	}
	return r, nil
}

// planPatch plans a patch by ids.
func (s *Service) planPatch(ctx context.Context, snapshot *git.Snapshot, r Resource) (*patch.Plan, error) {
	head, err := git.ParseID(r.Revision)
	if err != nil {
		return nil, err
	}
	var steps []history.Step
	if r.Kind == Commit {
		steps, err = patch.Commit(ctx, snapshot, s.options.History, r.Patch.Form, head)
	} else {
		var base git.ID
		if base, err = git.ParseID(r.Patch.Base); err != nil {
			return nil, err
		}
		steps, err = patch.Range(ctx, snapshot, s.options.History, r.Patch.Form, base, r.Patch.Dots, head)
	}
	if err != nil {
		return nil, err
	}
	return patch.New(ctx, snapshot, s.options.History, r.Patch.Form, steps)
}

// patchOutline describes a patch by ids without reading anything. It is never immutable, and has no
// date: a fetch may bring objects that make abbreviated ids longer.
func patchOutline(r Resource) *Found {
	uri, name := r.String(), patchName(r, r.Patch.Base, r.Revision)
	return &Found{
		URI: uri, MIMEType: mimeText, FileName: name, Size: UnknownSize, Streamable: true,
		Commit: r.Revision, Revision: r.Revision, Repository: r.Repository, Frozen: uri, FrozenName: name,
		Meta: map[string]any{metaCommit: r.Revision},
	}
}

// changes is the source of a patch, which is made for each request.
type changes struct {
	limits *limits.Limiter
	plan   *patch.Plan
}

// reserve takes the memory of the largest comparison. A look makes nothing.
func (c *changes) reserve(ctx context.Context, b *Body) error {
	part := b.want.Range != nil || b.makesDigest()
	if !part && b.want.Method != Get {
		return nil
	}
	return b.reserve(ctx, c.limits, c.plan.Memory(), part)
}

// measure makes the patch for its length and digest if they have to be certain.
func (c *changes) measure(ctx context.Context, b *Body, certain bool) error {
	if b.makesDigest() || certain && !b.certain {
		return b.count(ctx)
	}
	return nil
}

func (c *changes) write(ctx context.Context, _ *Body, p *part) error { return c.plan.WriteTo(ctx, p) }

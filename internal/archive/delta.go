package archive

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// FallbackFull is the value of [Options.Fallback].
	FallbackFull = "full"

	// reservedFolder holds what this package adds to archives. No tree may have
	// it at the same place.
	reservedFolder = ".repomcp"
	// deltaManifest is the first member of a delta.
	deltaManifest = reservedFolder + "/manifest.json"
)

// The reasons of a [FullNeededError].
const (
	// BaseUnknown: no such commit is served, or what the options name is not in
	// it, so that there is no such archive of it.
	BaseUnknown = "base unknown"
	// AttributesChanged: a .gitattributes is other in the base, so that any
	// file may be.
	AttributesChanged = "attributes changed"
	// DeltaLarger: it would have more bytes of tar than the full archive.
	DeltaLarger = "delta larger"
	// ReservedName: a tree has a .repomcp itself.
	ReservedName = "reserved name"
)

// FullNeededError says that only the full archive can be had. Nothing was
// written.
type FullNeededError struct{ Reason string }

func (e *FullNeededError) Error() string { return "a full archive is needed: " + e.Reason }

// delta is what an archive holds that has a base.
type delta struct {
	changes  *changes
	manifest []byte // content of the first member
}

// differ makes the plan that of a delta. Where that cannot be, it stays that of
// the full archive, if that is what the caller falls back to.
func (p *Plan) differ(ctx context.Context) error {
	err := p.findDelta(ctx)
	fallback := p.options.Fallback
	p.options.Fallback = ""
	if needed := (*FullNeededError)(nil); errors.As(err, &needed) && fallback == FallbackFull {
		p.options.Base, p.delta = "", nil
		return nil
	}
	return err
}

func (p *Plan) findDelta(ctx context.Context) error {
	base, err := p.basePlan(ctx)
	if syntax := (*repos.RevisionError)(nil); errors.Is(err, repos.ErrNotFound) || errors.As(err, &syntax) {
		return &FullNeededError{Reason: BaseUnknown}
	}
	if err != nil {
		return err
	}
	p.options.Base = base.commit.ID.String()
	c, err := p.newComparison(ctx, base.root)
	if err != nil {
		return err
	}
	if err := c.begin(base, p); err != nil {
		return err
	}
	p.delta = &delta{changes: c.changes}
	p.delta.manifest = p.deltaDocument()
	return p.mustBeSmaller(ctx)
}

// basePlan is what the same options make of the base.
func (p *Plan) basePlan(ctx context.Context) (*Plan, error) {
	commit, err := p.source.Resolve(ctx, p.options.Base)
	if err != nil {
		return nil, err
	}
	base := &Plan{engine: p.engine, source: p.source, commit: commit, options: p.options, info: p.info}
	if base.root, err = p.source.Tree(commit.Tree); err != nil {
		return nil, damaged(err)
	}
	return base, base.choose(ctx)
}

func (p *Plan) newComparison(ctx context.Context, base []repos.TreeEntry) (*comparison, error) {
	c := &comparison{
		ctx: ctx, source: p.source, limits: p.options.Limits, selected: p.selected, prefix: p.options.Prefix,
		changes: &changes{},
	}
	if p.options.Profile != ProfileArchive {
		return c, nil
	}
	changed, err := c.attributesChange(base, p.root, make(map[[2]repos.ID]bool))
	if err != nil {
		return nil, err
	}
	if changed {
		return nil, &FullNeededError{Reason: AttributesChanged}
	}
	s, err := p.survey(ctx, -1)
	if err != nil {
		return nil, err
	}
	c.attrs, c.entered = attributes.NewStack(p.info), 0
	c.everything = p.maySubstitute(s)
	return c, nil
}

// reserved reports whether a folder has the name of ours, also on a system
// that takes upper case for lower.
func reserved(entries []repos.TreeEntry) bool {
	for _, e := range entries {
		if strings.EqualFold(e.Name, reservedFolder) {
			return true
		}
	}
	return false
}

// first is the member with the manifest.
func (p *Plan) first() *entry {
	return &entry{
		path: []byte(p.options.Prefix + deltaManifest), mode: repos.ModeRegular, id: p.commit.ID,
		treatment: &treatment{generated: p.delta.manifest},
	}
}

func (d *delta) supply(p *Plan) supply {
	l := &listed{changes: d.changes}
	if p.options.Format != Manifest {
		l.first = p.first()
	}
	return l
}

// mustBeSmaller refuses a delta whose tar would be larger than the full one.
// Its members are those of the full one besides the manifest, so the question
// is whether those that are left out are larger than that. Nearly always their
// headers alone are, and only a few have to be found.
func (p *Plan) mustBeSmaller(ctx context.Context) error {
	full := *p
	full.delta = nil
	full.options.Format = Tar
	size := int64(len(p.delta.manifest))
	left, err := full.leftOut(ctx, p.delta.changes, tar.HeaderLength(p.first().path, size, 0)+tar.PaddedLength(size))
	if err != nil || left {
		return err
	}
	changed := *p
	changed.options.Format = Tar
	whole, err := full.Measure(ctx)
	if err != nil {
		return err
	}
	part, err := changed.Measure(ctx)
	if err == nil && part.Bytes > whole.Bytes {
		err = &FullNeededError{Reason: DeltaLarger}
	}
	return err
}

// errLeftOut ends a walk that has found enough.
var errLeftOut = errors.New("archive: enough is left out")

// leftOut reports whether the entries that are not sent have at least the given
// length of headers.
func (p *Plan) leftOut(ctx context.Context, sent *changes, length int64) (bool, error) {
	next := 0
	err := p.each(ctx, func(_ *run, e entry) error {
		if next < len(sent.sent) && bytes.Equal(e.path, sent.path(next)) {
			next++
			return nil
		}
		if length -= tar.HeaderLength(e.path, 0, 0); length <= 0 {
			return errLeftOut
		}
		return nil
	})
	if errors.Is(err, errLeftOut) {
		return true, nil
	}
	return false, err
}

package archive

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive/delta"
	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// FallbackFull is the value of [Options.Fallback].
	FallbackFull = "full"
	// deltaManifest is the first member of a delta.
	deltaManifest = delta.ReservedFolder + "/manifest.json"
)

// differ turns the plan into that of a delta, and returns the base. If a delta is impossible, the
// plan remains that of the full archive, provided that the caller allows this fallback.
func (p *Plan) differ(ctx context.Context) (base git.Treeish, err error) {
	base, err = p.findDelta(ctx)
	fallback := p.options.Fallback
	p.options.Fallback = ""
	if needed := (*delta.FullNeededError)(nil); errors.As(err, &needed) && fallback == FallbackFull {
		p.options.Base, p.options.Delta, p.changes = "", "", nil
		return base, nil
	}
	return base, err
}

func (p *Plan) findDelta(ctx context.Context) (git.Treeish, error) {
	base, from, err := p.selectBase(ctx)
	if syntax := (*git.RevisionError)(nil); errors.Is(err, git.ErrNotFound) || errors.As(err, &syntax) {
		return from, &delta.FullNeededError{Reason: delta.BaseUnknown}
	}
	if err != nil {
		return from, err
	}
	if p.clone != nil && from.Commit.IsZero() {
		return from, &delta.FullNeededError{Reason: delta.BaseUnknown}
	}
	expands := !p.head.Commit.IsZero() || !from.Commit.IsZero()
	if p.changes, err = delta.Compare(ctx, base, p.selection, expands); err != nil {
		return from, err
	}
	p.patching = p.newPatching()
	p.manifest = p.deltaDocument()
	return from, p.mustBeSmaller(ctx)
}

// selectBase resolves the base and applies the options to it. A client that asks for news usually
// names the head itself, whose reachability was checked already: the refs need not be read for it.
func (p *Plan) selectBase(ctx context.Context) (*tree.Selection, git.Treeish, error) {
	if p.options.Base == p.head.Revision {
		return p.selection, p.head, nil
	}
	base, err := p.source.ResolveTreeish(ctx, p.options.Base)
	if err != nil {
		return nil, base, err
	}
	root, err := tree.ReadFolder(p.source, base.Tree)
	if err != nil {
		return nil, base, err
	}
	p.options.Base = base.Revision
	selection, err := tree.Select(ctx, root, p.selection.Options)
	return selection, base, err
}

// firstMember returns the member with the manifest of a delta.
func (p *Plan) firstMember() *tree.Entry {
	if p.options.Format == Manifest {
		return nil // the document itself is the manifest
	}
	return &tree.Entry{
		Path: []byte(p.options.Prefix + deltaManifest), Mode: git.ModeRegular, ID: p.head.ID,
		Treatment: &tree.Treatment{Generated: p.manifest},
	}
}

// mustBeSmaller refuses a delta whose tar would be larger than the full one. Besides its manifest,
// its members are members of the full archive, so the omitted members must be larger than the
// manifest. Their headers alone nearly always suffice, so that only a few have to be found.
func (p *Plan) mustBeSmaller(ctx context.Context) error {
	changed := *p
	changed.options.Format = Tar
	changed.patching = nil // patches would only make it smaller
	changed.clone = nil    // as would the pack of a checkout
	full := changed
	full.changes = nil
	size := int64(len(p.manifest))
	left, err := full.leftOut(
		ctx, p.changes, tar.HeaderLength(changed.firstMember().Path, size, 0)+tar.PaddedLength(size),
	)
	if err != nil || left {
		return err
	}
	whole, err := full.Measure(ctx)
	if err != nil {
		return err
	}
	part, err := changed.Measure(ctx)
	if err == nil && part.Bytes > whole.Bytes {
		err = &delta.FullNeededError{Reason: delta.DeltaLarger}
	}
	return err
}

// errLeftOut ends a walk early.
var errLeftOut = errors.New("archive: enough is left out")

// leftOut reports whether the headers of the omitted entries have at least the given length.
func (p *Plan) leftOut(ctx context.Context, changes *delta.Changes, length int64) (bool, error) {
	leftOut := changes.LeftOut()
	err := p.each(ctx, func(e tree.Entry) error {
		if !leftOut(e.Path) {
			return nil
		}
		if length -= tar.HeaderLength(e.Path, 0, 0); length <= 0 {
			return errLeftOut
		}
		return nil
	})
	if errors.Is(err, errLeftOut) {
		return true, nil
	}
	return false, err
}

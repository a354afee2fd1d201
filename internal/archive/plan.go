package archive

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/delta"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
)

// Plan is an archive that can be written.
type Plan struct {
	engine    *Engine
	source    Source
	head      git.Treeish
	options   Options
	selection *tree.Selection
	changes   *delta.Changes // nil: all entries
	patching  *patching      // nil: modified files are sent whole
	manifest  []byte         // content of a delta's first member
	clone     *clone         // nil: no checkout
	objects   int64          // of a checkout, at most

	descriptions *pretty.Descriptions // filled by the first pass over the entries
}

// Plan checks the options, and that their paths exist. It refuses what it can detect without
// reading many folders: [ErrOption], [ErrLimit], [NoMatchError]. With a base it compares both
// trees: [FullNeededError]. Of a checkout it reads all folders, which may have no name that some
// system takes for .git.
func (e *Engine) Plan(ctx context.Context, source Source, head git.Treeish, options Options) (*Plan, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	options = options.Canonical()
	options.Limits = options.Limits.WithDefaults()
	p := &Plan{engine: e, source: source, head: head, options: options, descriptions: new(pretty.Descriptions)}
	if err := p.planClone(); err != nil {
		return nil, err
	}
	if err := p.selectEntries(ctx); err != nil {
		return nil, err
	}
	var base git.Treeish
	if options.Base != "" {
		var err error
		if base, err = p.differ(ctx); err != nil {
			return nil, refusedClone(err)
		}
	}
	switch {
	case p.clone != nil:
		if err := p.findHistory(ctx, base); err != nil {
			return nil, err
		}
	case p.changes == nil: // the comparison enforces the limits itself
		if err := p.selection.SurveyQuickly(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// selectEntries resolves the options.
func (p *Plan) selectEntries(ctx context.Context) error {
	root, err := tree.ReadFolder(p.source, p.head.Tree)
	if err != nil {
		return err
	}
	o := p.options
	choice := tree.Options{
		Paths: o.Paths, Exclude: o.Exclude, Prefix: o.Prefix, Strip: o.Strip, Limits: o.Limits,
		Attributes: profiles[o.Profile], Clone: p.clone != nil, LFS: o.LFS == LFSContent,
	}
	if choice.Attributes == tree.ForArchive {
		if choice.Info, err = p.source.InfoAttributes(); err != nil {
			return err
		}
	}
	if o.Submodules == SubmodulesContent {
		if o.Siblings == nil {
			return fmt.Errorf("%w \"submodules\": there are no other repositories here", ErrOption)
		}
		choice.Siblings = o.Siblings
	}
	p.selection, err = tree.Select(ctx, root, choice)
	return err
}

// newOpener returns an opener of content that is not simply copied.
func (p *Plan) newOpener(ctx context.Context) *content.Opener {
	return content.NewOpener(ctx, p.source, p.head.Commit, p.options.Limits, p.descriptions)
}

// folder returns the prefix if it is a folder. Like git, an archive has one entry for it, with one
// final slash, and none for its parents.
func (p *Plan) folder() []byte {
	if !strings.HasSuffix(p.options.Prefix, "/") {
		return nil
	}
	return []byte(strings.TrimRight(p.options.Prefix, "/") + "/")
}

// Head returns the archived commit or tree.
func (p *Plan) Head() git.Treeish { return p.head }

// Options returns the plan's options in canonical form.
func (p *Plan) Options() Options { return p.options }

// WriteTo generates the archive. After an error the bytes in w are truncated and must not be used
// as an archive. WriteTo ends soon after ctx.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	switch p.options.Format {
	case Zip:
		return p.write(ctx, w, p.zipLayout())
	case Manifest:
		return p.writeManifest(ctx, w)
	case Tar:
		return p.writeTar(ctx, w, func(bool) error { return nil })
	}
	zw := p.engine.codecs[p.options.Format].open(ctx, w)
	// Only Close completes the stream: a broken stream never looks complete.
	defer zw.Abort()
	if err := p.writeTar(ctx, zw, zw.Store); err != nil {
		return err
	}
	return zw.Close()
}

// writeTar writes the tar. store says whether the following bytes are compressed already.
func (p *Plan) writeTar(ctx context.Context, w io.Writer, store func(bool) error) error {
	if p.clone != nil {
		return p.writeCheckout(ctx, w, store)
	}
	return p.write(ctx, w, p.tarLayout())
}

func (p *Plan) write(ctx context.Context, w io.Writer, layout layout) error {
	from, err := p.start(ctx)
	if err != nil {
		return err
	}
	return p.newPipeline(ctx, w, layout, from).whole()
}

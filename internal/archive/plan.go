package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/delta"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/pretty"
	"github.com/repomcp/repomcp/internal/repos"
)

// Plan is an archive that can be written.
type Plan struct {
	engine    *Engine
	source    Source
	commit    repos.Commit
	options   Options
	info      []byte // info/attributes
	selection *tree.Selection
	changes   *delta.Changes // nil: everything
	manifest  []byte         // content of a delta's first member

	descriptions *pretty.Descriptions // found by the first that goes over the entries
}

// Plan checks the options, and that the paths they name exist. What is found
// without reading many folders is refused here: [ErrOption], [ErrLimit],
// [NoMatchError]. With a base both commits are compared here: [FullNeededError].
func (e *Engine) Plan(ctx context.Context, source Source, commit repos.Commit, options Options) (*Plan, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	options = options.Canonical()
	options.Limits = options.Limits.WithDefaults()
	p := &Plan{engine: e, source: source, commit: commit, options: options, descriptions: new(pretty.Descriptions)}
	root, err := tree.ReadFolder(source, commit.Tree)
	if err != nil {
		return nil, err
	}
	if options.Profile == ProfileArchive {
		if p.info, err = source.InfoAttributes(); err != nil {
			return nil, err
		}
	}
	if err := p.choose(ctx, root); err != nil {
		return nil, err
	}
	if err := p.selection.SurveyQuickly(ctx); err != nil {
		return nil, err
	}
	if options.Base != "" {
		if err := p.differ(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// choose finds what the options name below a root.
func (p *Plan) choose(ctx context.Context, root tree.Folder) (err error) {
	o := p.options
	choice := tree.Options{
		Paths: o.Paths, Exclude: o.Exclude, Prefix: o.Prefix, Strip: o.Strip,
		Attributes: o.Profile == ProfileArchive, Info: p.info, LFS: o.LFS == LFSContent, Limits: o.Limits,
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

// newOpener makes the content that is not simply copied.
func (p *Plan) newOpener(ctx context.Context) *content.Opener {
	return content.NewOpener(ctx, p.source, p.commit.ID, p.options.Limits, p.descriptions)
}

// folder is the path that everything is put into, if any. Like git an archive
// has one entry for it, with one final slash, and none for those above it.
func (p *Plan) folder() []byte {
	if !strings.HasSuffix(p.options.Prefix, "/") {
		return nil
	}
	return []byte(strings.TrimRight(p.options.Prefix, "/") + "/")
}

// Commit is what the archive is made of.
func (p *Plan) Commit() repos.Commit { return p.commit }

// Options are the plan's, in canonical form.
func (p *Plan) Options() Options { return p.options }

// Validator names the bytes of an archive (RFC 9110, section 8.8).
type Validator struct {
	// Tag is opaque and has no quotes. The same tag means the same bytes, on
	// every server with the same encoder versions and compression level.
	Tag string
	// Weak says that the content may differ in what depends on the refs and
	// other objects of the repository ($Format:%d$), on its objects of git-lfs
	// or on other repositories, so that parts of two downloads must not be put
	// together.
	Weak bool
}

// Validator looks at all folders, once for each archive in the memory of the
// engine: that is what an [ErrLimit] of a large tree can be known by before
// the first byte, and whether a file has placeholders that make it weak.
func (p *Plan) Validator(ctx context.Context) (Validator, error) {
	v := Validator{Tag: p.tag()}
	if p.options.LFS == LFSContent || p.options.Submodules == SubmodulesContent {
		return p.gathered(ctx, v.Tag)
	}
	if weak, ok := p.engine.validators.Get(v.Tag); ok {
		v.Weak = weak
		return v, nil
	}
	var err error
	if v.Weak, err = p.examine(ctx); err != nil {
		return Validator{}, err
	}
	p.engine.validators.Put(v.Tag, v.Weak, validatorCost)
	return v, nil
}

// examine refuses what an archive cannot be made of, and reports whether a file
// has placeholders that depend on refs. It surveys the tree, and goes over the
// entries where one may be a matter of either.
func (p *Plan) examine(ctx context.Context) (dependsOnRefs bool, err error) {
	substitutes, longLinks, err := p.selection.Survey(ctx)
	if err != nil || p.options.Format == Manifest || !longLinks && !substitutes {
		return false, err
	}
	opener := p.newOpener(ctx)
	err = p.each(ctx, func(e tree.Entry) error {
		switch {
		case e.Mode.IsSymlink():
			_, err = opener.Size(e)
		case e.Treatment.InOrder():
			var depends bool
			depends, err = opener.DependsOnRefs(e)
			dependsOnRefs = dependsOnRefs || depends
		}
		return err
	})
	return dependsOnRefs, err
}

// tag hashes everything that the bytes are a function of.
func (p *Plan) tag() string {
	parts := p.engine.inputs(p.commit.ID, p.options, p.info)
	for _, m := range p.selection.Modules("") {
		info := sha256.Sum256(m.Info)
		parts = append(parts, m.Path, m.Commit.ID.String(), hex.EncodeToString(info[:]))
	}
	return hashed(parts)
}

// Tag is that of the [Validator] of an archive whose commit is not at hand, as
// it is if it is strong. Options are those of a [Plan]; info is the content of
// info/attributes, or nil. With content from outside of the commit there is
// none.
func (e *Engine) Tag(commit repos.ID, options Options, info []byte) (tag string, ok bool) {
	options = options.Canonical()
	if options.Profile != ProfileArchive {
		info = nil
	}
	outside := options.LFS == LFSContent || options.Submodules == SubmodulesContent
	return hashed(e.inputs(commit, options, info)), options.Check() == nil && !outside
}

// inputs are what the bytes of an archive without submodules are a function of.
func (e *Engine) inputs(commit repos.ID, options Options, info []byte) []any {
	sum := sha256.Sum256(info)
	return []any{
		EncoderVersion, commit.String(), options.Format, options.Values(), hex.EncodeToString(sum[:]),
		e.encoder(options.Format),
	}
}

func hashed(parts []any) string {
	sum := sha256.New()
	// Strings cannot fail to be encoded, nor a hash to be written to.
	_ = json.NewEncoder(sum).Encode(parts)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// WriteTo generates the archive. Any error means that what w got is cut short
// and must not be taken for an archive. It ends soon after ctx does.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	switch p.options.Format {
	case Zip:
		layout, err := p.zipLayout()
		if err != nil {
			return err
		}
		return p.write(ctx, w, layout)
	case TarGz, TarZst, TarXz:
		return p.compressed(ctx, w)
	case Manifest:
		return p.writeManifest(ctx, w)
	default:
		return p.write(ctx, w, p.tarLayout())
	}
}

// compressed writes the tar through a compressor.
func (p *Plan) compressed(ctx context.Context, w io.Writer) error {
	zw, err := p.engine.compress(ctx, w, p.options.Format)
	if err != nil {
		return err
	}
	// Without Close there is no end: a broken stream never looks whole.
	defer zw.Abort()
	if err := p.write(ctx, zw, p.tarLayout()); err != nil {
		return err
	}
	return zw.Close()
}

// write writes the archive from its beginning.
func (p *Plan) write(ctx context.Context, w io.Writer, layout layout) error {
	from, err := p.start(ctx)
	if err != nil {
		return err
	}
	return p.newPipeline(ctx, w, layout, from).whole()
}

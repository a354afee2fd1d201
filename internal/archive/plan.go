package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/archive/subst"
	"github.com/repomcp/repomcp/internal/pretty"
	"github.com/repomcp/repomcp/internal/repos"
)

// Source is where the objects of an archive come from. Several goroutines use
// it at the same time.
type Source interface {
	Tree(id repos.ID) ([]repos.TreeEntry, error)
	// Blob opens a file that was compared with its id.
	Blob(ctx context.Context, id repos.ID) (*repos.Blob, error)
	// Size is the length of a blob, read from headers only and not compared.
	Size(id repos.ID) (int64, error)
	// ReadBlob appends a file to buf, unless it has more than limit bytes:
	// repos.ErrTooLarge.
	ReadBlob(id repos.ID, limit int64, buf []byte) ([]byte, error)
	// InfoAttributes is the content of info/attributes, or nil.
	InfoAttributes() ([]byte, error)
	// Resolve finds the commit of a revision; repos.ErrNotFound is for all that
	// is not served.
	Resolve(ctx context.Context, revision string) (repos.Commit, error)
	// LFSObject opens an object of git-lfs; repos.ErrNotFound where it is not
	// at hand.
	LFSObject(oid string) (*repos.LFSObject, error)
	pretty.Repository
}

// Plan is an archive that can be written.
type Plan struct {
	engine   *Engine
	source   Source
	commit   repos.Commit
	options  Options
	root     []repos.TreeEntry
	info     []byte // info/attributes
	selected *pathspec.Spec
	stripped []repos.TreeEntry  // folders from the root down to Options.Strip
	top      folder             // the last of those, or the root
	modules  map[string]*module // submodules whose content is taken, by their paths
	delta    *delta             // nil: everything

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
	options.Limits = options.Limits.withDefaults()
	p := &Plan{engine: e, source: source, commit: commit, options: options, descriptions: new(pretty.Descriptions)}
	var err error
	if p.root, err = source.Tree(commit.Tree); err != nil {
		return nil, err
	}
	if options.Profile == ProfileArchive {
		if p.info, err = source.InfoAttributes(); err != nil {
			return nil, err
		}
	}
	if err := p.choose(ctx); err != nil {
		return nil, err
	}
	if _, err := p.survey(ctx, quickSurvey); err != nil && !errors.Is(err, errUnfinished) {
		return nil, err
	}
	if options.Base != "" {
		if err := p.differ(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// survey holds a whole tree against the limits. What paths select of it is
// only bounded while it is written.
func (p *Plan) survey(ctx context.Context, budget int) (*survey, error) {
	s := &survey{ctx: ctx, limits: p.options.Limits, budget: budget, sizes: p.options.Limits.sizes()}
	err := s.look(p.top)
	if err == nil && len(p.modules) == 0 { // with some the validator is weak in any case
		err = p.lookAbove(s)
	}
	for _, m := range p.below(p.options.Strip) {
		if err == nil {
			err = s.look(m.folder())
		}
	}
	if p.selected != nil && errors.Is(err, ErrLimit) {
		s.substitutes, s.longLinks, err = true, true, nil
	}
	return s, err
}

// lookAbove looks at the attributes of the folders above the one that is
// surveyed, which count in it as well.
func (p *Plan) lookAbove(s *survey) error {
	entries := p.root
	for i, folder := range p.stripped {
		if e, ok := attributesOf(entries); ok {
			if err := s.mentions(e.ID); err != nil {
				return err
			}
		}
		if i == len(p.stripped)-1 {
			break // it is the one surveyed
		}
		var err error
		if entries, err = p.source.Tree(folder.ID); err != nil {
			return damaged(err)
		}
	}
	return nil
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
	s, err := p.survey(ctx, -1)
	if err != nil || p.options.Format == Manifest || !s.longLinks && !p.maySubstitute(s) {
		return false, err
	}
	made := newContent(ctx, p)
	err = p.each(ctx, func(_ *run, e entry) error {
		switch {
		case e.mode.IsSymlink():
			_, err = made.length(e)
		case e.treatment.forWriter():
			_, _, err = made.open(e)
			dependsOnRefs = dependsOnRefs || subst.DependsOnRefs(made.raw)
		}
		return err
	})
	return dependsOnRefs, err
}

// maySubstitute reports whether a file can have export-subst, by a whole survey.
func (p *Plan) maySubstitute(s *survey) bool {
	return s.substitutes && p.options.Profile == ProfileArchive || attributes.CanMention(p.info, exportSubst)
}

// each walks over all entries.
func (p *Plan) each(ctx context.Context, do func(*run, entry) error) error {
	w, err := p.newSupply(ctx)
	if err != nil {
		return err
	}
	r := newRun(nil)
	for more := true; more; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		r.reset(ctx, p, nil, runEntries)
		if more, err = w.fill(r); err != nil {
			return err
		}
		for i := range r.entries {
			if err := do(r, r.entry(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tag hashes everything that the bytes are a function of.
func (p *Plan) tag() string {
	parts := p.engine.inputs(p.commit.ID, p.options, p.info)
	for _, m := range p.below("") {
		info := sha256.Sum256(m.info)
		parts = append(parts, m.path, m.Commit.ID.String(), hex.EncodeToString(info[:]))
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
	return []any{EncoderVersion, commit.String(), options.Format, options.Values(), hex.EncodeToString(sum[:]), e.encoder(options.Format)}
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

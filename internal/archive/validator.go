package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/compress/zstd"
	"github.com/repomcp/repomcp/internal/repos"
)

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
	dependsOnRefs, known := p.engine.validators.Get(v.Tag)
	if !known {
		var err error
		if dependsOnRefs, err = p.examine(ctx); err != nil {
			return Validator{}, err
		}
		p.engine.validators.Put(v.Tag, dependsOnRefs, validatorCost)
	}
	// What is outside of the commit comes and goes.
	v.Weak = dependsOnRefs || p.options.takesOutside()
	if p.options.LFS != LFSContent {
		return v, nil
	}
	var err error
	v.Tag, err = p.tagWithObjects(ctx, v.Tag)
	return v, err
}

// tagWithObjects makes of a tag one that tells which objects of git-lfs there are,
// since it must not pass for that of an archive made before something came. To
// know that all pointers are read, each time.
func (p *Plan) tagWithObjects(ctx context.Context, tag string) (string, error) {
	sum := sha256.New()
	_, _ = io.WriteString(sum, tag) // a hash takes everything
	opener := p.newOpener(ctx)
	err := p.each(ctx, func(e tree.Entry) error {
		lacking, err := opener.LacksObject(e)
		if lacking {
			sum.Write(append(e.Path, 0))
		}
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:16]), err
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
	parts := p.engine.inputs(p.head.ID, p.options, p.selection.Info)
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
func (e *Engine) Tag(head repos.ID, options Options, info []byte) (tag string, ok bool) {
	options = options.Canonical()
	if profiles[options.Profile] != tree.ForArchive {
		info = nil
	}
	return hashed(e.inputs(head, options, info)), options.Check() == nil && !options.takesOutside()
}

// inputs are what the bytes of an archive without submodules are a function of.
func (e *Engine) inputs(head repos.ID, options Options, info []byte) []any {
	sum := sha256.Sum256(info)
	parts := []any{
		EncoderVersion, head.String(), options.Format, options.Values(), hex.EncodeToString(sum[:]),
		e.codecs[options.Format].version,
	}
	if options.Delta == DeltaPatch {
		parts = append(parts, zstd.PatchVersion)
	}
	return parts
}

func hashed(parts []any) string {
	sum := sha256.New()
	// Strings cannot fail to be encoded, nor a hash to be written to.
	_ = json.NewEncoder(sum).Encode(parts)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

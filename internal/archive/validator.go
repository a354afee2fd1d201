package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/archive/compress/zstd"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// Validator identifies the bytes of an archive (RFC 9110, section 8.8).
type Validator struct {
	// Tag is opaque and has no quotes. Equal tags mean equal bytes, on every server with the same
	// encoder versions and compression level.
	Tag string
	// Weak reports that the content may depend on refs and other objects of the repository
	// ($Format:%d$), on its Git LFS objects or on other repositories, so that parts of two
	// downloads must not be combined.
	Weak bool
}

// Validator examines all folders, once per archive in the engine's cache. So it detects an
// [ErrLimit] of a large tree before the first byte, and placeholders that make the archive weak. If
// objects may be missing without damage, it also looks up each file.
func (p *Plan) Validator(ctx context.Context) (Validator, error) {
	entries, err := p.examined(ctx)
	if err == nil {
		err = p.checkPresent(ctx)
	}
	if err != nil {
		return Validator{}, err
	}
	// Content from outside of the commit may appear and disappear.
	v := Validator{Tag: p.tag(), Weak: entries.dependOnRefs || p.options.takesOutside()}
	if p.options.LFS == LFSContent {
		v.Tag, err = p.tagWithObjects(ctx, v.Tag)
	}
	return v, err
}

// checkPresent looks up the files of an archive if one may be missing without damage. The result is
// not cached, because a tag names the same archive in every repository.
func (p *Plan) checkPresent(ctx context.Context) error {
	if !p.selection.MayLack() {
		return nil
	}
	return p.each(ctx, func(e tree.Entry) error {
		if !e.Mode.IsRegular() && !e.Mode.IsSymlink() {
			return nil
		}
		source := p.source
		if e.Module != nil {
			source = e.Module.Source
		}
		for _, id := range []git.ID{e.ID, e.Base} { // a generated file has neither
			if id.IsZero() {
				continue
			}
			if _, err := source.Size(id); err != nil {
				return git.MustExist(id, err)
			}
		}
		return nil
	})
}

// MaxUnknownEncodings bounds the result of [Plan.UnknownEncodings]; the manifest lists all files
// with their encodings.
const MaxUnknownEncodings = 8

// UnknownEncodings returns the unknown encodings that attributes ask for, in the order of the first
// files with them. Those files stay UTF-8. It is free after [Plan.Validator]. first reports that
// the engine has not returned them for this archive before, as far as it remembers.
func (p *Plan) UnknownEncodings(ctx context.Context) (names []string, first bool, err error) {
	entries, err := p.examined(ctx)
	if err != nil || len(entries.unknownEncodings) == 0 {
		return nil, false, err
	}
	return entries.unknownEncodings, !entries.told.Swap(true), nil
}

// tagWithObjects extends a tag by the set of existing Git LFS objects, so that the tag changes when
// an object arrives. It reads all pointers each time.
func (p *Plan) tagWithObjects(ctx context.Context, tag string) (string, error) {
	sum := sha256.New()
	_, _ = io.WriteString(sum, tag) // a hash cannot fail
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

// examination describes an archive's entries before they are written.
type examination struct {
	dependOnRefs     bool // a file has such placeholders
	unknownEncodings []string
	told             atomic.Bool // the encodings were returned
	objects          int64       // of a checkout, at most; for others entries
}

// cost returns the memory of the examination in the engine's cache.
func (e *examination) cost() int64 {
	cost := int64(examinationCost)
	for _, name := range e.unknownEncodings {
		cost += int64(len(name)) + stringHeader
	}
	return cost
}

func (e *examination) noteEncoding(name string) {
	if name != "" && len(e.unknownEncodings) < MaxUnknownEncodings && !slices.Contains(e.unknownEncodings, name) {
		e.unknownEncodings = append(e.unknownEncodings, name)
	}
}

// examined examines the entries, or returns the cached examination.
func (p *Plan) examined(ctx context.Context) (*examination, error) {
	tag := p.tag()
	if known, ok := p.engine.examinations.Get(tag); ok {
		return known, nil
	}
	found, err := p.examine(ctx)
	if err != nil {
		return nil, err
	}
	return p.engine.examinations.GetOrPut(tag, found, found.cost()), nil
}

// examine refuses impossible archives. It walks the entries if the survey found something that depends on single
// files.
func (p *Plan) examine(ctx context.Context) (*examination, error) {
	found, count, err := p.survey(ctx)
	if p.options.Format == Manifest {
		found.Substitutes = false // it contains no contents
	}
	entries := &examination{objects: count}
	if err == nil && p.clone != nil {
		entries.objects, err = p.countObjects(ctx, count)
	}
	if err != nil || found == (tree.Found{}) {
		return entries, refusedClone(err)
	}
	opener := p.newOpener(ctx)
	return entries, p.each(ctx, func(e tree.Entry) (err error) {
		entries.noteEncoding(e.Treatment.UnknownEncoding())
		switch {
		case e.Mode.IsSymlink():
			_, err = opener.Size(e)
		case found.Substitutes && e.Treatment.InOrder():
			var depends bool
			depends, err = opener.DependsOnRefs(e)
			entries.dependOnRefs = entries.dependOnRefs || depends
		}
		return err
	})
}

// survey surveys the tree. The few entries of a delta are walked without it, unless there is an index of all.
func (p *Plan) survey(ctx context.Context) (tree.Found, int64, error) {
	if p.changes == nil || p.clone != nil && p.hasIndex() {
		return p.selection.Survey(ctx)
	}
	everything := tree.Found{UnknownEncodings: true, LongLinks: true}
	everything.Substitutes = p.selection.Attributes == tree.ForArchive
	return everything, int64(p.changes.Len()), nil
}

// tag hashes everything that determines the bytes.
func (p *Plan) tag() string {
	parts := p.engine.inputs(p.head.ID, p.options, p.selection.Info)
	for _, m := range p.selection.Modules("") {
		info := sha256.Sum256(m.Info)
		parts = append(parts, m.Path, m.Commit.ID.String(), hex.EncodeToString(info[:]))
	}
	return hashed(parts)
}

// Tag returns the tag of an archive's [Validator] without access to its commit; it is right only if
// the validator is strong. options are those of a [Plan]; info is the content of info/attributes,
// or nil. ok is false for content from outside of the commit.
func (e *Engine) Tag(head git.ID, options Options, info []byte) (tag string, ok bool) {
	options = options.Canonical()
	if profiles[options.Profile] != tree.ForArchive {
		info = nil
	}
	return hashed(e.inputs(head, options, info)), options.Check() == nil && !options.takesOutside()
}

// inputs returns everything that determines the bytes of an archive without submodules.
func (e *Engine) inputs(head git.ID, options Options, info []byte) []any {
	sum := sha256.Sum256(info)
	parts := []any{
		EncoderVersion, head.String(), options.Format, options.Values(), hex.EncodeToString(sum[:]),
		e.codecs[options.Format].version,
	}
	if options.Delta == DeltaPatch {
		parts = append(parts, zstd.PatchVersion)
	}
	if options.Profile == ProfileCheckout {
		parts = append(parts, CheckoutVersion)
	}
	return parts
}

func hashed(parts []any) string {
	sum := sha256.New()
	// Strings cannot fail to be encoded, nor a hash to be written to.
	_ = json.NewEncoder(sum).Encode(parts)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

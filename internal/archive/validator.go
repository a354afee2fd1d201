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
// the first byte, and whether a file has placeholders that make it weak. Where objects
// may be missing although nothing is damaged it looks for each file, too.
func (p *Plan) Validator(ctx context.Context) (Validator, error) {
	entries, err := p.examined(ctx)
	if err == nil {
		err = p.checkPresent(ctx)
	}
	if err != nil {
		return Validator{}, err
	}
	// What is outside of the commit comes and goes.
	v := Validator{Tag: p.tag(), Weak: entries.dependOnRefs || p.options.takesOutside()}
	if p.options.LFS == LFSContent {
		v.Tag, err = p.tagWithObjects(ctx, v.Tag)
	}
	return v, err
}

// checkPresent looks for the files of an archive where one may be missing although
// nothing is damaged. That is asked each time, for a tag names the same archive in every
// repository.
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
		for _, id := range []git.ID{e.ID, e.Base} { // a file that no tree has is neither
			if id.IsZero() {
				continue
			}
			if _, err := source.Size(id); err != nil {
				return tree.Damaged(err)
			}
		}
		return nil
	})
}

// MaxUnknownEncodings is how many encodings [Plan.UnknownEncodings] returns: of an archive
// with more, the manifest says which file is meant for which.
const MaxUnknownEncodings = 8

// UnknownEncodings are the encodings that attributes ask for and that are not known here,
// in the order of the first files that have them. Those files stay UTF-8. It costs
// nothing where [Plan.Validator] was asked. first says that the engine does not remember
// to have told of this archive before.
func (p *Plan) UnknownEncodings(ctx context.Context) (names []string, first bool, err error) {
	entries, err := p.examined(ctx)
	if err != nil || len(entries.unknownEncodings) == 0 {
		return nil, false, err
	}
	return entries.unknownEncodings, !entries.told.Swap(true), nil
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

// examination is what is known of the entries of an archive before they are written.
type examination struct {
	dependOnRefs     bool // a file has placeholders that do
	unknownEncodings []string
	told             atomic.Bool // of the encodings
}

// cost is the memory that it takes in the engine's cache.
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

// examined examines the entries, unless the engine remembers what was found.
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

// examine refuses what an archive cannot be made of. It surveys the tree, and goes over
// the entries where one may be a matter of what was found.
func (p *Plan) examine(ctx context.Context) (*examination, error) {
	found, err := p.selection.Survey(ctx)
	if p.options.Format == Manifest {
		found.Substitutes = false // it has no contents
	}
	entries := new(examination)
	if err != nil || found == (tree.Found{}) {
		return entries, err
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
func (e *Engine) Tag(head git.ID, options Options, info []byte) (tag string, ok bool) {
	options = options.Canonical()
	if profiles[options.Profile] != tree.ForArchive {
		info = nil
	}
	return hashed(e.inputs(head, options, info)), options.Check() == nil && !options.takesOutside()
}

// inputs are what the bytes of an archive without submodules are a function of.
func (e *Engine) inputs(head git.ID, options Options, info []byte) []any {
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

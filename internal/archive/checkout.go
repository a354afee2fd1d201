package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/archive/compress/gzip"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// CheckoutVersion identifies the bytes of .git in a checkout, as [EncoderVersion] those of a tar.
const CheckoutVersion = "co6"

// Refs finds the refs that revisions name.
type Refs interface {
	ResolveTreeish(ctx context.Context, revision string) (git.Treeish, error)
	NamedRef(revision string) (git.Ref, error)
	DefaultBranch() (string, error)
}

var _ Refs = (*git.Snapshot)(nil)

// OriginOf returns the origin of checkouts that come from where a mirror comes from.
func OriginOf(mirror interface{ Origin() (string, error) }) (string, error) {
	origin, err := mirror.Origin()
	if err == nil && checkout.CheckURL(origin) != nil {
		origin = OriginNone
	}
	return origin, err
}

// Resolve finds what an archive is made of. The options of a checkout get the branch or the tag that
// the revision names; the id of the result is then that of an annotated tag.
func Resolve(ctx context.Context, refs Refs, revision string, options Options) (git.Treeish, Options, error) {
	if options.Profile != ProfileCheckout {
		head, err := refs.ResolveTreeish(ctx, revision)
		return head, options, err
	}
	object := revision
	if options.Ref == "" {
		var err error
		if options.Ref, object, err = checkoutRef(refs, revision); err != nil {
			return git.Treeish{}, options, err
		}
	}
	head, err := refs.ResolveTreeish(ctx, revision) // the object's id may be served no more after a forced push
	name, _ := options.ref()
	if id, invalid := git.ParseID(object); err == nil && invalid == nil && strings.HasPrefix(name, "refs/tags/") {
		head.ID, head.Revision = id, object
	}
	return head, options, err
}

// checkoutRef returns the option for the ref that a revision names, and the object that it holds;
// for other revisions no option.
func checkoutRef(refs Refs, revision string) (option, object string, err error) {
	ref, err := refs.NamedRef(revision)
	if errors.Is(err, git.ErrNotFound) {
		return "", revision, nil
	}
	if err != nil {
		return "", "", err
	}
	if ref.Branch() == "" && ref.Tag() == "" || !checkout.IsRef(ref.Name, false) {
		return "", ref.Target.String(), nil
	}
	branch, err := refs.DefaultBranch()
	if err == nil && branch != "" && branch == ref.Branch() {
		return defaultRef + ref.Name, ref.Target.String(), nil
	}
	return ref.Name, ref.Target.String(), err
}

// defaultRef precedes the name of the default branch in [Options.Ref].
const defaultRef = "HEAD:"

// clone is what a checkout has besides its files.
type clone struct {
	ref     checkout.Ref
	remote  checkout.Remote
	history checkout.History
	files   checkout.Files // in the pack
	mtime   uint32         // of the files, in seconds
	base    *baseClone     // nil: the checkout is whole
}

// baseClone is the checkout that a delta is for.
type baseClone struct {
	commit git.ID
	mtime  uint32
}

// planClone checks that there is a checkout of the commit.
func (p *Plan) planClone() error {
	o := p.options
	if o.Profile != ProfileCheckout {
		return nil
	}
	if p.head.Commit.IsZero() {
		return fmt.Errorf("%w \"profile\": a tree without a commit has no checkout; take another profile", ErrOption)
	}
	name, isDefault := o.ref()
	p.clone = &clone{
		ref:    checkout.Ref{Name: name, Default: isDefault, Target: p.head.ID, Commit: p.head.Commit},
		remote: checkout.Remote{Promises: o.Objects == ObjectsBlobless}, files: packedFiles[o.Objects],
		mtime: fileTime(p.head.Date),
	}
	if o.Origin != OriginNone {
		p.clone.remote.URL, p.clone.remote.PushURL = o.Origin, o.PushURL
	}
	return nil
}

// findHistory finds the commits of a checkout, and counts its objects. base is the commit of the
// checkout that a delta is for.
func (p *Plan) findHistory(ctx context.Context, base git.Treeish) (err error) {
	var known checkout.History
	if p.changes != nil {
		ref := checkout.Ref{Target: base.Commit, Commit: base.Commit}
		known, err = checkout.FindHistory(ctx, p.source, ref, p.options.depth(), known, p.options.Limits)
		if err != nil {
			return err
		}
		p.clone.base = &baseClone{base.Commit, fileTime(base.Date)}
	}
	p.clone.history, err = checkout.FindHistory(
		ctx, p.source, p.clone.ref, p.options.depth(), known, p.options.Limits,
	)
	if err != nil {
		return err
	}
	examined, err := p.examined(ctx)
	if err == nil {
		p.objects = examined.objects
	}
	return err
}

// packedFiles are the files in packs.
var packedFiles = map[Objects]checkout.Files{
	ObjectsBlobless: checkout.NoFiles, ObjectsConverted: checkout.ConvertedFiles,
}

// fileTime is the time of files that are committed at a date: a second earlier than that of the
// index, which has the date itself. From an index that is not younger than a file git cannot tell
// whether the file has changed since. A time in an index has 32 bits.
func fileTime(date uint64) uint32 { return uint32(min(max(date, 1), math.MaxUint32-1) - 1) }

// refusedClone says that the profile is wrong for a tree of which there is no checkout.
func refusedClone(err error) error {
	if errors.Is(err, tree.ErrClone) {
		return fmt.Errorf("%w \"profile\": %w", ErrOption, err)
	}
	return err
}

// countObjects bounds the number of objects that a checkout has or knows, and of entries in its
// index. entries is the number of those in the working tree. The folders of other commits are read
// for it.
func (p *Plan) countObjects(ctx context.Context, entries int64) (int64, error) {
	h := p.clone.history
	count := entries + int64(len(h.Tags)+len(h.Commits))
	if len(h.Commits) == 1 && p.clone.base == nil {
		return count, nil
	}
	seen := p.seenInBase()
	var b tree.Batch
	w := checkout.NewWalk(ctx, p.source, h, p.clone.files, seen, p.options.Limits)
	for more := true; more; {
		b.Reset(p.source, runEntries)
		var err error
		if more, err = w.Fill(&b); err != nil {
			return 0, err
		}
	}
	return count + int64(len(seen)), nil
}

// isOfBase reports whether a delta leads to its base's own commit, so that neither objects nor the index change.
func (p *Plan) isOfBase() bool { return p.clone.base != nil && p.clone.base.commit == p.head.Commit }

// hasIndex reports whether the archive has an index. For that of a delta all folders and sizes of files are read; a
// client that packs files itself brings its own up to date.
func (p *Plan) hasIndex() bool {
	return p.clone.base == nil || p.clone.files != checkout.ConvertedFiles && !p.isOfBase()
}

// seenInBase returns the files that the checkout has that a delta is for, as far as their paths change: a file that
// was moved is not packed again.
func (p *Plan) seenInBase() checkout.Seen {
	seen := make(checkout.Seen)
	if p.changes != nil {
		seen.Add(p.changes.Replaced()...)
	}
	return seen
}

// checkoutMemory is what a checkout takes besides its objects and an archive of its files: the
// entries of its runs, the stream of a large file, and the ends of its temporary files.
const checkoutMemory = ownRuns*runBuffer + gzip.WriterBlocks*gzip.BlockMemory + checkout.FolderMemory

// Memory returns the maximal memory of the archive while it is written, without what all archives
// share.
func (p *Plan) Memory() int64 {
	memory := p.options.Format.Memory()
	if p.clone != nil {
		memory += checkoutMemory + p.objects*checkout.ObjectMemory
	}
	return memory
}

// depth returns the number of commits from the head on, or 0 for an invalid option.
func (o Options) depth() int {
	n, err := strconv.ParseInt(cmp.Or(o.Depth, "1"), 10, 32)
	if err != nil || n < 1 || o.Depth != "" && strconv.FormatInt(n, 10) != o.Depth {
		return 0
	}
	return int(n)
}

// checkCheckout returns [ErrOption] for options that a checkout does not have, and for those that
// only a checkout has.
func (o Options) checkCheckout() error {
	if o.Profile != ProfileCheckout {
		for _, p := range parameters {
			if p.ofCheckout && len(p.get(o)) > 0 {
				return fmt.Errorf("%w %q goes with profile=checkout only", ErrOption, p.name)
			}
		}
		return nil
	}
	for _, refused := range []struct {
		given bool
		what  string
	}{
		{o.Format == Zip, `"format": a zip keeps no time by which git knows a file; take a tar`},
		{
			len(o.Paths)+len(o.Exclude) > 0 || o.Strip != "",
			`"profile": a part of a tree is no checkout; leave "path", "exclude" and "strip" out`,
		},
		{o.Prefix != "" && !strings.HasSuffix(o.Prefix, "/"), `"prefix" of a checkout is a folder; end it with /`},
		{
			o.Submodules == SubmodulesContent,
			`"submodules": their folders in a checkout are empty, until git submodule update fills them`,
		},
		{o.depth() == 0, `"depth" is a number from 1 to 2147483647`},
		{
			o.Objects == ObjectsBlobless && o.Origin == OriginNone,
			`"objects": without an origin git has nowhere to fetch files from; name one with "origin"`,
		},
	} {
		if refused.given {
			return fmt.Errorf("%w %s", ErrOption, refused.what)
		}
	}
	if o.Ref != "" {
		if name, isDefault := o.ref(); !checkout.IsRef(name, isDefault) {
			return fmt.Errorf("%w \"refname\": %q is not the full name of a branch or tag, such as refs/heads/main",
				ErrOption, name)
		}
	}
	for _, remote := range []struct{ name, url string }{{"origin", o.Origin}, {"pushurl", o.PushURL}} {
		if remote.url == "" || remote.url == OriginNone {
			continue
		}
		if err := checkout.CheckURL(remote.url); err != nil {
			return fmt.Errorf("%w %q %w", ErrOption, remote.name, err)
		}
	}
	return nil
}

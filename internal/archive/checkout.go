package archive

import (
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// CheckoutVersion identifies the bytes of .git in a checkout, as [EncoderVersion] those of a tar.
const CheckoutVersion = "co1"

// clone is what a checkout has besides its files.
type clone struct {
	ref     checkout.Ref
	remote  checkout.Remote
	tags    []git.ID // annotated tags that lead to the commit
	commits []git.ID // the commit, and its ancestors up to the depth
	cut     []git.ID // those whose parents are left out
	mtime   uint32   // of the files, in seconds
}

// Refs finds the refs that revisions name.
type Refs interface {
	ResolveTreeish(ctx context.Context, revision string) (git.Treeish, error)
	NamedRef(revision string) (git.Ref, error)
	DefaultBranch() (string, error)
}

var _ Refs = (*git.Snapshot)(nil)

// OriginOf returns the origin of checkouts that come from where a mirror comes from.
func OriginOf(mirror interface{ Origin() string }) string {
	if origin := mirror.Origin(); checkout.CheckURL(origin) == nil {
		return origin
	}
	return OriginNone
}

// Resolve finds what an archive is made of. The options of a checkout get the branch or the tag that
// the revision names; the id of the result is then that of an annotated tag.
func Resolve(ctx context.Context, refs Refs, revision string, options Options) (git.Treeish, Options, error) {
	if options.Profile != ProfileCheckout {
		head, err := refs.ResolveTreeish(ctx, revision)
		return head, options, err
	}
	if options.Ref == "" {
		var err error
		if options.Ref, revision, err = checkoutRef(refs, revision); err != nil {
			return git.Treeish{}, options, err
		}
	}
	head, err := refs.ResolveTreeish(ctx, revision)
	name, _ := options.ref()
	if id, invalid := git.ParseID(revision); err == nil && invalid == nil && strings.HasPrefix(name, "refs/tags/") {
		head.ID, head.Revision = id, revision
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
	if ref.Branch() == "" && ref.Tag() == "" || checkRef(ref.Name) != nil {
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

// checkRef refuses what is no name of a branch or tag.
func checkRef(name string) error {
	ref := plumbing.ReferenceName(name)
	if !ref.IsBranch() && !ref.IsTag() || ref.Validate() != nil {
		return fmt.Errorf("%w \"ref\": %q is no name of a branch or tag, such as refs/heads/main", ErrOption, name)
	}
	return nil
}

// planClone finds the commits of a checkout.
func (p *Plan) planClone(ctx context.Context) error {
	if p.options.Profile != ProfileCheckout {
		return nil
	}
	if p.head.Commit.IsZero() {
		return fmt.Errorf("%w \"profile\": a tree without a commit has no checkout; take another profile", ErrOption)
	}
	name, isDefault := p.options.ref()
	p.clone = &clone{
		ref:    checkout.Ref{Name: name, Default: isDefault, Target: p.head.ID, Commit: p.head.Commit},
		remote: checkout.Remote{Promises: p.options.Objects == ObjectsBlobless},
		mtime:  fileTime(p.head.Date),
	}
	if p.options.Origin != OriginNone {
		p.clone.remote.URL, p.clone.remote.PushURL = p.options.Origin, p.options.PushURL
	}
	return errors.Join(p.findTags(), p.findCommits(ctx))
}

// fileTime is the time of files that are committed at a date: a second earlier than the index, which
// has the date itself. An index that is not younger than a file does not tell git whether the file
// has changed. An index has 32 bits for a time.
func fileTime(date uint64) uint32 { return uint32(min(max(date, 1), math.MaxUint32-1) - 1) }

// findTags follows annotated tags to the commit.
func (p *Plan) findTags() error {
	for id := p.clone.ref.Target; id != p.clone.ref.Commit; {
		raw, err := p.source.RawTag(id)
		if err != nil {
			return tree.Damaged(err)
		}
		p.clone.tags = append(p.clone.tags, id)
		if id, err = git.ParseTagTarget(id, raw); err != nil {
			return err
		}
	}
	return nil
}

// findCommits finds the commits that git clone --depth fetches, and those of them that are then
// without their parents.
func (p *Plan) findCommits(ctx context.Context) error {
	grafts, err := p.source.Shallow()
	if err != nil {
		return err
	}
	depth := p.options.depth()
	seen := map[git.ID]bool{p.head.Commit: true}
	for level := []git.ID{p.head.Commit}; len(level) > 0; depth-- {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		p.clone.commits = append(p.clone.commits, level...)
		if int64(len(p.clone.commits)) > p.options.Limits.Entries {
			return p.options.Limits.EntriesExceeded()
		}
		var next []git.ID
		for _, id := range level {
			raw, err := p.source.RawCommit(id)
			if err != nil {
				return tree.Damaged(err)
			}
			links, err := git.ParseCommitLinks(id, raw)
			if err != nil {
				return err
			}
			if depth == 1 || grafts[id] {
				p.clone.cut = append(p.clone.cut, id)
				continue
			}
			for _, parent := range links.Parents {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		level = next
	}
	return nil
}

// packingWalk marks the first entry with each content, which goes into the pack of a checkout.
type packingWalk struct {
	walk
	objects Objects
	seen    map[git.ID]struct{} // contents of files and links
}

func (w *packingWalk) Fill(b *tree.Batch) (more bool, err error) {
	more, err = w.walk.Fill(b)
	if w.objects == ObjectsBlobless {
		return more, err
	}
	for i := range b.Len() {
		e := b.Entry(i)
		if !e.Mode.IsRegular() && !e.Mode.IsSymlink() {
			continue
		}
		if e.Treatment != nil && e.Treatment.Generated != nil {
			continue
		}
		if _, seen := w.seen[e.ID]; seen {
			continue
		}
		if w.objects == ObjectsConverted && !e.Treatment.Changes() && !e.Treatment.MayBePointer() {
			w.seen[e.ID] = struct{}{}
			continue
		}
		w.seen[e.ID] = struct{}{}
		b.Pack(i)
	}
	return more, err
}

// objectWalk yields the objects of a checkout that are no files of its working tree: tags, commits,
// folders, and the files of earlier commits.
type objectWalk struct {
	ctx     context.Context
	source  Source
	objects Objects
	seen    map[git.ID]struct{}
	heads   []tree.Entry // tags and commits to yield
	trees   []git.ID     // of commits
	levels  [][]git.StoredEntry
	yielded int64
	limits  Limits
}

// objectWalk returns a walk after the last file.
func (p *Plan) objectWalk(ctx context.Context, files *packingWalk) (*objectWalk, error) {
	w := &objectWalk{
		ctx: ctx, source: p.source, objects: p.options.Objects, seen: files.seen, limits: p.options.Limits,
	}
	for _, id := range p.clone.tags {
		w.heads = append(w.heads, tree.Entry{Mode: modeTag, ID: id})
	}
	for _, id := range p.clone.commits {
		w.heads = append(w.heads, tree.Entry{Mode: git.ModeGitlink, ID: id})
		raw, err := p.source.RawCommit(id)
		if err != nil {
			return nil, tree.Damaged(err)
		}
		links, err := git.ParseCommitLinks(id, raw)
		if err != nil {
			return nil, err
		}
		w.trees = append(w.trees, links.Tree)
	}
	return w, nil
}

// modeTag is the mode of an entry that is an annotated tag. That of a commit is a submodule's.
const modeTag git.Mode = 0

// Counts implements walk.
func (w *objectWalk) Counts() (entries, ignored int64) { return w.yielded, 0 }

// Fill implements walk.
func (w *objectWalk) Fill(b *tree.Batch) (more bool, err error) {
	for !b.Full() {
		e, ok, err := w.next()
		if !ok || err != nil {
			return false, err
		}
		if w.yielded++; w.yielded > w.limits.Entries {
			return false, w.limits.EntriesExceeded()
		}
		b.Add("", e)
	}
	return true, nil
}

// next returns the next object; ok is false after the last.
func (w *objectWalk) next() (e tree.Entry, ok bool, err error) {
	if len(w.heads) > 0 {
		e, w.heads = w.heads[0], w.heads[1:]
		return e, true, nil
	}
	for {
		for len(w.levels) > 0 {
			inner := &w.levels[len(w.levels)-1]
			if len(*inner) == 0 {
				w.levels = w.levels[:len(w.levels)-1]
				continue
			}
			stored := (*inner)[0]
			*inner = (*inner)[1:]
			if e, ok, err = w.take(stored.Mode, stored.ID); ok || err != nil {
				return e, ok, err
			}
		}
		if len(w.trees) == 0 {
			return tree.Entry{}, false, nil
		}
		root := w.trees[0]
		w.trees = w.trees[1:]
		if e, ok, err = w.take(git.ModeDir, root); ok || err != nil {
			return e, ok, err
		}
	}
}

// take returns the entry of an object that was not yielded before, and enters a folder.
func (w *objectWalk) take(mode git.Mode, id git.ID) (e tree.Entry, ok bool, err error) {
	if mode.IsGitlink() || !mode.IsDir() && w.objects == ObjectsBlobless {
		return e, false, nil
	}
	if _, seen := w.seen[id]; seen {
		return e, false, nil
	}
	w.seen[id] = struct{}{}
	if !mode.IsDir() {
		return tree.Entry{Mode: git.ModeRegular, ID: id}, true, nil
	}
	if err := context.Cause(w.ctx); err != nil {
		return e, false, err
	}
	entries, err := w.list(id)
	w.levels = append(w.levels, entries)
	return tree.Entry{Mode: git.ModeDir, ID: id}, true, err
}

func (w *objectWalk) list(id git.ID) (entries []git.StoredEntry, err error) {
	stored, err := w.source.StoredTree(id, nil)
	if err != nil {
		return nil, tree.Damaged(err)
	}
	for pair, err := range git.PairTrees(stored, git.StoredTree{}) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, pair[0])
	}
	return entries, nil
}

// memberWriter writes the members of .git.
type memberWriter struct {
	l      *pipeline
	format tar.Format
	root   string
}

func (m *memberWriter) member(path string, mode git.Mode) tar.Member {
	return tar.Member{Path: []byte(m.root + path), Mode: mode, ID: m.l.plan.head.ID}
}

func (m *memberWriter) folder(path string) error {
	return m.l.write(m.format.Header(nil, m.member(path, git.ModeDir), 0, nil))
}

func (m *memberWriter) file(path string, content []byte) error {
	return m.stream(path, int64(len(content)), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func (m *memberWriter) stream(path string, size int64, write func(io.Writer) error) error {
	if err := m.l.write(m.format.Header(nil, m.member(path, git.ModeRegular), size, nil)); err != nil {
		return err
	}
	before := m.l.written
	if err := write(m.l); err != nil {
		return err
	}
	if written := m.l.written - before; written != size {
		return fmt.Errorf("archive: %s of %d bytes has %d", path, size, written)
	}
	return m.l.write(tar.Pad(nil, size))
}

// packName returns the name of the pack, which is in the archive before the content is known. It
// names the content: another pack has another name.
func (p *Plan) packName() string {
	sum := sha1.New()
	// Strings cannot fail to be encoded, nor a hash to be written to.
	_ = json.NewEncoder(sum).Encode([]any{
		CheckoutVersion, p.head.ID.String(), p.options.Objects, p.options.depth(), p.options.LFS, p.options.Base,
	})
	return fmt.Sprintf("objects/pack/pack-%x", sum.Sum(nil))
}

// gitFile is a small file of .git.
type gitFile struct {
	path    string
	content []byte
}

// writeGitFolder writes .git.
func (p *Plan) writeGitFolder(m *memberWriter, c *checkoutLayout) error {
	for _, path := range checkout.Folders() {
		if err := m.folder(path); err != nil {
			return err
		}
	}
	name := p.packName()
	if err := m.stream(name+".pack", c.pack.Size(), func(w io.Writer) error {
		err := c.store(true)
		if err == nil {
			_, err = c.pack.WriteTo(w)
		}
		return errors.Join(err, c.store(false))
	}); err != nil {
		return err
	}
	if err := m.stream(name+".idx", c.pack.IndexSize(), c.pack.WriteIndex); err != nil {
		return err
	}
	if err := m.stream(name+".rev", c.pack.ReverseSize(), c.pack.WriteReverse); err != nil {
		return err
	}
	if p.clone.remote.Promises {
		if err := m.file(name+".promisor", nil); err != nil {
			return err
		}
	}
	if err := p.writeRefs(m); err != nil {
		return err
	}
	return m.stream("index", c.index.Size(), func(w io.Writer) error {
		_, err := c.index.WriteTo(w)
		return err
	})
}

// writeRefs writes the small files of .git.
func (p *Plan) writeRefs(m *memberWriter) error {
	ref, remote := p.clone.ref, p.clone.remote
	config, err := checkout.Config(ref, remote)
	if err != nil {
		return err
	}
	files := []gitFile{
		{"packed-refs", ref.PackedRefs(remote.URL != "")},
		{"shallow", checkout.Shallow(p.clone.cut)},
		{"config", config},
		{"description", []byte("Unnamed repository; edit this file 'description' to name the repository.\n")},
		{"HEAD", ref.Head()},
	}
	if head := ref.RemoteHead(); head != nil && remote.URL != "" {
		if err := errors.Join(m.folder("refs/remotes/"), m.folder("refs/remotes/origin/")); err != nil {
			return err
		}
		files = append(files, gitFile{"refs/remotes/origin/HEAD", head})
	}
	for _, f := range files {
		if len(f.content) == 0 {
			continue
		}
		if err := m.file(f.path, f.content); err != nil {
			return err
		}
	}
	return nil
}

// depth returns the number of commits from the head on.
func (o Options) depth() int {
	if o.Depth == "" {
		return 1
	}
	n, _ := strconv.Atoi(o.Depth) // Check has refused others
	return n
}

// checkCheckout returns [ErrOption] for options that a checkout does not have, and for those that
// only a checkout has.
func (o Options) checkCheckout() error {
	if o.Profile != ProfileCheckout {
		for _, p := range parameters {
			if p.ofCheckout && len(p.get(o)) > 0 {
				return fmt.Errorf("%w %q goes with \"profile\"=\"checkout\" only", ErrOption, p.name)
			}
		}
		return nil
	}
	for _, refused := range []struct {
		given bool
		what  string
	}{
		{o.Format == Zip, `"format": a zip keeps no time by which git knows a file; take a tar`},
		{len(o.Paths)+len(o.Exclude) > 0 || o.Strip != "", `"profile": a part of a tree is no checkout; leave "path", ` +
			`"exclude" and "strip" out`},
		{o.Prefix != "" && !strings.HasSuffix(o.Prefix, "/"), `"prefix" of a checkout is a folder; end it with /`},
		{o.Submodules == SubmodulesContent, `"submodules": their folders in a checkout are empty, until git submodule ` +
			`update fills them`},
		{o.Depth != "" && (o.depth() < 1 || strconv.Itoa(o.depth()) != o.Depth), `"depth" is a number from 1 to 2147483647`},
	} {
		if refused.given {
			return fmt.Errorf("%w %s", ErrOption, refused.what)
		}
	}
	if o.Ref != "" {
		name, isDefault := o.ref()
		if err := checkRef(name); err != nil || isDefault && !strings.HasPrefix(name, "refs/heads/") {
			return err
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

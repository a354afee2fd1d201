package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/archive/compress/zstd"
	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git"
)

// checkoutLayout writes the files of a checkout as a tar, and after them its .git. Workers also
// make the entries of the pack, from the contents that they have read for the tar. The writing
// goroutine collects these, and the entries of the index, in temporary files.
type checkoutLayout struct {
	tarLayout // of the files
	plan      *Plan
	encoder   *checkout.Encoder
	pack      *checkout.Pack
	index     *checkout.Index // nil: none
	seen      checkout.Seen
	store     func(bool) error // says whether the following bytes are compressed already
}

// writeCheckout writes the tar of a checkout.
func (p *Plan) writeCheckout(ctx context.Context, w io.Writer, store func(bool) error) error {
	from, err := p.start(ctx)
	if err != nil {
		return err
	}
	c := &checkoutLayout{
		tarLayout: tarLayout{tar.Format{MTime: uint64(p.clone.mtime)}}, plan: p, encoder: p.engine.packs,
		pack: checkout.NewPack(p.engine.space), seen: p.seenInBase(), store: store,
	}
	if p.clone.files == checkout.ConvertedFiles {
		c.encoder, c.store = p.engine.storedPacks, func(bool) error { return nil }
	}
	from.walk = markingWalk{from.walk, c}
	defer c.pack.Close()
	if p.hasIndex() {
		c.index = checkout.NewIndex(p.engine.space, p.head.Tree)
		defer c.index.Close()
	}
	err = p.newPipeline(ctx, w, c, from).whole()
	if errors.Is(err, spill.ErrFull) {
		err = fmt.Errorf("%w: %w", git.ErrBusy, err)
	}
	return err
}

// markingWalk marks the files that are packed.
type markingWalk struct {
	walk
	checkout *checkoutLayout
}

func (w markingWalk) Fill(b *tree.Batch) (more bool, err error) {
	more, err = w.walk.Fill(b)
	w.checkout.seen.Mark(b, w.checkout.plan.clone.files)
	return more, err
}

// packed is what a run collects for a pack and an index.
type packed struct {
	entries []byte
	objects []checkout.Object
	sizes   []int64 // of the files in the working tree, by entry
	indexed int     // entries that are in the index
	content []byte  // of a stored file; reused
}

func (p *packed) reset() {
	if cap(p.content) > runBuffer { // of a patch
		p.content, p.entries = nil, nil
	}
	p.entries, p.objects, p.sizes, p.indexed = p.entries[:0], p.objects[:0], p.sizes[:0], 0
}

// setSize notes the size of the entry at an index. Those before it that have none are folders.
func (p *packed) setSize(at, size int) {
	p.sizes = append(p.sizes, make([]int64, at+1-len(p.sizes))...)
	p.sizes[at] = int64(size)
}

// size returns the size of the entry at an index.
func (p *packed) size(at int) int64 {
	if at >= len(p.sizes) {
		return 0
	}
	return p.sizes[at]
}

func (c *checkoutLayout) appendBare(r *run, out []byte, e tree.Entry, target []byte) ([]byte, error) {
	if e.Mode.IsSymlink() {
		r.packed.setSize(r.next, len(target))
		if err := c.packObject(r, e, checkout.Blob, target); err != nil {
			return out, err
		}
	}
	return c.tarLayout.appendBare(r, out, e, target)
}

func (c *checkoutLayout) appendBlob(r *run, buffer []byte, e tree.Entry, limit int64) ([]byte, error) {
	out, content, err := c.appendRead(r, buffer, e, limit)
	if err != nil {
		return buffer, err
	}
	r.packed.setSize(r.next, len(content))
	if err := c.packObject(r, e, checkout.Blob, content); err != nil {
		return buffer, err
	}
	return out, nil
}

// appendContent appends a file whose content may differ from the stored one.
func (c *checkoutLayout) appendContent(r *run, out []byte, e tree.Entry, content []byte) ([]byte, error) {
	r.packed.setSize(r.next, len(content))
	if err := c.packStored(r, e, content); err != nil {
		return out, err
	}
	return c.tarLayout.appendContent(r, out, e, content)
}

func (c *checkoutLayout) appendPatch(r *run, out []byte, e tree.Entry) (longer []byte, patched bool, err error) {
	longer, patched, err = c.tarLayout.appendPatch(r, out, e)
	if patched && err == nil {
		err = c.packStored(r, e, nil)
	}
	return longer, patched, err
}

// packStored packs the stored content of a file that has another one in the working tree, or here.
func (c *checkoutLayout) packStored(r *run, e tree.Entry, content []byte) (err error) {
	if !e.Packed {
		return nil
	}
	r.packed.content, err = r.Source.ReadBlob(e.ID, max(inlineBytes, zstd.MaxPatched), r.packed.content[:0])
	if err != nil {
		return git.MustExist(e.ID, err)
	}
	if c.plan.clone.files == checkout.ConvertedFiles && bytes.Equal(r.packed.content, content) {
		return nil
	}
	return c.packObject(r, e, checkout.Blob, r.packed.content)
}

// packObject adds an object to what the run has packed, if it belongs into the pack.
func (c *checkoutLayout) packObject(r *run, e tree.Entry, kind checkout.Kind, content []byte) error {
	if !e.Packed {
		return nil
	}
	entries, object, err := c.encoder.Append(r.worker, r.packed.entries, kind, e.ID, content)
	r.packed.entries = entries
	if err == nil {
		r.packed.objects = append(r.packed.objects, object)
	}
	return err
}

// buffersLarge is false, since a run with large entries of the pack would take twice the memory.
func (c *checkoutLayout) buffersLarge() bool { return false }

func (c *checkoutLayout) stream(l *pipeline, e tree.Entry, size int64, write func(io.Writer) error) error {
	if c.indexesFiles() {
		if err := c.addToIndex(e, size, c.plan.clone.mtime); err != nil {
			return err
		}
		l.pending[0].packed.indexed++
	}
	if !e.Packed {
		return c.tarLayout.stream(l, e, size, write)
	}
	if e.Treatment.Changes() || e.Treatment.MayBePointer() {
		if err := c.tarLayout.stream(l, e, size, write); err != nil {
			return err
		}
		return c.packLarge(l, e)
	}
	return c.tarLayout.stream(l, e, size, func(w io.Writer) error {
		return c.packStream(l, e.ID, size, func(entry io.Writer) error { return write(io.MultiWriter(w, entry)) })
	})
}

// packLarge packs the stored content of a large file that has another one in the working tree.
func (c *checkoutLayout) packLarge(l *pipeline, e tree.Entry) error {
	e.Treatment = nil
	size, write, err := l.opener.Open(e)
	if err != nil {
		return err
	}
	return c.packStream(l, e.ID, size, write)
}

func (c *checkoutLayout) packStream(l *pipeline, id git.ID, size int64, write func(io.Writer) error) error {
	object, err := c.encoder.Stream(l.ctx, c.pack, checkout.Blob, id, size, write)
	if err == nil {
		c.pack.Add(object)
	}
	return err
}

// beforeWrite collects what a run has made.
func (c *checkoutLayout) beforeWrite(r *run) error {
	for ; r.packed.indexed < r.next && c.indexesFiles(); r.packed.indexed++ {
		at := r.packed.indexed
		if err := c.addToIndex(r.Entry(at), r.packed.size(at), c.plan.clone.mtime); err != nil {
			return err
		}
	}
	if _, err := c.pack.Write(r.packed.entries); err != nil {
		return err
	}
	c.pack.Add(r.packed.objects...)
	r.packed.entries, r.packed.objects = r.packed.entries[:0], r.packed.objects[:0]
	return nil
}

// indexesFiles reports whether the index has the files of the archive, as they come.
func (c *checkoutLayout) indexesFiles() bool { return c.index != nil && c.plan.clone.base == nil }

func (c *checkoutLayout) addToIndex(e tree.Entry, size int64, mtime uint32) error {
	return c.index.Add(e.Path[len(c.plan.options.Prefix):], e.Mode, e.ID, size, mtime)
}

// indexAll fills the index of a delta: the files that it leaves out are those of the base's checkout.
// Their sizes are computed as by [Plan.Measure].
func (c *checkoutLayout) indexAll(ctx context.Context) error {
	p := c.plan
	opener, leftOut := p.newOpener(ctx), p.changes.LeftOut()
	full := *p
	full.changes = nil
	return full.each(ctx, func(e tree.Entry) (err error) {
		mtime, size := p.clone.mtime, int64(0)
		if leftOut(e.Path) {
			mtime = p.clone.base.mtime
		}
		if e.Mode.IsRegular() || e.Mode.IsSymlink() {
			size, err = opener.Size(e)
		}
		if err != nil {
			return err
		}
		return c.addToIndex(e, size, mtime)
	})
}

// packLayout writes entries of a pack: trees, commits, and files that are not in the working tree.
type packLayout struct{ *checkoutLayout }

func (packLayout) opening(out []byte, _ *Plan) ([]byte, error) { return out, nil }

func (c packLayout) appendBare(r *run, out []byte, e tree.Entry, _ []byte) ([]byte, error) {
	kind, content, err := checkout.Read(c.plan.source, e, nil)
	if err != nil {
		return out, err
	}
	return c.appendObject(r, out, e.ID, kind, content)
}

func (c packLayout) appendObject(
	r *run, out []byte, id git.ID, kind checkout.Kind, content []byte,
) ([]byte, error) {
	out, object, err := c.encoder.Append(r.worker, out, kind, id, content)
	if err == nil {
		r.packed.objects = append(r.packed.objects, object)
	}
	return out, err
}

func (c packLayout) appendBlob(r *run, out []byte, e tree.Entry, limit int64) (_ []byte, err error) {
	if r.packed.content, err = r.Source.ReadBlob(e.ID, limit, r.packed.content[:0]); err != nil {
		return out, err
	}
	return c.appendObject(r, out, e.ID, checkout.Blob, r.packed.content)
}

func (c packLayout) appendContent(r *run, out []byte, e tree.Entry, content []byte) ([]byte, error) {
	return c.appendObject(r, out, e.ID, checkout.Blob, content)
}

func (c packLayout) stream(l *pipeline, e tree.Entry, size int64, write func(io.Writer) error) error {
	return c.packStream(l, e.ID, size, write)
}

func (c packLayout) beforeWrite(r *run) error {
	c.pack.Add(r.packed.objects...)
	r.packed.objects = r.packed.objects[:0]
	return nil
}

func (packLayout) closing(*pipeline) error { return nil }

// closing completes the pack, and writes .git.
func (c *checkoutLayout) closing(l *pipeline) error {
	p := c.plan
	objects := checkout.NewWalk(l.ctx, p.source, p.clone.history, p.clone.files, c.seen, p.options.Limits)
	from := &position{walk: objects, opener: l.opener}
	if err := p.newPipeline(l.ctx, c.pack, packLayout{c}, from).rest(); err != nil {
		return err
	}
	c.seen = nil // so that there is memory for the indexes
	if c.index != nil && p.clone.base != nil {
		if err := c.indexAll(l.ctx); err != nil {
			return err
		}
	}
	folder := checkout.Folder{
		Ref: p.clone.ref, Remote: p.clone.remote, Cut: p.clone.history.Cut,
		Pack: c.pack, Index: c.index,
	}
	if err := folder.Write(&checkout.Members{
		W: l, Format: tar.Format{MTime: uint64(p.clone.mtime) + 1}, Root: p.options.Prefix + ".git/", ID: p.head.ID,
		Store: c.store,
	}); err != nil {
		return err
	}
	return c.tarLayout.closing(l)
}

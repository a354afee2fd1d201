package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/archive/checkout"
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
	index     *checkout.Index
	seen      checkout.Seen
	store     func(bool) error // says whether the following bytes are compressed already
}

// writeCheckout writes the tar of a checkout.
func (p *Plan) writeCheckout(ctx context.Context, w io.Writer, store func(bool) error) error {
	from, err := p.start(ctx)
	if err != nil {
		return err
	}
	seen := make(checkout.Seen)
	from.walk = markingWalk{from.walk, p.clone.files, seen}
	c := &checkoutLayout{
		tarLayout: tarLayout{tar.Format{MTime: uint64(p.clone.mtime)}}, plan: p, encoder: p.engine.packs,
		pack: checkout.NewPack(p.engine.space), index: checkout.NewIndex(p.engine.space, p.head.Tree), seen: seen,
		store: store,
	}
	defer c.pack.Close()
	defer c.index.Close()
	err = p.newPipeline(ctx, w, c, from).whole()
	if errors.Is(err, spill.ErrFull) {
		err = fmt.Errorf("%w: %w", git.ErrBusy, err)
	}
	return err
}

// markingWalk marks the files that are packed.
type markingWalk struct {
	walk
	files checkout.Files
	seen  checkout.Seen
}

func (w markingWalk) Fill(b *tree.Batch) (more bool, err error) {
	more, err = w.walk.Fill(b)
	w.seen.Mark(b, w.files)
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
	if e.Packed {
		stored, err := r.Source.ReadBlob(e.ID, inlineBytes, r.packed.content[:0])
		if err != nil {
			return out, tree.Damaged(err)
		}
		r.packed.content = stored
		if c.plan.clone.files == checkout.AllFiles || !bytes.Equal(stored, content) {
			if err := c.packObject(r, e, checkout.Blob, stored); err != nil {
				return out, err
			}
		}
	}
	return c.tarLayout.appendContent(r, out, e, content)
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
	if err := c.indexEntry(e, size); err != nil {
		return err
	}
	l.pending[0].packed.indexed++
	if !e.Packed {
		return c.tarLayout.stream(l, e, size, write)
	}
	if e.Treatment.Changes() || e.Treatment.MayBePointer() {
		return errors.Join(c.tarLayout.stream(l, e, size, write), c.packStored(l, e))
	}
	return c.tarLayout.stream(l, e, size, func(w io.Writer) error {
		return c.packStream(l, e.ID, size, func(entry io.Writer) error { return write(io.MultiWriter(w, entry)) })
	})
}

// packStored packs the stored content of a large file that has another one in the working tree.
func (c *checkoutLayout) packStored(l *pipeline, e tree.Entry) error {
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
	for ; r.packed.indexed < r.next; r.packed.indexed++ {
		if err := c.indexEntry(r.Entry(r.packed.indexed), r.packed.size(r.packed.indexed)); err != nil {
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

func (c *checkoutLayout) indexEntry(e tree.Entry, size int64) error {
	if e.Treatment.IsGenerated() {
		return nil
	}
	return c.index.Add(e.Path[len(c.plan.options.Prefix):], e.Mode, e.ID, size, c.plan.clone.mtime)
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

// closing completes the pack, and writes .git. Its last member is the index, so that a truncated
// archive never looks complete.
func (c *checkoutLayout) closing(l *pipeline) error {
	p := c.plan
	objects := checkout.NewWalk(l.ctx, p.source, p.clone.history, p.clone.files, c.seen, p.options.Limits)
	from := &position{walk: objects, opener: l.opener}
	if err := p.newPipeline(l.ctx, c.pack, packLayout{c}, from).rest(); err != nil {
		return err
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

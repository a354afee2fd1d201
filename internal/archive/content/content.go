package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/repomcp/repomcp/internal/archive/convert"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/git/subst"
)

// maxSubstituteBytes bounds a file with export-subst, which is held in memory: version files have a
// few hundred bytes.
const maxSubstituteBytes = 32 << 20

// Opener opens content that a worker cannot simply copy. It is used by one goroutine, in archive
// order.
type Opener struct {
	ctx context.Context
	scope
	limits   tree.Limits
	module   *tree.Module // the module of scope
	scopes   map[*tree.Module]scope
	stored   []byte
	expanded []byte
}

// scope holds what differs between the archive's repositories.
type scope struct {
	source    tree.Source
	formatter *pretty.Formatter // nil: no commit for $Format:…$
}

func newScope(source tree.Source, commit git.ID, known *pretty.Descriptions) scope {
	if commit.IsZero() {
		return scope{source: source}
	}
	return scope{source, pretty.New(source, commit, time.Now).Sharing(known)}
}

// NewOpener returns an Opener for an archive of a commit, or of only a tree with the zero id, and
// its submodules. known shares the commit's descriptions with others.
func NewOpener(
	ctx context.Context, source tree.Source, commit git.ID, limits tree.Limits, known *pretty.Descriptions,
) *Opener {
	return &Opener{
		ctx: ctx, scope: newScope(source, commit, known), limits: limits, scopes: make(map[*tree.Module]scope),
	}
}

// enter switches to the repository of an entry. The first %(describe) of each submodule is
// expanded, as in an archive of its own.
func (o *Opener) enter(m *tree.Module) {
	if o.module == m {
		return
	}
	o.scopes[o.module] = o.scope
	next, ok := o.scopes[m]
	if !ok {
		next = newScope(m.Source, m.Commit.ID, &m.Descriptions)
	}
	o.module, o.scope = m, next
}

// Open returns the size of a file's content and a function that writes it. A large file is
// streamed; a converted one is then read several times.
func (o *Opener) Open(e tree.Entry) (size int64, write func(io.Writer) error, err error) {
	o.enter(e.Module)
	if e.Treatment.InOrder() {
		return o.substituted(e)
	}
	if e.Treatment != nil && e.Treatment.Generated != nil {
		size, write = atHand(e.Treatment.Generated)
		return size, write, nil
	}
	if e.Treatment.MayBePointer() {
		if size, write, err = o.pointed(e); write != nil || err != nil {
			return size, write, err
		}
	}
	size, err = o.source.Size(e.ID)
	if err != nil {
		return 0, nil, git.MustExist(e.ID, err)
	}
	if size > o.limits.BlobBytes {
		return 0, nil, o.limits.BlobExceeded()
	}
	if !e.Treatment.Changes() || !e.Treatment.Conversion.Converts(size) {
		return o.flow(e.ID)
	}
	source := convert.Source{Open: func() (io.ReadCloser, error) { return o.blob(e.ID) }, Size: size}
	measured, err := e.Treatment.Conversion.Measure(o.ctx, source, e.ID.String())
	if err != nil {
		return 0, nil, err
	}
	return measured.Size(), measured.CopyTo, nil
}

// Size returns the length of a file's content as [Opener.Open] produces it, or of a link's target.
// For unchanged content it only reads the object's header, without verification.
func (o *Opener) Size(e tree.Entry) (int64, error) {
	if e.Treatment.Changes() || e.Treatment.MayBePointer() {
		size, _, err := o.Open(e)
		return size, err
	}
	o.enter(e.Module)
	size, err := o.source.Size(e.ID)
	switch {
	case err != nil:
		return 0, git.MustExist(e.ID, err)
	case e.Mode.IsRegular() && size > o.limits.BlobBytes:
		return 0, o.limits.BlobExceeded()
	case e.Mode.IsSymlink() && size > tree.MaxLinkBytes:
		return 0, tree.ErrLink
	}
	return size, nil
}

// DependsOnRefs reports whether the content of a file with export-subst may depend on more than the
// commit, and returns an error if the content cannot be produced.
func (o *Opener) DependsOnRefs(e tree.Entry) (bool, error) {
	_, _, err := o.Open(e)
	return o.formatter != nil && subst.DependsOnRefs(o.stored), err
}

func (o *Opener) substituted(e tree.Entry) (size int64, write func(io.Writer) error, err error) {
	found, err := o.load(e)
	if errors.Is(err, git.ErrTooLarge) {
		return 0, nil, fmt.Errorf(
			"%w: a file with export-subst of more than %d bytes", tree.ErrLimit, maxSubstituteBytes,
		)
	}
	if err != nil {
		return 0, nil, git.MustExist(e.ID, err)
	}
	source := o.stored
	if e.Treatment.Converts && !found {
		if source, err = e.Treatment.Conversion.Append(nil, source, e.ID.String()); err != nil {
			return 0, nil, err
		}
	}
	if o.formatter == nil {
		size, write = atHand(source)
		return size, write, nil
	}
	o.expanded, err = subst.Append(o.ctx, o.formatter, o.expanded[:0], source)
	if errors.As(err, new(*pretty.LimitError)) {
		return 0, nil, fmt.Errorf("%w: %w", tree.ErrLimit, err)
	}
	if err != nil {
		return 0, nil, err
	}
	size, write = atHand(o.expanded)
	return size, write, nil
}

func atHand(content []byte) (size int64, write func(io.Writer) error) {
	return int64(len(content)), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// load reads a file with export-subst, or its Git LFS object, into stored. An object is not
// converted, because git converts before it runs a filter.
func (o *Opener) load(e tree.Entry) (object bool, err error) {
	limit := min(maxSubstituteBytes, o.limits.BlobBytes)
	if e.Treatment.MayBePointer() {
		object, _, err := o.object(e)
		if err != nil {
			return false, err
		}
		if object != nil {
			o.stored, err = ReadObject(object, limit, o.stored[:0])
			return true, err
		}
	}
	o.stored, err = o.source.ReadBlob(e.ID, limit, o.stored[:0])
	return false, err
}

func (o *Opener) blob(id git.ID) (*git.Blob, error) {
	blob, err := o.source.Blob(o.ctx, id)
	return blob, git.MustExist(id, err)
}

// flow opens a file that is written unchanged. It opens the file once for its size, because the
// object's header may be wrong and the size is written first, and again for writing.
func (o *Opener) flow(id git.ID) (size int64, write func(io.Writer) error, err error) {
	blob, err := o.blob(id)
	if err != nil {
		return 0, nil, err
	}
	return blob.Size(), func(w io.Writer) error { return o.copy(id, w) }, blob.Close()
}

func (o *Opener) copy(id git.ID, w io.Writer) error {
	blob, err := o.blob(id)
	if err != nil {
		return err
	}
	_, err = blob.WriteTo(w)
	return errors.Join(err, blob.Close())
}

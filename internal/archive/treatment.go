package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/convert"
	"github.com/repomcp/repomcp/internal/archive/subst"
	"github.com/repomcp/repomcp/internal/pretty"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// attributesFile is where a folder says how its files are archived.
	attributesFile = ".gitattributes"
	// maxAttributesBytes bounds that file: its rules take up to fifty times as
	// much memory. Those of real trees have some kilobytes.
	maxAttributesBytes = 1 << 20
	// maxSubstituteBytes bounds a file with export-subst, which is held whole:
	// version files have a few hundred bytes.
	maxSubstituteBytes = 32 << 20
)

// hasAttributes reports whether a folder's entry says how files are archived.
// Like git 2.39 it takes the target of a link for the file's content.
func hasAttributes(e repos.TreeEntry) bool {
	return e.Name == attributesFile && (e.Mode.IsRegular() || e.Mode.IsSymlink())
}

// readAttributes reads such an entry. Like git, it takes one that is too large
// for an empty one.
func readAttributes(source Source, id repos.ID) ([]byte, error) {
	content, err := source.ReadBlob(id, maxAttributesBytes, nil)
	if !errors.Is(err, repos.ErrTooLarge) {
		return content, damaged(err)
	}
	if size, err := source.Size(id); err != nil || size >= attributes.MaxFile {
		return nil, damaged(err)
	}
	return nil, fmt.Errorf("%w: a .gitattributes of more than %d bytes", ErrLimit, maxAttributesBytes)
}

// pushAttributes makes the attributes of a folder count; path is its own, with
// a final slash. A nil stack means that none are applied.
func pushAttributes(stack *attributes.Stack, source Source, path []byte, entries []repos.TreeEntry) error {
	if stack == nil {
		return nil
	}
	var content []byte
	if e, ok := attributesOf(entries); ok {
		var err error
		if content, err = readAttributes(source, e.ID); err != nil {
			return err
		}
	}
	stack.Push(path, content)
	return nil
}

// attributesOf finds the entry with a folder's attributes.
func attributesOf(entries []repos.TreeEntry) (repos.TreeEntry, bool) {
	for _, e := range entries {
		if hasAttributes(e) {
			return e, true
		}
	}
	return repos.TreeEntry{}, false
}

// lookUpTreatment looks up what attributes say of an entry of the innermost folder.
func lookUpTreatment(stack *attributes.Stack, path []byte, mode repos.Mode, lfs bool) (t *treatment, ignored bool) {
	switch {
	case stack == nil && lfs && mode.IsRegular():
		return onlyPoints, false
	case stack == nil || stack.Quiet():
		return nil, false
	}
	found := stack.Lookup(path, mode.IsDir() || mode.IsGitlink())
	return treat(mode, found, lfs), found.ExportIgnore.IsSet()
}

// treatment is what attributes ask for a file besides copying it; nil is
// nothing, which is nearly always.
type treatment struct {
	conversion  convert.Conversion
	converts    bool
	substitutes bool
	lfs         bool // it may be a pointer of git-lfs, to be replaced
	diff        attributes.Value
	// generated is the content of a file that no tree has.
	generated []byte
}

// treat says what the attributes of an entry ask for. Only the content of
// regular files is changed; lfs says that pointers stand for their objects.
func treat(mode repos.Mode, a attributes.Attributes, lfs bool) *treatment {
	t := treatment{diff: a.Diff}
	if mode.IsRegular() {
		t.conversion, t.converts = convert.Decide(a)
		t.substitutes = a.ExportSubst.IsSet()
		t.lfs = lfs && a.Filter.State == attributes.Given && a.Filter.Text == filterLFS
	}
	if t.changes() || t.lfs {
		made := t // only this is allocated: most files have no treatment
		return &made
	}
	return marks[t.diff.State]
}

// marks are the treatments of files that are only marked for zip: a driver that
// is named says nothing there.
var marks = map[attributes.State]*treatment{
	attributes.Set:   {diff: attributes.Value{State: attributes.Set}},
	attributes.Unset: {diff: attributes.Value{State: attributes.Unset}},
}

// forWriter reports whether a file has to be made by the goroutine that writes the
// archive: %(describe) is expanded in the first file that asks for it only.
func (t *treatment) forWriter() bool { return t != nil && t.substitutes }

func (t *treatment) changes() bool {
	return t != nil && (t.converts || t.substitutes || t.generated != nil)
}

// content makes the content of files that are not simply copied by a worker.
// One goroutine uses it, in the order of the archive.
type content struct {
	ctx       context.Context
	source    Source
	limits    Limits
	formatter *pretty.Formatter // nil: there is no commit to speak of
	module    *module           // what source and formatter are of
	scopes    map[*module]contentScope
	raw       []byte
	made      []byte
}

func newContent(ctx context.Context, p *Plan) *content {
	c := &content{ctx: ctx, source: p.source, limits: p.options.Limits}
	if !p.head.Commit.IsZero() {
		c.formatter = pretty.New(p.source, p.head.Commit, time.Now).Sharing(p.descriptions)
	}
	return c
}

// open gives the size of a file's content and a function that writes it. A
// large file flows; what is converted is then read several times.
func (c *content) open(e entry) (size int64, write func(io.Writer) error, err error) {
	c.enter(e.module)
	if e.treatment.forWriter() {
		return c.substituted(e)
	}
	if e.treatment != nil && e.treatment.generated != nil {
		size, write = atHand(e.treatment.generated)
		return size, write, nil
	}
	if e.treatment.mayBePointer() {
		if size, write, err = c.pointed(e); write != nil || err != nil {
			return size, write, err
		}
	}
	size, err = c.source.Size(e.id)
	if err != nil {
		return 0, nil, damaged(err)
	}
	if size > c.limits.BlobBytes {
		return 0, nil, limitBlob(c.limits)
	}
	// git streams what is larger than core.bigFileThreshold as it is.
	if !e.treatment.changes() || size > convert.BigFileThreshold {
		return c.flow(e.id)
	}
	source := convert.Source{Open: func() (io.ReadCloser, error) { return c.blob(e.id) }, Size: size}
	measured, err := e.treatment.conversion.Measure(c.ctx, source, e.id.String())
	if err != nil {
		return 0, nil, err
	}
	return measured.Size(), func(w io.Writer) error { return measured.WriteTo(c.ctx, w) }, nil
}

func (c *content) substituted(e entry) (size int64, write func(io.Writer) error, err error) {
	found, err := c.load(e)
	if errors.Is(err, repos.ErrTooLarge) {
		return 0, nil, fmt.Errorf("%w: a file with export-subst of more than %d bytes", ErrLimit, maxSubstituteBytes)
	}
	if err != nil {
		return 0, nil, damaged(err)
	}
	source := c.raw
	if e.treatment.converts && !found {
		if source, err = e.treatment.conversion.Append(nil, source, e.id.String()); err != nil {
			return 0, nil, err
		}
	}
	if c.formatter == nil {
		size, write = atHand(source)
		return size, write, nil
	}
	if c.made, err = subst.Append(c.ctx, c.formatter, c.made[:0], source); errors.As(err, new(*pretty.LimitError)) {
		return 0, nil, fmt.Errorf("%w: %w", ErrLimit, err)
	}
	if err != nil {
		return 0, nil, err
	}
	size, write = atHand(c.made)
	return size, write, nil
}

func atHand(content []byte) (size int64, write func(io.Writer) error) {
	return int64(len(content)), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// load reads a file with export-subst, or the object of git-lfs that it stands
// for, into raw. An object is not converted, since git converts before it runs
// a filter.
func (c *content) load(e entry) (object bool, err error) {
	limit := min(maxSubstituteBytes, c.limits.BlobBytes)
	if e.treatment.mayBePointer() {
		object, err := c.object(e)
		if err != nil {
			return false, err
		}
		if object != nil {
			c.raw, err = readObject(object, limit, c.raw[:0])
			return true, err
		}
	}
	c.raw, err = c.source.ReadBlob(e.id, limit, c.raw[:0])
	return false, err
}

func (c *content) blob(id repos.ID) (io.ReadCloser, error) {
	blob, err := c.source.Blob(c.ctx, id)
	if err != nil {
		return nil, damaged(err)
	}
	return blob, nil
}

// flow is a file that is written as it is. It is opened for its size, since what
// stands in a header may be damaged and is written first, and once more to be
// written.
func (c *content) flow(id repos.ID) (size int64, write func(io.Writer) error, err error) {
	blob, err := c.source.Blob(c.ctx, id)
	if err != nil {
		return 0, nil, damaged(err)
	}
	return blob.Size(), func(w io.Writer) error { return c.copy(id, w) }, blob.Close()
}

func (c *content) copy(id repos.ID, w io.Writer) error {
	blob, err := c.source.Blob(c.ctx, id)
	if err != nil {
		return damaged(err)
	}
	_, err = blob.WriteTo(w)
	return errors.Join(err, blob.Close())
}

package history

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/binarypatch"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

const (
	// DefaultContext is git's default number of context lines.
	DefaultContext = 3
	// DefaultMaxPatchBytes bounds files that are compared by line, like git's core.bigFileThreshold
	// of 512 MiB.
	DefaultMaxPatchBytes = 32 << 20
	// MaxPatchLines bounds the lines of a file to compare: a comparison takes some 80 bytes of
	// memory per line.
	MaxPatchLines = 1_000_000
	// peekBytes is the size from which a file's beginning is read first, to detect binary files.
	peekBytes = 256 << 10
)

// PatchOptions define the form of patches.
type PatchOptions struct {
	// Context is the number of context lines. git's default is [DefaultContext]; 0 shows none.
	Context int
	// MaxBytes bounds files that are compared by line; 0 means [DefaultMaxPatchBytes].
	MaxBytes int64
	// Abbreviate abbreviates an id; nil means git's default.
	Abbreviate func(git.ID) (string, error)
	// Binary shows the contents of binary files, as git diff --binary does, but always whole: see
	// package binarypatch.
	Binary bool
}

// FileStat is the extent of a file's change.
type FileStat struct {
	Added, Deleted int // lines; 0 for a binary file
	// Binary reports that git shows no lines: one of the contents has a NUL near its beginning, or
	// the file is TooLarge.
	Binary bool
	// TooLarge reports that the file exceeds the limits of comparison.
	TooLarge bool
	// OldSize and NewSize are in bytes; 0 for a missing file, and for a pure rename or change of
	// mode.
	OldSize, NewSize int64
}

// Differ compares the contents of files. It holds one file at a time in memory, and is used by one
// goroutine.
type Differ struct {
	snapshot *git.Snapshot
	options  PatchOptions
	old, new []byte // scratch
	binary   binarypatch.Writer
}

// NewDiffer returns a Differ. The snapshot must stay open.
func NewDiffer(snapshot *git.Snapshot, o PatchOptions) *Differ {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxPatchBytes)
	o.Context = max(o.Context, 0)
	if o.Abbreviate == nil {
		o.Abbreviate = func(id git.ID) (string, error) { return snapshot.Abbreviate(id, automatic) }
	}
	return &Differ{snapshot: snapshot, options: o}
}

// Stat counts a file's changed lines, as git diff --numstat does. Errors are [git.ErrCorrupt],
// those of the disk, or the context's.
func (d *Differ) Stat(ctx context.Context, c FileChange) (FileStat, error) {
	stat, _, err := d.compare(ctx, c)
	return stat, err
}

// Patch writes a file's change in the form of git diff, and returns its extent. A file that is too
// large is shown as a binary one. Errors are those of Stat and the writer's.
func (d *Differ) Patch(ctx context.Context, w io.Writer, c FileChange) (FileStat, error) {
	out := bufio.NewWriter(w)
	stat, changes, err := d.compare(ctx, c)
	if err != nil {
		return stat, err
	}
	if c.Status != TypeChanged {
		if err := d.write(ctx, out, c, stat, changes); err != nil {
			return stat, err
		}
		return stat, out.Flush()
	}
	// A change of type is shown as a deletion and an addition.
	deletion, addition := c, c
	deletion.Status, deletion.NewMode, deletion.NewID = Deleted, 0, git.ID{}
	addition.Status, addition.OldMode, addition.OldID = Added, 0, git.ID{}
	for _, half := range []FileChange{deletion, addition} {
		part, changes, err := d.compare(ctx, half)
		if err != nil {
			return stat, err
		}
		if err := d.write(ctx, out, half, part, changes); err != nil {
			return stat, err
		}
	}
	return stat, out.Flush()
}

// compare reads both contents into d.old and d.new.
func (d *Differ) compare(ctx context.Context, c FileChange) (stat FileStat, changes []diff.Change, err error) {
	if err := ctx.Err(); err != nil {
		return stat, nil, err
	}
	if c.OldID == c.NewID {
		_, shape, err := d.content(ctx, c.NewMode, c.NewID, &d.new, true)
		return FileStat{Binary: shape != lines, TooLarge: shape == large}, nil, err
	}
	var before, after shape
	if stat.OldSize, before, err = d.content(ctx, c.OldMode, c.OldID, &d.old, false); err != nil {
		return stat, nil, err
	}
	if stat.NewSize, after, err = d.content(ctx, c.NewMode, c.NewID, &d.new, before != lines); err != nil {
		return stat, nil, err
	}
	if before == lines && after == lines {
		changes, err = diff.Lines(ctx, d.old, d.new, diff.Options{TrimTail: d.options.Context == 0})
		stat.Added, stat.Deleted = diff.Count(changes)
		return stat, changes, err
	}
	stat.Binary, stat.TooLarge = true, before == large || after == large
	return stat, nil, nil
}

// shape is the form in which a content can be shown.
type shape int

const (
	lines  shape = iota
	opaque       // binary
	large        // not read
)

// content reads one side of a change into buf, unless it has no lines or the caller only needs the
// shape. A missing file is empty; a submodule is a line that names its commit.
func (d *Differ) content(
	ctx context.Context, mode git.Mode, id git.ID, buf *[]byte, shapeOnly bool,
) (size int64, _ shape, err error) {
	*buf = (*buf)[:0]
	switch {
	case mode == 0:
		return 0, lines, nil
	case mode.IsGitlink():
		*buf = appendSubmodule(*buf, id)
		return int64(len(*buf)), lines, nil
	}
	if size, err = d.snapshot.Size(id); err != nil {
		return 0, lines, git.MustExist(id, err)
	}
	if size > d.options.MaxBytes {
		return size, large, nil
	}
	if shapeOnly || size > peekBytes {
		if shape, err := d.peek(ctx, id, buf); err != nil || shapeOnly || shape != lines {
			return size, shape, err
		}
	}
	*buf, err = d.snapshot.ReadBlob(id, d.options.MaxBytes, (*buf)[:0])
	switch {
	case err != nil:
		return size, lines, git.MustExist(id, err)
	case diff.Binary(*buf):
		return size, opaque, nil
	case diff.CountLines(*buf) > MaxPatchLines:
		return size, large, nil
	default:
		return size, lines, nil
	}
}

// appendSubmodule appends git's line for a submodule.
func appendSubmodule(buf []byte, id git.ID) []byte {
	return fmt.Appendf(buf, "Subproject commit %s\n", id)
}

// peek reads the beginning of a file.
func (d *Differ) peek(ctx context.Context, id git.ID, buf *[]byte) (_ shape, err error) {
	blob, err := d.snapshot.Blob(ctx, id)
	if err != nil {
		return lines, git.MustExist(id, err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	*buf = append((*buf)[:0], make([]byte, diff.BinaryBytes)...)
	n, err := io.ReadFull(blob, *buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return lines, err
	}
	if diff.Binary((*buf)[:n]) {
		return opaque, nil
	}
	return lines, nil
}

// write writes the header and the hunks: git-diff(1), "Generating patch text with
// -p".
func (d *Differ) write(
	ctx context.Context, out *bufio.Writer, c FileChange, stat FileStat, changes []diff.Change,
) error {
	whole := d.options.Binary && stat.Binary
	if err := d.writeHeader(out, c, whole); err != nil {
		return err
	}
	before, after := "/dev/null", "/dev/null"
	if c.OldMode != 0 {
		before = string(quoting.AppendPath(nil, "a/", c.OldPath))
	}
	if c.NewMode != 0 {
		after = string(quoting.AppendPath(nil, "b/", c.NewPath))
	}
	switch {
	case c.OldID == c.NewID:
		return nil
	case whole:
		return d.writeBinary(ctx, out, c)
	case stat.Binary:
		_, err := fmt.Fprintf(out, "Binary files %s and %s differ\n", before, after)
		return err
	case len(changes) == 0:
		return nil
	}
	_, err := fmt.Fprintf(out, "--- %s%s\n+++ %s%s\n", before, tabAfter(before), after, tabAfter(after))
	if err != nil {
		return err
	}
	return diff.Unified(out, d.old, d.new, changes, d.options.Context)
}

func (d *Differ) writeBinary(ctx context.Context, out io.Writer, c FileChange) error {
	before, err := d.binaryContent(ctx, c.OldMode, c.OldID)
	if err != nil {
		return err
	}
	after, err := d.binaryContent(ctx, c.NewMode, c.NewID)
	if err != nil {
		return err
	}
	return d.binary.Write(out, before, after)
}

// binaryContent returns one side of a change, which is read while it is written. A missing file is empty.
func (d *Differ) binaryContent(ctx context.Context, mode git.Mode, id git.ID) (c binarypatch.Content, err error) {
	if mode == 0 {
		return c, nil
	}
	c.Size, err = d.snapshot.Size(id)
	c.Open = func() (io.ReadCloser, error) {
		blob, err := d.snapshot.Blob(ctx, id)
		return blob, git.MustExist(id, err)
	}
	return c, git.MustExist(id, err)
}

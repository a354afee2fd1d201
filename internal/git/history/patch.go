package history

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

const (
	// DefaultContext is how many unchanged lines git shows around a change.
	DefaultContext = 3
	// DefaultMaxPatchBytes is the largest file whose lines are compared, as
	// git's core.bigFileThreshold is with 512 MiB.
	DefaultMaxPatchBytes = 32 << 20
	// MaxPatchLines is the most lines that a file may have to be compared: a
	// comparison holds some 80 bytes for each in memory.
	MaxPatchLines = 1_000_000
	// peekBytes is from which size on the beginning of a file is looked at
	// before the whole is read: it may be binary.
	peekBytes = 256 << 10
)

// PatchOptions say how patches are written.
type PatchOptions struct {
	// Context is how many unchanged lines are shown around a change. git shows
	// [DefaultContext]; 0 shows none.
	Context int
	// MaxBytes is the largest file whose lines are compared; 0 means
	// [DefaultMaxPatchBytes].
	MaxBytes int64
}

// FileStat says how much of a file changed.
type FileStat struct {
	Added, Deleted int // lines; none of a binary file
	// Binary says that git shows no lines: there is a NUL near the beginning of
	// one of the two contents, or TooLarge.
	Binary bool
	// TooLarge says that the file is above the limits of what is compared.
	TooLarge bool
	// OldSize and NewSize are in bytes; 0 for what is not there, and of files
	// that were renamed or changed their mode alone.
	OldSize, NewSize int64
}

// Differ compares the contents of files. It reads one file at a time and holds
// it in memory; one goroutine may use it.
type Differ struct {
	snapshot *git.Snapshot
	options  PatchOptions
	old, new []byte // scratch
}

// NewDiffer makes a Differ. The snapshot must stay open.
func NewDiffer(snapshot *git.Snapshot, o PatchOptions) *Differ {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxPatchBytes)
	o.Context = max(o.Context, 0)
	return &Differ{snapshot: snapshot, options: o}
}

// Stat returns how much of a file changed, as git diff --numstat does. Errors are
// [git.ErrCorrupt], those of the disk, or the context's.
func (d *Differ) Stat(ctx context.Context, c FileChange) (FileStat, error) {
	stat, _, err := d.compare(ctx, c)
	return stat, err
}

// Patch writes what became of a file in the form of git diff, and returns how
// much changed. Of a file that is too large it says only that it differs, as if
// it were binary. Errors are those of Stat and the writer's.
func (d *Differ) Patch(ctx context.Context, w io.Writer, c FileChange) (FileStat, error) {
	out := bufio.NewWriter(w)
	stat, changes, err := d.compare(ctx, c)
	if err != nil {
		return stat, err
	}
	if c.Status != TypeChanged {
		if err := d.write(out, c, stat, changes); err != nil {
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
		if err := d.write(out, half, part, changes); err != nil {
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

// shape says how a content can be shown.
type shape int

const (
	lines  shape = iota
	opaque       // binary
	large        // not looked at
)

// content reads one side of a change into buf, if it has lines and the caller
// wants more than to know that. Nothing is an empty text; a submodule is a line
// that names its commit.
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
		return 0, lines, damageIfMissing(id, err)
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
		return size, lines, damageIfMissing(id, err)
	case diff.Binary(*buf):
		return size, opaque, nil
	case diff.CountLines(*buf) > MaxPatchLines:
		return size, large, nil
	default:
		return size, lines, nil
	}
}

// appendSubmodule appends what git shows instead of a content.
func appendSubmodule(buf []byte, id git.ID) []byte {
	return fmt.Appendf(buf, "Subproject commit %s\n", id)
}

// peek looks at the beginning of a file.
func (d *Differ) peek(ctx context.Context, id git.ID, buf *[]byte) (_ shape, err error) {
	blob, err := d.snapshot.Blob(ctx, id)
	if err != nil {
		return lines, damageIfMissing(id, err)
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
func (d *Differ) write(out *bufio.Writer, c FileChange, stat FileStat, changes []diff.Change) error {
	if err := d.writeHeader(out, c); err != nil {
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
	case stat.Binary && c.OldID != c.NewID:
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

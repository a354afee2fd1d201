package tools

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/patch"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
)

// Values of the argument detail, named as in github-mcp-server.
const (
	detailNone, detailStats, detailPatch = "none", "stats", "full_patch"

	// maxComparedBytes bounds the file contents that one call compares: seconds of work.
	maxComparedBytes = 512 << 20
	// minPatchBytes is shown of a patch even when names and message leave no room, so that each
	// call makes progress.
	minPatchBytes = 4 << 10
	// maxContextLines exceeds what a result can hold.
	maxContextLines = 10_000
)

// changeView holds the arguments of tools that show changes.
type changeView struct {
	detail    string
	paths     []string
	context   int
	patchLine int
	paging

	compare history.CompareOptions // for paths
}

func (a *changeView) define(p *arguments.List, detail string) {
	a.detail, a.context, a.patchLine = detail, history.DefaultContext, 1
	p.Choice(&a.detail, "detail", "none: no files; stats: files with counts of changed lines; full_patch: the lines.",
		detailNone, detailStats, detailPatch).Flags(detailPatch, detailStats)
	p.Texts(&a.paths, "paths", "Only these files and folders.")
	p.Number(&a.context, "context_lines", "Of a patch: unchanged lines around each change.", 0, maxContextLines)
	p.Number(&a.patchLine, "patch_line", "Of a patch: line to continue at.", 1, math.MaxInt32)
	a.paging.define(p, 100, 300)
}

func (a *changeView) check() error {
	for _, argument := range a.paths {
		path, err := treePath(argument)
		if err != nil {
			return err
		}
		if path == "" {
			a.compare.Paths = nil // the root selects everything
			return nil
		}
		a.compare.Paths = append(a.compare.Paths, path)
	}
	return nil
}

// changes holds the files of a comparison.
type changes struct {
	*visit
	changeView
	history.Comparison
	compared     int64  // bytes
	base, commit string // base is "" for the first commit of a history
}

// show appends the files to the result's content.
func (c *changes) show(ctx context.Context) error {
	if c.RenamesLimited {
		c.note("There are too many files to find all that were renamed: some are shown as deleted and added.")
	}
	switch {
	case len(c.Files) == 0 && len(c.paths) > 0:
		c.note("Nothing differs below these paths.")
		return nil
	case len(c.Files) == 0:
		c.note("No file differs.")
		return nil
	case c.detail == detailPatch:
		return c.patch(ctx)
	default:
		return c.stats(ctx)
	}
}

// stats lists a page of files.
func (c *changes) stats(ctx context.Context) error {
	w, err := c.window(len(c.Files), nil)
	if err != nil {
		return err
	}
	// The number of context lines can change how lines are matched, as in git: the statistics are
	// those of the patch with the same arguments.
	differ := history.NewDiffer(c.snapshot, history.PatchOptions{Context: c.context})
	added, deleted := 0, 0
	var items []item[string]
	for _, file := range c.Files[w.start:w.end] {
		stat, err := differ.Stat(ctx, file)
		if err != nil {
			return err
		}
		added, deleted = added+stat.Added, deleted+stat.Deleted
		line := statLine(file, stat)
		items = append(items, item[string]{line, line})
		if c.compared += stat.OldSize + stat.NewSize; c.compared > maxComparedBytes {
			break
		}
	}
	shown, _ := list(c.result, w, items)
	if len(items) == len(c.Files) {
		c.note("%s: %s added, %d deleted.", countDiffering(len(c.Files)), plural(added, "line"), deleted)
	} else {
		c.note("%s.", countDiffering(len(c.Files)))
	}
	if w.start == 0 && len(shown) < len(c.Files) {
		c.pointFiles(ctx)
	}
	return nil
}

func countDiffering(count int) string {
	if count == 1 {
		return "1 file differs"
	}
	return fmt.Sprintf("%d files differ", count)
}

// statLine returns the line of a file, with git's status letter.
func statLine(file history.FileChange, stat history.FileStat) string {
	letter, names := file.Status.String(), quote(file.NewPath)
	if file.Status == history.Renamed || file.Status == history.Copied {
		letter, names = fmt.Sprintf("%s%d", letter, file.Score), quote(file.OldPath)+" => "+names
	}
	switch {
	case stat.TooLarge:
		return fmt.Sprintf("%s too-large %s", letter, names)
	case stat.Binary:
		return fmt.Sprintf("%s binary %s", letter, names)
	default:
		return fmt.Sprintf("%s +%d -%d %s", letter, stat.Added, stat.Deleted, names)
	}
}

// pointFiles points to an archive of the changed files, because statistics have no download.
func (c *changes) pointFiles(ctx context.Context) {
	c.pointArchive(ctx, c.result, c.name(), c.commit, c.base, "All files that differ, whole, are in the archive %s.")
}

// pointPatch points to the patch of all files, which has git's number of context lines. A patch of
// some files has no download.
func (c *changes) pointPatch(ctx context.Context) {
	if len(c.paths) > 0 {
		c.pointFiles(ctx)
		return
	}
	whole := resources.Resource{
		Repository: c.name(), Kind: resources.Commit, Revision: c.commit, Patch: resources.Patch{Form: patch.Diff},
	}
	if c.base != "" {
		whole.Kind, whole.Patch.Base, whole.Patch.Dots = resources.Compare, c.base, patch.Two
	}
	if h, err := c.Resources.Locate(ctx, whole); err == nil {
		c.noteDownload(h, "The whole patch is %s.", h.URI)
	}
}

// patch shows a page of lines of the patch of all files.
func (c *changes) patch(ctx context.Context) error {
	if c.content != "" {
		c.content += "\n"
	}
	w := excerpt.NewWriter(c.patchLine, max(maxListedBytes-len(c.content), minPatchBytes))
	differ := history.NewDiffer(c.snapshot, history.PatchOptions{Context: c.context})
	at := 0
	var err error
	for ; at < len(c.Files) && err == nil; at++ {
		var stat history.FileStat
		stat, err = differ.Patch(ctx, w, c.Files[at])
		if c.compared += stat.OldSize + stat.NewSize; err == nil && c.compared > maxComparedBytes &&
			at+1 < len(c.Files) {
			err = excerpt.ErrEnough
		}
	}
	if err != nil && !errors.Is(err, excerpt.ErrEnough) {
		return err
	}
	x := w.Excerpt(err == nil)
	if err == nil && c.patchLine > max(w.Lines(), 1) {
		return say("patch_line is %d, but the patch has %s.", c.patchLine, plural(w.Lines(), "line"))
	}
	c.content += x.Text
	c.note("%s.", countDiffering(len(c.Files)))
	if x.Replaced {
		c.note("It is not all UTF-8: what is not is shown as U+FFFD.")
	}
	where := fmt.Sprintf("in file %d of %d, %s", at, len(c.Files), quote(clip(c.Files[at-1].NewPath)))
	if x.Cut {
		c.next = fmt.Sprintf("patch_line=%d", x.Last+1)
	}
	switch {
	case x.Within > 0:
		c.note("Truncated in line %d of the patch, which is long, %s. Go on with %s, or name other files with paths.",
			x.Last, where, c.next)
	case x.Cut:
		c.note("Truncated after line %d of the patch, %s. Go on with %s, or name files with paths.", x.Last, where,
			c.next)
	case err != nil:
		c.next = "paths that come after this file"
		c.note("Stopped %s: so much is not compared at once. Name files that come after it with paths.", where)
	case c.patchLine > 1:
		c.note("Lines %d to %d of the patch, its last.", x.First, x.Last)
	}
	if err != nil {
		c.pointPatch(ctx)
	}
	return nil
}

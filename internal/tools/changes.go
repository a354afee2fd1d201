package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// How much of a change is shown; the names are github-mcp-server's.
const (
	detailNone, detailStats, detailPatch = "none", "stats", "full_patch"

	// maxComparedBytes bounds the contents that one call compares: seconds of
	// work.
	maxComparedBytes = 512 << 20
	// minPatchBytes is what is shown of a patch at least, even when names and
	// message leave no room: some lines, so that each call gets further.
	minPatchBytes = 4 << 10
	// maxContextLines is more than a result can hold.
	maxContextLines = 10_000
)

// errEnough ends a patch of which no more is needed, or can be had.
var errEnough = errors.New("enough of the patch")

// changeView is what tools that show changes take.
type changeView struct {
	detail    string
	paths     []string
	context   int
	patchLine int
	paging
}

func (a *changeView) define(p *parameters, detail string) {
	a.detail, a.context, a.patchLine = detail, history.DefaultContext, 1
	p.choice(&a.detail, "detail", "none: no files; stats: files with counts of changed lines; full_patch: the lines.",
		detailNone, detailStats, detailPatch)
	p.texts(&a.paths, "paths", "Only these files and folders.")
	p.count(&a.context, "context_lines", "Of a patch: unchanged lines around each change.", maxContextLines)
	p.number(&a.patchLine, "patch_line", "Of a patch: line to continue at.", math.MaxInt32)
	a.paging.define(p, 100, 300)
}

// options are those of the comparison.
func (a changeView) options() (o history.CompareOptions, err error) {
	for _, given := range a.paths {
		path, err := treePath(given)
		if err != nil {
			return o, err
		}
		if path == "" {
			return history.CompareOptions{}, nil // the root is everything
		}
		o.Paths = append(o.Paths, path)
	}
	return o, nil
}

// changes are files to be shown.
type changes struct {
	changeView
	snapshot  *repos.Snapshot
	files     []history.FileChange
	limited   bool // renames were not all looked for
	compared  int64
	resources *resources.Service
	from, to  repos.ID // from is zero when there is nothing to be different from
}

func (s *service) newChanges(a changeView, snapshot *repos.Snapshot, c history.Comparison) *changes {
	return &changes{changeView: a, snapshot: snapshot, files: c.Files, limited: c.RenamesLimited, resources: s.resources}
}

// show adds them to a result, whose content they follow.
func (c *changes) show(ctx context.Context, r *result) error {
	if c.limited {
		r.note("There are too many files to find all that were renamed: some are shown as deleted and added.")
	}
	switch {
	case len(c.files) == 0 && len(c.paths) > 0:
		r.note("Nothing differs below these paths.")
		return nil
	case len(c.files) == 0:
		r.note("No file differs.")
		return nil
	case c.detail == detailPatch:
		return c.patch(ctx, r)
	default:
		return c.stats(ctx, r)
	}
}

// stats lists a page of files.
func (c *changes) stats(ctx context.Context, r *result) error {
	start, end, err := c.window(len(c.files))
	if err != nil {
		return err
	}
	// Without context lines may be matched otherwise, as in git: numbers are those
	// of the patch that the same arguments give.
	differ := history.NewDiffer(c.snapshot, history.PatchOptions{Context: c.context})
	added, deleted := 0, 0
	var items []item[string]
	for _, file := range c.files[start:end] {
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
	shown, _ := list(r, c.paging, len(c.files), items)
	if len(items) == len(c.files) {
		r.note("%s: %s added, %d deleted.", differing(len(c.files)), many(added, "line"), deleted)
	} else {
		r.note("%s.", differing(len(c.files)))
	}
	if c.page == 1 && len(shown) < len(c.files) {
		c.pointFiles(ctx, r)
	}
	return nil
}

func differing(count int) string {
	if count == 1 {
		return "1 file differs"
	}
	return fmt.Sprintf("%d files differ", count)
}

// statLine is a file with git's letter for what became of it.
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

// patch shows lines of the patch of all files.
func (c *changes) patch(ctx context.Context, r *result) error {
	if r.content != "" {
		r.content += "\n"
	}
	w := &patchWriter{collector: collector{
		start: c.patchLine, limit: max(maxListedBytes-len(r.content), minPatchBytes),
	}}
	differ := history.NewDiffer(c.snapshot, history.PatchOptions{Context: c.context})
	at := 0
	var err error
	for ; at < len(c.files) && err == nil; at++ {
		var stat history.FileStat
		stat, err = differ.Patch(ctx, w, c.files[at])
		if c.compared += stat.OldSize + stat.NewSize; err == nil && c.compared > maxComparedBytes &&
			at+1 < len(c.files) {
			err = errEnough
		}
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	x := w.excerpt(err == nil)
	if err == nil && c.patchLine > max(w.lines, 1) {
		return say("patch_line is %d, but the patch has %s.", c.patchLine, many(w.lines, "line"))
	}
	r.content += x.text
	r.hasContent = r.content != ""
	r.note("%s.", differing(len(c.files)))
	if x.replaced {
		r.note("It is not all UTF-8: what is not is shown as U+FFFD.")
	}
	where := fmt.Sprintf("in file %d of %d, %s", at, len(c.files), quote(clip(c.files[at-1].NewPath)))
	switch {
	case x.within > 0:
		r.next = fmt.Sprintf("patch_line=%d", x.last+1)
		r.note("Truncated in line %d of the patch, which is long, %s. Go on with %s, or name other files with paths.",
			x.last, where, r.next)
	case x.cut:
		r.next = fmt.Sprintf("patch_line=%d", x.last+1)
		r.note("Truncated after line %d of the patch, %s. Go on with %s, or name files with paths.", x.last, where,
			r.next)
	case err != nil:
		r.next = "paths that come after this file"
		r.note("Stopped %s: so much is not compared at once. Name files that come after it with paths.", where)
	case c.patchLine > 1:
		r.note("Lines %d to %d of the patch, its last.", x.first, x.last)
	}
	if err != nil {
		c.pointFiles(ctx, r)
	}
	return nil
}

// patchWriter takes lines out of a patch.
type patchWriter struct {
	collector
	written int
}

func (w *patchWriter) Write(p []byte) (int, error) {
	w.written += len(p)
	for rest := p; len(rest) > 0 && !w.full; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		w.add(rest[:end])
		rest = rest[end:]
	}
	if w.full || w.written > maxReadBytes {
		return 0, errEnough
	}
	return len(p), nil
}

// excerpt is what was taken. A patch is text, whatever the files are written in.
func (w *patchWriter) excerpt(ended bool) excerpt {
	if !ended && !w.full {
		w.inside = false // the part of a line is none
	}
	x := w.cut(ended)
	if !utf8.ValidString(x.text) {
		x.text, x.replaced = strings.ToValidUTF8(x.text, string(utf8.RuneError)), true
	}
	return x
}

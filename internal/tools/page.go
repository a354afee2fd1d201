package tools

import (
	"math"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/cursor"
)

// pageArguments are the arguments of a tool whose result is a list.
type pageArguments struct {
	page, perPage, offset int
	cursor                string
}

// define adds the arguments, whose names and results need no description.
func (a *pageArguments) define(p *arguments.List, preset, most int) {
	a.defineSize(p, preset, most)
	p.Number(&a.offset, "offset", "Items to leave out before the page.", 0, math.MaxInt32).Hidden = true
}

// defineSize adds the arguments but offset. Agents know page and offset from other servers. They
// are not in the schema, because a cursor also continues a page that was cut for its size.
func (a *pageArguments) defineSize(p *arguments.List, preset, most int) {
	a.page, a.perPage = 1, preset
	p.Number(&a.page, "page", "Counted from 1, each of perPage items.", 1, math.MaxInt32).Hidden = true
	p.Number(&a.perPage, "perPage", "", 1, most)
	p.Text(&a.cursor, "cursor", "")
}

// skipped returns the number of items before the page, if there is no cursor.
func (a pageArguments) skipped() int { return (a.page-1)*a.perPage + a.offset }

// noteSkipped notes what a client that counts pages may miss.
func (a pageArguments) noteSkipped(r *result) {
	if a.cursor == "" && a.page > 1 {
		r.note("Page %d begins after %d items, also if the page before was cut for its size; its cursor leaves "+
			"nothing out.", a.page, (a.page-1)*a.perPage)
	}
}

// paging are the arguments of a tool that lists all items of something, together with the place
// where the page begins.
type paging struct {
	pageArguments
	at cursor.Cursor
}

// skipped returns the number of items before the page.
func (a paging) skipped() int {
	if a.cursor != "" {
		return a.at.Done
	}
	return a.pageArguments.skipped()
}

// isFirst reports whether nothing comes before the page.
func (a paging) isFirst() bool { return a.skipped() == 0 }

// readCursor decodes the cursor of a call.
func (a *paging) readCursor(tool string, given map[string]any) error {
	digest := cursor.Digest(tool, given)
	if a.cursor != "" {
		at, ok := cursor.Parse(a.cursor)
		if !ok || at.Digest != digest {
			return say("The cursor is not one of this list. Give the arguments of the call that gave it, or begin " +
				"again without it.")
		}
		a.at = at
	}
	a.at.Digest = digest
	return nil
}

// pinned returns the commit of the cursor that takes the place of a revision.
func (a paging) pinned(nth int, of revision) revision {
	if nth < len(a.at.Pins) {
		of.ref, of.sha = "", a.at.Pins[nth].String()
	}
	return of
}

// pin records the commits that the list is of.
func (a *paging) pin(commits ...git.ID) { a.at.Pins = commits }

// pages is embedded in the data of tools with pages.
type pages struct {
	Total      int    `json:"total" jsonschema:"Items on all pages"`
	NextCursor string `json:"nextCursor,omitempty" jsonschema:"Argument cursor to go on with; absent on the last page"`
}

// window is the part of a list that a page may show.
type window struct {
	paging
	start, end, total int
	// key returns what identifies an item of the list; nil if the list never changes.
	key func(i int) string
}

// window returns the page's part of a list with total items.
func (a paging) window(total int, key func(i int) string) (window, error) {
	w := window{paging: a, start: a.skipped(), total: total, key: key}
	if w.cursor == "" && w.start > max(total-1, 0) && a.offset > 0 {
		return w, say("offset leaves out %d items, and the list has %d.", a.offset, total)
	}
	if w.cursor == "" && w.start > max(total-1, 0) {
		return w, say("There is no page %d: with perPage=%d the last is %d.", a.page, a.perPage,
			max((total+a.perPage-1)/a.perPage, 1))
	}
	if w.cursor != "" {
		if err := w.find(); err != nil {
			return w, err
		}
	}
	w.end = min(w.start+a.perPage, total)
	return w, nil
}

// find moves the start behind the last item of the page before, which may have moved.
func (w *window) find() error {
	follows := func(i int) bool {
		return w.key == nil || 0 < i && i <= w.total && cursor.Check(w.key(i-1)) == w.at.Last
	}
	if w.start <= w.total && follows(w.start) {
		return nil
	}
	for i := 1; i <= w.total && w.key != nil; i++ {
		if follows(i) {
			w.start = i
			return nil
		}
	}
	return say("The list has changed, and what the cursor follows is not in it any more. Begin again without cursor.")
}

// after returns the cursor for the items from end on.
func (w window) after(end int) string {
	next := cursor.Cursor{Digest: w.at.Digest, Pins: w.at.Pins, Done: end}
	if w.key != nil {
		next.Last = cursor.Check(w.key(end - 1))
	}
	return next.String()
}

// item is an entry of a list: as a line of text, and as data.
type item[T any] struct {
	line string
	data T
}

// nameItems returns quoted names as items.
func nameItems(names []string) []item[string] {
	items := make([]item[string], len(names))
	for i, name := range names {
		items[i] = item[string]{quote(name), quote(name)}
	}
	return items
}

// size returns the bytes that the item takes in a result.
func (i item[T]) size() int { return len(i.line) + jsonSize(i.data) + len("\n,") }

// list puts the items of a page into a result, as many as fit, and notes how to continue. items are
// the first items of the window; there are fewer than the window has if more were too much work.
func list[T any](r *result, w window, items []item[T]) ([]T, pages) {
	at := pages{Total: w.total}
	shown, size := 0, r.size()
	data := make([]T, 0, len(items))
	for _, i := range items {
		if size += i.size(); size > maxListedBytes && shown > 0 {
			break
		}
		r.lines, data = append(r.lines, i.line), append(data, i.data)
		shown++
	}
	end := w.start + shown
	if end < w.total {
		at.NextCursor = w.after(end)
		r.next = "cursor=" + at.NextCursor
	}
	switch {
	case end < w.end:
		r.note("%d to %d of %d: the page was cut for its size. Go on with the same arguments and %s", w.start+1, end,
			w.total, r.next)
	case end < w.total:
		r.note("%d to %d of %d. Go on with the same arguments and %s", w.start+1, end, w.total, r.next)
	case w.start > 0:
		r.note("%d to %d of %d.", w.start+1, end, w.total)
	}
	w.noteSkipped(r)
	return data, at
}

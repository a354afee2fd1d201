package tools

import (
	"fmt"
	"math"
)

const cursorDescription = "From the result to continue; repeat its other arguments."

// paging holds the arguments of a tool with pages.
type paging struct{ page, perPage int }

// define adds the arguments; their names need no description.
func (a *paging) define(p *parameters, preset, most int) {
	p.number(&a.page, "page", "", 1, math.MaxInt32)
	a.page, a.perPage = 1, preset
	p.number(&a.perPage, "perPage", "", 1, most)
}

// pages is embedded in the data of tools with pages.
type pages struct {
	Page     int `json:"page" jsonschema:"This page, from 1"`
	PerPage  int `json:"perPage" jsonschema:"Most items of a page"`
	Total    int `json:"total" jsonschema:"Items on all pages"`
	NextPage int `json:"nextPage,omitempty" jsonschema:"Page to go on with, with this perPage; absent on the last"`
}

// window returns the range of the page's items among total items.
func (a paging) window(total int) (start, end int, err error) {
	count := max((total+a.perPage-1)/a.perPage, 1)
	if a.page > count {
		return 0, 0, say("There is no page %d: with perPage=%d the last is %d.", a.page, a.perPage, count)
	}
	start = (a.page - 1) * a.perPage
	return start, min(start+a.perPage, total), nil
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
// the first items of the page's window; there are fewer than the window has if more were too much
// work.
func list[T any](r *result, a paging, total int, items []item[T]) ([]T, pages) {
	at := pages{Page: a.page, PerPage: a.perPage, Total: total}
	start, shown, size := (a.page-1)*a.perPage, 0, r.size()
	data := make([]T, 0, len(items))
	for _, i := range items {
		if size += i.size(); size > maxListedBytes && shown > 0 {
			break
		}
		r.lines, data = append(r.lines, i.line), append(data, i.data)
		shown++
	}
	end := start + shown
	switch {
	case shown < len(items), shown < a.perPage && end < total:
		// The page that begins at the cut or shortly before it: smaller pages leave nothing out.
		at.PerPage, at.NextPage = shown, end/shown+1
		r.next = fmt.Sprintf("perPage=%d and page=%d", at.PerPage, at.NextPage)
		r.note("%d to %d of %d: the page was cut for its size. Go on with %s.", start+1, end, total, r.next)
	case end < total:
		at.NextPage = a.page + 1
		r.next = fmt.Sprintf("page=%d", at.NextPage)
		r.note("%d to %d of %d. Go on with %s.", start+1, end, total, r.next)
	case start > 0:
		r.note("%d to %d of %d.", start+1, end, total)
	}
	return data, at
}

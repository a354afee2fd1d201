package tools

import (
	"math"

	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/excerpt"
)

// lineRange selects lines of a file, counted from 1; 0 stands for the first or last line.
type lineRange struct {
	start, end    int
	offset, limit int // first line and number of lines, as tools for local files have them
}

// define adds the arguments. The description is that of the last line.
func (a *lineRange) define(p *arguments.List, description string) {
	p.Number(&a.start, "start_line", "", 1, math.MaxInt32)
	p.Number(&a.end, "end_line", description, 1, math.MaxInt32)
	a.defineLines(p).Hidden = true
	p.Number(&a.offset, "offset", "First line, from 1.", 0, math.MaxInt32).Hidden = true
	p.Number(&a.limit, "limit", "Number of lines.", 1, math.MaxInt32).Hidden = true
}

// defineLines adds a range as one argument.
func (a *lineRange) defineLines(p *arguments.List) *arguments.Argument {
	return p.Add("lines", "Such as 10-20.", "string", nil, func(value any) string {
		start, end, ok := excerpt.ParseRange(value)
		if !ok {
			return "must be a range of lines such as 10-20, or one line"
		}
		a.start, a.end = start, end
		return ""
	})
}

// check resolves offset and limit.
func (a *lineRange) check() error {
	if a.offset > 0 {
		a.start = a.offset
	}
	if a.limit > 0 {
		a.end = max(a.start, 1) + a.limit - 1
	}
	if a.end != 0 && a.end < a.start {
		return say("end_line is %d, before start_line, which is %d.", a.end, a.start)
	}
	return nil
}

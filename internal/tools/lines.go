package tools

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// lineRange selects lines of a file, counted from 1; 0 stands for the first or last line.
type lineRange struct {
	start, end    int
	offset, limit int // first line and number of lines, as tools for local files have them
}

// define adds the arguments. The description is that of the last line.
func (a *lineRange) define(p *parameters, description string) {
	p.number(&a.start, "start_line", "", 1, math.MaxInt32)
	p.number(&a.end, "end_line", description, 1, math.MaxInt32)
	a.defineLines(p).hidden = true
	p.number(&a.offset, "offset", "First line, from 1.", 0, math.MaxInt32).hidden = true
	p.number(&a.limit, "limit", "Number of lines.", 1, math.MaxInt32).hidden = true
}

// defineLines adds a range as one argument.
func (a *lineRange) defineLines(p *parameters) *parameter {
	return p.add("lines", "Such as 10-20.", "string", nil, func(value any) string {
		parsed, ok := parseLines(value)
		if !ok {
			return "must be a range of lines such as 10-20, or one line"
		}
		a.start, a.end = parsed.start, parsed.end
		return ""
	})
}

// linesForm is the form of a range of lines.
var linesForm = regexp.MustCompile(`^[lL]?([0-9]{1,9})(?:([-,:])[lL]?([0-9]{1,9})?)?$`)

// parseLines parses a range such as 10-20, 10- or 10, or a list of its two ends.
func parseLines(value any) (lineRange, bool) {
	text := fmt.Sprint(value)
	if ends, ok := value.([]any); ok && len(ends) == 2 {
		text = fmt.Sprintf("%v-%v", ends[0], ends[1])
	}
	parts := linesForm.FindStringSubmatch(text)
	if parts == nil {
		return lineRange{}, false
	}
	start, _ := strconv.Atoi(parts[1]) // at most nine digits
	end, _ := strconv.Atoi(parts[3])
	if parts[2] == "" {
		end = start
	}
	return lineRange{start: start, end: end}, start > 0
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

package excerpt

import (
	"fmt"
	"regexp"
	"strconv"
)

// linesForm is the form of a range of lines.
var linesForm = regexp.MustCompile(`^[lL]?([0-9]{1,9})(?:([-,:])[lL]?([0-9]{1,9})?)?$`)

// ParseRange parses a range of lines such as 10-20, 10- or 10, or a list of its two ends, from JSON.
// end is 0 for the last line.
func ParseRange(value any) (start, end int, ok bool) {
	text := fmt.Sprint(value)
	if ends, ok := value.([]any); ok && len(ends) == 2 {
		text = fmt.Sprintf("%v-%v", ends[0], ends[1])
	}
	parts := linesForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, false
	}
	start, _ = strconv.Atoi(parts[1]) // at most nine digits
	end, _ = strconv.Atoi(parts[3])
	if parts[2] == "" {
		end = start
	}
	return start, end, start > 0
}

package httpx

import (
	"math"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/resources"
)

// parseRange reads a header with one range (RFC 9110, section 14.1.2). A header that is malformed,
// has another unit or has several ranges is ignored: the reply is then the whole.
func parseRange(header string) (resources.Range, bool) {
	unit, set, ok := strings.Cut(header, "=")
	if !ok || !strings.EqualFold(strings.Trim(unit, " \t"), "bytes") {
		return resources.Range{}, false
	}
	first, last, ok := strings.Cut(strings.Trim(set, " \t"), "-")
	if !ok {
		return resources.Range{}, false
	}
	if first == "" {
		n, ok := parsePosition(last)
		return resources.Range{Suffix: n}, ok
	}
	r := resources.Range{Last: math.MaxInt64, Suffix: -1}
	if r.First, ok = parsePosition(first); !ok {
		return resources.Range{}, false
	}
	if last != "" {
		if r.Last, ok = parsePosition(last); !ok || r.Last < r.First {
			return resources.Range{}, false
		}
	}
	return r, true
}

// parsePosition reads digits. A number that overflows is as good as the largest one.
func parsePosition(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

package httpx

import (
	"math"
	"strconv"
	"strings"
)

// byteRange is one range of a Range header, as it was asked for.
type byteRange struct {
	first int64
	last  int64 // math.MaxInt64: to the end
	// suffix is the number of last bytes that are asked for instead, or -1.
	suffix int64
}

// parseRange reads a header with one range (RFC 9110, section 14.1.2). What is
// malformed, of another unit or of several ranges is to be ignored: the answer
// is then the whole.
func parseRange(header string) (byteRange, bool) {
	unit, set, ok := strings.Cut(header, "=")
	if !ok || !strings.EqualFold(strings.Trim(unit, " \t"), "bytes") {
		return byteRange{}, false
	}
	first, last, ok := strings.Cut(strings.Trim(set, " \t"), "-")
	if !ok {
		return byteRange{}, false
	}
	if first == "" {
		n, ok := parsePosition(last)
		return byteRange{suffix: n}, ok
	}
	r := byteRange{last: math.MaxInt64, suffix: -1}
	if r.first, ok = parsePosition(first); !ok {
		return byteRange{}, false
	}
	if last != "" {
		if r.last, ok = parsePosition(last); !ok || r.last < r.first {
			return byteRange{}, false
		}
	}
	return r, true
}

// parsePosition reads digits. A number that no file reaches is as good as the
// largest.
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

// whole reports whether all bytes are asked for, however many there are.
func (r byteRange) whole() bool {
	return r.suffix < 0 && r.first == 0 && r.last == math.MaxInt64
}

// within returns the part of a content of a known size that is asked for, and
// false when there is none.
func (r byteRange) within(size int64) (offset, length int64, ok bool) {
	if r.suffix >= 0 {
		length = min(r.suffix, size)
		return size - length, length, length > 0
	}
	if r.first >= size {
		return 0, 0, false
	}
	return r.first, min(r.last, size-1) - r.first + 1, true
}

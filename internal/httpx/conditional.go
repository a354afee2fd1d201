package httpx

import (
	"net/http"
	"strings"
	"time"
)

// validators are compared with the conditions of a request.
type validators struct {
	etag     string // as sent, with quotes and W/
	modified time.Time
	// pinned says that the URL always names the same bytes.
	pinned bool
}

// sendDate sets Last-Modified if the date is known.
func (v validators) sendDate(h http.Header) {
	if !v.modified.IsZero() {
		h.Set("Last-Modified", v.modified.UTC().Format(http.TimeFormat))
	}
}

// precondition evaluates the conditions of a GET or HEAD request in the order of RFC 9110, section
// 13.2.2. It returns 304, 412, or 0 when the request is to be answered as if it had no conditions.
func precondition(h http.Header, v validators) int {
	if lines := h.Values("If-Match"); len(lines) > 0 {
		if !matches(lines, v.etag, strong) {
			return http.StatusPreconditionFailed
		}
	} else if date, err := http.ParseTime(h.Get("If-Unmodified-Since")); err == nil && v.modified.After(date) {
		// Content without a date passes: the field is then to be ignored.
		return http.StatusPreconditionFailed
	}
	if lines := h.Values("If-None-Match"); len(lines) > 0 {
		if matches(lines, v.etag, weak) {
			return http.StatusNotModified
		}
		return 0
	}
	if date, err := http.ParseTime(h.Get("If-Modified-Since")); err == nil && v.notModified(date) {
		return http.StatusNotModified
	}
	return 0
}

// notModified compares dates. A branch can be set back to an older commit, so only the exact date
// that was sent proves that nothing changed. The content named by a commit's id never changes.
func (v validators) notModified(since time.Time) bool {
	if v.modified.IsZero() {
		return false
	}
	return v.modified.Equal(since) || v.pinned && v.modified.Before(since)
}

// These compare entity tags (RFC 9110, section 8.8.3.2).

func weak(a, b string) bool { return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/") }

func strong(a, b string) bool { return a == b && !strings.HasPrefix(a, "W/") }

// matches reports whether a header's list of entity tags contains etag or is "*". Everything after
// a malformed tag is ignored.
func matches(lines []string, etag string, same func(a, b string) bool) bool {
	rest := strings.Join(lines, ",")
	if strings.Trim(rest, " \t") == "*" {
		return true
	}
	for {
		rest = strings.TrimLeft(rest, " \t,")
		tag, after, ok := cutTag(rest)
		if !ok {
			return false
		}
		if same(tag, etag) {
			return true
		}
		rest = strings.TrimLeft(after, " \t")
		if rest != "" && rest[0] != ',' {
			return false
		}
	}
}

// cutTag splits off an entity tag: an optional W/ and a string in quotes, which has no escapes.
func cutTag(s string) (tag, rest string, ok bool) {
	opaque := strings.TrimPrefix(s, "W/")
	if opaque == "" || opaque[0] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(opaque[1:], '"')
	if end < 0 {
		return "", "", false
	}
	end += len(s) - len(opaque) + 2
	return s[:end], s[end:], true
}

// rangeHolds evaluates If-Range: whether a range still fits the parts that the client has. A date
// cannot prove that: two commits may have the same second, and branches can be set back.
func rangeHolds(h http.Header, etag string) bool {
	condition := strings.Trim(h.Get("If-Range"), " \t")
	return condition == "" && len(h.Values("If-Range")) == 0 || strong(condition, etag)
}

package httpx

import (
	"net/http"
	"strings"
	"time"
)

// validators are what conditions of a request are compared with.
type validators struct {
	etag     string // as it is sent, with quotes and W/
	modified time.Time
	// pinned says that the URL names the same bytes for ever.
	pinned bool
}

// sendDate says when the content was modified, if that is known.
func (v validators) sendDate(h http.Header) {
	if !v.modified.IsZero() {
		h.Set("Last-Modified", v.modified.UTC().Format(http.TimeFormat))
	}
}

// precondition evaluates a GET or HEAD request's conditions in the order of RFC
// 9110, section 13.2.2. It returns 0 when the request is to be answered as if
// there were none, 304 or 412.
func precondition(h http.Header, v validators) int {
	if lines := h.Values("If-Match"); len(lines) > 0 {
		if !matches(lines, v.etag, strong) {
			return http.StatusPreconditionFailed
		}
	} else if date, err := http.ParseTime(h.Get("If-Unmodified-Since")); err == nil && v.modified.After(date) {
		// Without a date of its own the content passes: the field is then to be
		// ignored.
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

// notModified compares dates. A branch can be set back to an older commit, so
// that "not later" does not mean "the same" there: only the very date that was
// sent does. What a commit's id names can only be the same.
func (v validators) notModified(since time.Time) bool {
	if v.modified.IsZero() {
		return false
	}
	return v.modified.Equal(since) || v.pinned && v.modified.Before(since)
}

// The comparisons of entity tags (RFC 9110, section 8.8.3.2).

func weak(a, b string) bool { return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/") }

func strong(a, b string) bool { return a == b && !strings.HasPrefix(a, "W/") }

// matches reports whether a list of entity tags in a header has one that is
// the given one, or is "*". What comes after something that is no tag is not
// looked at.
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

// cutTag splits off an entity tag: W/ or not, and a text in quotes, which
// knows no escapes.
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

// rangeHolds evaluates If-Range: whether parts of a content still fit those
// that the client has. A date does not tell: commits need not be a second
// apart, and branches go back.
func rangeHolds(h http.Header, etag string) bool {
	condition := strings.Trim(h.Get("If-Range"), " \t")
	return condition == "" && len(h.Values("If-Range")) == 0 || strong(condition, etag)
}

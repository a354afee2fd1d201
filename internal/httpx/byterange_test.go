package httpx

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/resources"
)

func TestParseRange(t *testing.T) {
	end := int64(math.MaxInt64)
	for header, want := range map[string]*resources.Range{
		"bytes=0-":                           {First: 0, Last: end, Suffix: -1},
		"bytes=0-0":                          {First: 0, Last: 0, Suffix: -1},
		"Bytes=5-9":                          {First: 5, Last: 9, Suffix: -1},
		"bytes = 5-9":                        {First: 5, Last: 9, Suffix: -1},
		"bytes=05-009":                       {First: 5, Last: 9, Suffix: -1},
		"bytes=-5":                           {First: 0, Last: 0, Suffix: 5},
		"bytes=-0":                           {First: 0, Last: 0, Suffix: 0},
		"bytes=9223372036854775807-":         {First: end, Last: end, Suffix: -1},
		"bytes=99999999999999999999-":        {First: end, Last: end, Suffix: -1},
		"bytes=0-99999999999999999999":       {First: 0, Last: end, Suffix: -1},
		"bytes=-99999999999999999999":        {First: 0, Last: 0, Suffix: end},
		"":                                   nil,
		"bytes":                              nil,
		"bytes=":                             nil,
		"bytes=-":                            nil,
		"bytes=--1":                          nil,
		"bytes=1":                            nil,
		"bytes=9-5":                          nil,
		"bytes=+1-2":                         nil,
		"bytes=1 - 2":                        nil,
		"bytes=0x1-2":                        nil,
		"bytes=1-2-3":                        nil,
		"bytes=0-1,2-3":                      nil,
		"bytes=0-1,":                         nil,
		"items=0-1":                          nil,
		"bytes:0-1":                          nil,
		"bytes=1-2;x=1":                      nil,
		"bytes=\u0661-2":                     nil,
		"bytes=" + strings.Repeat(",", 9999): nil,
	} {
		got, ok := parseRange(header)
		if ok != (want != nil) || want != nil && got != *want {
			t.Errorf("%.60q: %+v %v, want %+v", header, got, ok, want)
		}
	}
}

func TestRangeWithinASize(t *testing.T) {
	for _, test := range []struct {
		header         string
		size           int64
		offset, length int64 // length 0: nothing to send
	}{
		{"bytes=0-", 10, 0, 10}, {"bytes=0-9", 10, 0, 10}, {"bytes=0-10", 10, 0, 10}, {"bytes=9-", 10, 9, 1},
		{"bytes=9-9", 10, 9, 1},
		{"bytes=10-", 10, 0, 0}, {"bytes=10-11", 10, 0, 0}, {"bytes=11-", 10, 0, 0}, {"bytes=-1", 10, 9, 1},
		{"bytes=-10", 10, 0, 10},
		{"bytes=-11", 10, 0, 10}, {"bytes=-0", 10, 0, 0}, {"bytes=3-5", 10, 3, 3}, {"bytes=0-0", 1, 0, 1},
		{"bytes=0-", 0, 0, 0}, {"bytes=-5", 0, 0, 0},
		{"bytes=0-99999999999999999999", math.MaxInt64, 0, math.MaxInt64},
		{"bytes=99999999999999999999-", math.MaxInt64, 0, 0},
	} {
		r, ok := parseRange(test.header)
		offset, length, satisfiable := r.Within(test.size)
		if !ok || satisfiable != (test.length > 0) || satisfiable && (offset != test.offset || length != test.length) {
			t.Errorf("%s of %d: %d+%d %v", test.header, test.size, offset, length, satisfiable)
		}
	}
}

// FuzzRange: what is accepted lies within the content, and says so.
func FuzzRange(f *testing.F) {
	for _, seed := range []string{"bytes=0-", "bytes=-5", "bytes=3-4", "bytes=0-1,2-3", "x=0-"} {
		f.Add(seed, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		r, ok := parseRange(header)
		if !ok || size < 0 {
			return
		}
		offset, length, ok := r.Within(size)
		if ok && (offset < 0 || length <= 0 || offset > size-length) {
			t.Errorf("%q of %d: %d+%d", header, size, offset, length)
		}
		if ok != (size > 0 && (r.Suffix > 0 || r.Suffix < 0 && r.First < size)) {
			t.Errorf("%q of %d is satisfiable: %v", header, size, ok)
		}
	})
}

func TestEntityTagLists(t *testing.T) {
	for _, test := range []struct {
		list, etag   string
		weak, strong bool
	}{
		{`"a"`, `"a"`, true, true}, {`W/"a"`, `"a"`, true, false}, {`"a"`, `W/"a"`, true, false},
		{`W/"a"`, `W/"a"`, true, false},
		{`"b"`, `"a"`, false, false}, {`*`, `"a"`, true, true}, {` * `, `W/"a"`, true, true},
		{`"x", "a"`, `"a"`, true, true},
		{`"x","a"`, `"a"`, true, true}, {`,, "x" ,,"a",`, `"a"`, true, true}, {`"x, \"a"`, `"a"`, false, false},
		{`"a`, `"a"`, false, false},
		{`a`, `"a"`, false, false}, {``, `"a"`, false, false}, {`w/"a"`, `"a"`, false, false},
		{`"x" "a"`, `"a"`, false, false}, {`*, "b"`, `"a"`, false, false},
		{`"A"`, `"a"`, false, false}, {`"x,y","a"`, `"a"`, true, true}, {`""`, `"a"`, false, false},
	} {
		if got := matches([]string{test.list}, test.etag, weak); got != test.weak {
			t.Errorf("%s and %s: weakly %v", test.list, test.etag, got)
		}
		if got := matches([]string{test.list}, test.etag, strong); got != test.strong {
			t.Errorf("%s and %s: strongly %v", test.list, test.etag, got)
		}
	}
	if !matches([]string{`"x"`, `"a"`}, `"a"`, strong) {
		t.Error("the second of two lines is not looked at")
	}
}

func TestPreconditions(t *testing.T) {
	date := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	text := func(d time.Duration) string { return date.Add(d).Format(http.TimeFormat) }
	for _, test := range []struct {
		headers string // NAME: VALUE, divided by |
		pinned  bool
		want    int
	}{
		{"", false, 0},
		{`If-None-Match: "a"`, false, 304}, {`If-None-Match: W/"a"`, false, 304}, {`If-None-Match: *`, false, 304},
		{`If-None-Match: "b"`, false, 0},
		{`If-None-Match: "b", "a"`, false, 304}, {`If-None-Match: "b"|If-Modified-Since: ` + text(0), false, 0},
		{`If-None-Match: "a"|If-Modified-Since: ` + text(-time.Hour), false, 304},
		{"If-Modified-Since: " + text(0), false, 304}, {"If-Modified-Since: " + text(time.Hour), false, 0},
		{"If-Modified-Since: " + text(-time.Second), false, 0},
		{"If-Modified-Since: " + text(0), true, 304}, {"If-Modified-Since: " + text(time.Hour), true, 304},
		{"If-Modified-Since: " + text(-time.Second), true, 0},
		{"If-Modified-Since: yesterday", true, 0},
		{`If-Match: "a"`, false, 0}, {`If-Match: *`, false, 0}, {`If-Match: "b"`, false, 412},
		{`If-Match: W/"a"`, false, 412}, {`If-Match: "b", "a"`, false, 0},
		{"If-Unmodified-Since: " + text(0), false, 0}, {"If-Unmodified-Since: " + text(time.Hour), false, 0},
		{"If-Unmodified-Since: " + text(-time.Second), false, 412},
		{"If-Unmodified-Since: never", false, 0}, {`If-Match: "a"|If-Unmodified-Since: ` + text(-time.Hour), false, 0},
		{`If-Match: "b"|If-None-Match: "a"`, false, 412}, {`If-Match: "a"|If-None-Match: "a"`, false, 304},
	} {
		h := make(http.Header)
		for line := range strings.SplitSeq(test.headers, "|") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				h.Add(name, value)
			}
		}
		if got := precondition(h, validators{etag: `"a"`, modified: date, pinned: test.pinned}); got != test.want {
			t.Errorf("%s (pinned %v): %d, want %d", test.headers, test.pinned, got, test.want)
		}
	}
	undated := http.Header{"If-Modified-Since": {text(0)}, "If-Unmodified-Since": {text(0)}}
	if got := precondition(undated, validators{etag: `"a"`}); got != 0 {
		t.Errorf("dates for a content without one: %d", got)
	}
}

func TestIfRange(t *testing.T) {
	for value, want := range map[string]bool{`"a"`: true, `W/"a"`: false, `"b"`: false, `*`: false, "": false,
		`"a", "b"`: false, "Tue, 02 Jan 2024 03:04:05 GMT": false} {
		if got := rangeHolds(http.Header{"If-Range": {value}}, `"a"`); got != want {
			t.Errorf("If-Range %q: %v", value, got)
		}
	}
	if !rangeHolds(http.Header{}, `"a"`) || rangeHolds(http.Header{"If-Range": {`W/"a"`}}, `W/"a"`) {
		t.Error("no If-Range at all, or a weak one")
	}
}

func TestRangesAgreeWithASlice(t *testing.T) {
	content := "0123456789"
	for range 2000 {
		first, last := rand.IntN(12), rand.IntN(14)
		r, ok := parseRange("bytes=" + strconv.Itoa(first) + "-" + strconv.Itoa(last))
		if ok != (first <= last) {
			t.Fatalf("%d-%d: %v", first, last, ok)
		}
		if !ok {
			continue
		}
		offset, length, ok := r.Within(int64(len(content)))
		want := content[min(first, 10):min(last+1, 10)]
		if got := content[offset : offset+length]; got != want || ok != (want != "") {
			t.Fatalf("%d-%d: %q %v, want %q", first, last, got, ok, want)
		}
	}
}

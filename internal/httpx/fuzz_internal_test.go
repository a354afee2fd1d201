package httpx

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzConditions: an entity tag matches only where it stands, and what matches
// strongly matches weakly.
func FuzzConditions(f *testing.F) {
	f.Add(`"a", W/"b"`, `"b"`)
	f.Add("*", `W/"x"`)
	f.Fuzz(func(t *testing.T, header, opaque string) {
		if strings.ContainsAny(opaque, "\"\x00\r\n") {
			return
		}
		etag := `"` + opaque + `"`
		isStrong, isWeak := matches([]string{header}, etag, strong), matches([]string{header}, etag, weak)
		if isStrong && !isWeak || isWeak && !strings.Contains(header, etag) && strings.Trim(header, " \t") != "*" {
			t.Fatalf("%q matches %q: %v, %v", header, etag, isStrong, isWeak)
		}
		if matches([]string{header}, "W/"+etag, strong) && strings.Trim(header, " \t") != "*" {
			t.Fatalf("%q matches a weak tag strongly", header)
		}
		for line, want := range map[string]bool{etag: true, "W/" + etag: true, etag + ", " + header: true} {
			if matches([]string{line}, etag, weak) != want {
				t.Fatalf("%q does not match %q", line, etag)
			}
		}
		if tag, rest, ok := cutTag(header); ok && (tag+rest != header || strings.Count(tag, `"`) != 2) {
			t.Fatalf("%q is cut into %q and %q", header, tag, rest)
		}
		h := http.Header{"If-None-Match": {header}, "If-Range": {header}}
		if status := precondition(h, validators{etag: etag}); status != 0 && status != http.StatusNotModified {
			t.Fatalf("the status %d", status)
		}
		if rangeHolds(h, "W/"+etag) {
			t.Fatalf("%q goes on with a weak tag", header)
		}
	})
}

// FuzzAccept: what comes after cannot take back what a header admits or refuses by
// name, and nothing is named that does not stand there.
func FuzzAccept(f *testing.F) {
	f.Add("text/html, application/*;q=0.5, */*;q=0", "application/json")
	f.Fuzz(func(t *testing.T, header, given string) {
		const wanted = "application/json"
		with, _ := readAccept(wanted+","+header, wanted)
		without, _ := readAccept(wanted+";q=0,"+header, wanted)
		if !with || without {
			t.Fatalf("%q changes what came before", header)
		}
		admitted, named := readAccept(header, wanted)
		if named && !strings.Contains(strings.ToLower(header), wanted) || admitted && !named &&
			!strings.Contains(header, "*") {
			t.Fatalf("%q: %v, %v", header, admitted, named)
		}
		if strings.Count(given, "/") == 1 {
			readAccept(header, given)
		}
	})
}

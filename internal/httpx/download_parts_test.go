package httpx_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestConditionsOfDownloads(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	for _, path := range []string{"/archive/team/app/main.tar", "/archive/team/app/main.tar.gz",
		"/raw/team/app/main/README.md", "/archive/team/app/" + s.commit + ".tar.gz"} {
		whole := s.get(t, path)
		tag, date := whole.header.Get("Etag"), whole.header.Get("Last-Modified")
		for header, want := range map[string]int{
			"If-None-Match: " + tag: 304, "If-None-Match: W/" + tag: 304, `If-None-Match: "x", ` + tag: 304,
			"If-None-Match: *": 304, `If-None-Match: "x"`: 200,
			"If-Modified-Since: " + date: 304, "If-Modified-Since: Mon, 01 Jan 2001 00:00:00 GMT": 200,
			"If-Modified-Since: rubbish": 200,
			"If-Match: " + tag:           200, `If-Match: "x"`: 412, "If-Match: W/" + tag: 412, "If-Match: *": 200,
			"If-Unmodified-Since: " + date: 200, "If-Unmodified-Since: Mon, 01 Jan 2001 00:00:00 GMT": 412,
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				a := s.fetch(t, method, path, header)
				if a.status != want {
					t.Errorf("%s %s, %s: %v", method, path, header, a)
				}
				switch want {
				case http.StatusNotModified:
					if len(a.body) > 0 || a.header.Get("Etag") != tag ||
						a.header.Get("Cache-Control") != whole.header.Get("Cache-Control") ||
						a.header.Get("Content-Type") != "" || a.header.Get("Repr-Digest") != "" {
						t.Errorf("%s %s, %s: %v", method, path, header, a.header)
					}
				case http.StatusOK:
					if method == http.MethodGet && !bytes.Equal(a.body, whole.body) {
						t.Errorf("%s, %s: other bytes", path, header)
					}
				}
			}
		}
	}
}

func TestHeadHasTheHeadersOfGet(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	for _, path := range []string{
		"/archive/team/app/main.tar", "/archive/team/app/main.tar.gz", "/raw/team/app/main/README.md",
		"/raw/team/app/main/page.html", "/raw/team/app/main/empty",
		"/raw/team/app/main/dir", "/raw/team/app/main/none", "/archive/team/app/main.rar", "/archive/nobody/main.tar",
		"/raw/team/app/main/../x",
	} {
		for _, time := range []string{"first", "second"} { // then more is known
			head := s.fetch(t, http.MethodHead, path)
			get, getTrailer := s.fetchTrailer(t, http.MethodGet, path)
			a, b := head.header.Clone(), get.header.Clone()
			for _, name := range []string{"Date", "X-Request-Id"} {
				a.Del(name)
				b.Del(name)
			}
			// The client takes the announcement from the headers of a body that
			// has trailers.
			for name := range getTrailer {
				if a.Get("Trailer") != name {
					t.Errorf("%s: HEAD does not announce %s: %v", path, name, a)
				}
				a.Del("Trailer")
			}
			if head.status != get.status || fmt.Sprint(a) != fmt.Sprint(b) || len(head.body) > 0 {
				t.Errorf("%s, the %s time:\nHEAD %d %v\n GET %d %v", path, time, head.status, a, get.status, b)
			}
		}
	}
	if a := s.fetch(t, http.MethodHead, "/raw/team/app/main/README.md",
		"Range: bytes=1-2"); a.status != http.StatusOK || a.header.Get("Content-Length") != "8" {
		t.Errorf("a range of HEAD: %v", a)
	}
}

func TestRangesOfDownloads(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	cases := 0
	for _, path := range []string{"/raw/team/app/main/noise.bin", "/archive/team/app/main.tar",
		"/archive/team/app/main.tar.gz"} {
		whole := s.get(t, path).body
		n := len(whole)
		for _, test := range []struct {
			asked       string
			first, last int // last -1: 416; -2: the whole with 200
		}{
			{"bytes=0-", 0, n - 1}, {"bytes=0-0", 0, 0}, {"bytes=1-", 1, n - 1},
			{fmt.Sprintf("bytes=%d-", n-1), n - 1, n - 1}, {fmt.Sprintf("bytes=%d-", n), 0, -1},
			{fmt.Sprintf("bytes=%d-%d", n, n), 0, -1}, {"bytes=5-9", 5, 9}, {fmt.Sprintf("bytes=5-%d", n+5), 5, n - 1},
			{fmt.Sprintf("bytes=0-%d", n-1), 0, n - 1},
			{"bytes=-1", n - 1, n - 1}, {"bytes=-100", n - 100, n - 1}, {fmt.Sprintf("bytes=-%d", n+1), 0, n - 1},
			{"bytes=-0", 0, -1}, {"bytes=99999999999999999999-", 0, -1},
			{"bytes=9-5", 0, -2}, {"bytes=0-1,5-6", 0, -2}, {"bytes=x", 0, -2}, {"lines=0-1", 0, -2},
			{"bytes=0-9999999999999999999999", 0, n - 1},
			{"bytes=65536-131071", 65536, min(131071, n-1)}, {"bytes=2048-2048", 2048, 2048},
		} {
			cases++
			a := s.get(t, path, "Range: "+test.asked)
			want, status, span := whole, http.StatusOK, ""
			switch test.last {
			case -2:
			case -1:
				want, status, span = nil, http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("bytes */%d", n)
			default:
				want, status, span = whole[test.first:test.last+1], http.StatusPartialContent, fmt.Sprintf(
					"bytes %d-%d/%d", test.first, test.last, n)
			}
			if a.status != status || a.err != nil || a.header.Get("Content-Range") != span || want != nil &&
				(!bytes.Equal(a.body, want) || a.header.Get("Content-Length") != strconv.Itoa(len(want))) {
				t.Errorf("%s %s: %d %q %d bytes %v", path, test.asked, a.status, a.header.Get("Content-Range"),
					len(a.body), a.err)
			}
		}
	}
	a := s.get(t, "/raw/team/app/main/empty", "Range: bytes=0-")
	if a.status != http.StatusOK || a.header.Get("Content-Length") != "0" {
		t.Errorf("a range of nothing: %v", a)
	}
	t.Logf("%d cases", cases)
}

func TestIfRangeOfDownloads(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	for _, path := range []string{"/raw/team/app/main/README.md", "/archive/team/app/main.tar.gz"} {
		whole := s.get(t, path)
		tag := whole.header.Get("Etag")
		for condition, want := range map[string]int{tag: 206, `"x"`: 200, "W/" + tag: 200,
			whole.header.Get("Last-Modified"): 200, "*": 200} {
			if a := s.get(t, path, "Range: bytes=2-5", "If-Range: "+condition); a.status != want || a.status == 200 &&
				!bytes.Equal(a.body, whole.body) {
				t.Errorf("%s, If-Range %s: %v", path, condition, a)
			}
		}
		if a := s.get(t, path, "If-Range: "+tag); a.status != http.StatusOK {
			t.Errorf("%s, If-Range without a range: %v", path, a)
		}
		if a := s.get(t, path, "Range: bytes=2-5", "If-None-Match: "+tag); a.status != http.StatusNotModified {
			t.Errorf("%s, a range of what the client has: %v", path, a)
		}
		if a := s.get(t, path, "Range: bytes=2-5", `If-Match: "x"`); a.status != http.StatusPreconditionFailed {
			t.Errorf("%s, a range of another: %v", path, a)
		}
	}
}

// Downloads by the programs that people use, cut off and resumed.
func TestCurlAndWgetResume(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s := mirrors(t, targetOptions{})
	for program, arguments := range map[string][]string{
		"curl": {"-sS", "--fail", "-C", "-", "-o"},
		"wget": {"-q", "-c", "-O"},
	} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is not installed: not tried", program)
			continue
		}
		for _, path := range []string{"/raw/team/app/main/noise.bin", "/archive/team/app/main.tar",
			"/archive/team/app/main.tar.gz"} {
			replica := &target{root: s.root}
			replica.serve(t, targetOptions{})
			whole := s.get(t, path).body
			for _, cut := range []int{1, 1000, len(whole) - 1, len(whole)} {
				file := filepath.Join(t.TempDir(), "download")
				write(t, file, string(whole[:cut]))
				out, err := exec.CommandContext(t.Context(), program, append(slices.Clone(arguments), file, replica.url+
					path)...).CombinedOutput()
				got, readErr := os.ReadFile(file)
				// Some versions of curl take the 416 for a complete file as a failure.
				if err != nil && cut < len(whole) || readErr != nil || !bytes.Equal(got, whole) {
					t.Errorf("%s %s from %d: %d bytes of %d, %v %s", program, path, cut, len(got), len(whole), err, out)
				}
			}
		}
	}
}

// What depends on refs has no parts, no dates and nothing that lasts, even by
// a commit's id.
func TestWeakContentPromisesNothing(t *testing.T) {
	t.Parallel()
	var commit string
	s := newTarget(t, targetOptions{build: func(root string) {
		commit = gittest.At(t, filepath.Join(root, "a.git")).Commit("main", gittest.Regular("a", "$Format:%d$\n"),
			gittest.Regular(".gitattributes", "a export-subst\n"))
	}})
	path := "/archive/a/" + commit + ".tar"
	whole := s.get(t, path)
	tag := whole.header.Get("ETag")
	for header, want := range map[string]int{
		"Accept: */*": 200, "If-None-Match: " + tag: 304, "If-None-Match: " + strings.TrimPrefix(tag, "W/"): 304,
		"If-Match: " + tag: 412, "If-Match: " + strings.TrimPrefix(tag, "W/"): 412, "If-Match: *": 200,
		"Range: bytes=2-3": 200, "If-Modified-Since: " + time.Now().Add(time.Hour).Format(http.TimeFormat): 200,
	} {
		a := s.get(t, path, header)
		if a.status != want {
			t.Errorf("%q: %v", header, a)
		}
		if want == http.StatusOK && !bytes.Equal(a.body, whole.body) {
			t.Errorf("%q: %d bytes, not the whole of %d", header, len(a.body), len(whole.body))
		}
		if want == http.StatusPreconditionFailed {
			continue
		}
		if h := a.header; !strings.HasPrefix(tag, "W/") || h.Get("ETag") != tag ||
			h.Get("Cache-Control") != "private, no-cache" ||
			h.Get("Accept-Ranges")+h.Get("Last-Modified")+h.Get("Link") != "" {
			t.Errorf("%q: %v", header, h)
		}
	}
}

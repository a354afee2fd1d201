package httpx_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// fetch sends a request whose path and query are sent as they are given.
func (s *target) fetch(t *testing.T, method, path string, header ...string) answer {
	t.Helper()
	a, _ := s.fetchTrailer(t, method, path, header...)
	return a
}

func (s *target) fetchTrailer(t *testing.T, method, path string, header ...string) (answer, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.URL.Opaque = "//" + s.host + path
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, value)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	a := answer{status: response.StatusCode, header: response.Header}
	a.body, a.err = io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	s.checkLeaks(t, a)
	return a, response.Trailer
}

func (s *target) get(t *testing.T, path string, header ...string) answer {
	t.Helper()
	return s.fetch(t, http.MethodGet, path, header...)
}

// tricky has refs and paths that are hard to tell apart.
type tricky struct {
	*target
	app *gittest.Repo
	crafted
}

// crafted are commits of team/app.
type crafted struct {
	commit string // of main
	older  string // of feature/x
}

var craft = fixture[crafted]{build: func(t *testing.T, root string) (c crafted) {
	app := gittest.At(t, filepath.Join(root, "team/app.git"))
	c.older = app.Commit("feature/x", gittest.Regular("README.md", "# older\n"), gittest.Regular("x/y", "of feature\n"))
	script := "<script>alert(1)</script>"
	c.commit = app.Commit("main",
		gittest.Regular("README.md", "# hello\n"), gittest.Regular("page.html", script+"\n"),
		gittest.Regular("image.svg", "<svg xmlns='http://www.w3.org/2000/svg'>"+script+"</svg>"),
		gittest.Regular("data.json", `{"a":1}`), gittest.Regular("x.xhtml", "<html/>"),
		gittest.Regular("noise.bin", gittest.Noise(300_000)), gittest.Regular("empty", ""),
		gittest.Regular("dir/a b%41.txt", "spaces\n"), gittest.Regular("dir/ü", "umlaut\n"),
		gittest.Regular("dir/#?", "marks\n"), gittest.Symlink("link", "dir/ü"),
		gittest.Gitlink("sub", strings.Repeat("12", 20)),
		gittest.Regular("png.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), gittest.Executable("run.sh", "#!/bin/sh\n"),
	)
	for ref, id := range map[string]string{
		"refs/tags/v1.0": c.commit, "refs/tags/rel/v1.0": c.commit,
		"refs/tags/feature": c.commit, // the branch feature/x is longer
		"refs/heads/v1.0":   c.older,  // the tag wins
		"refs/heads/100%":   c.commit, "refs/changes/1": c.commit,
		// A branch that begins with a commit's id takes nobody's place.
		"refs/heads/" + c.commit + "/dir": c.older,
	} {
		app.Git("update-ref", ref, id)
	}
	gittest.At(t, filepath.Join(root, "team.git")).Commit("app/main", gittest.Regular("f", "of team\n"))
	gittest.At(t, filepath.Join(root, "empty.git"))
	return c
}}

// mirrors serves a root with one repository of every kind of file.
func mirrors(t *testing.T, options targetOptions) *tricky {
	t.Helper()
	s := &tricky{}
	options.build = func(root string) {
		s.crafted = craft.copyTo(t, root)
		s.app = gittest.Existing(t, filepath.Join(root, "team/app.git"))
	}
	s.target = newTarget(t, options)
	return s
}

func TestPlainArchiveIsTheArchiveOfGit(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	options := map[string][]byte{
		"": s.app.Archive("--format=tar", s.commit), "?prefix=p%2F": s.app.Archive("--format=tar", "--prefix=p/", s.commit),
	}
	for _, ref := range []string{"HEAD", "main", "v1.0", "rel/v1.0", "rel%2Fv1.0", "rel%2fv1%2E0", "refs/heads/main",
		"refs%2Fheads%2Fmain", "refs/tags/v1.0", "refs/changes/1", "100%25", s.commit, s.commit[:10]} {
		for query, want := range options {
			for _, repo := range []string{"team/app", "team%2Fapp", "team%2fa%70p"} {
				path := "/archive/" + repo + "/" + ref + ".tar" + query
				a := s.get(t, path)
				if a.status != http.StatusOK || a.err != nil || !bytes.Equal(a.body, want) {
					t.Errorf("%s: %v", path, a)
				}
				uri := "repo://team/app/archive/" + s.commit + ".tar"
				if got := a.header.Get("Mcp-Resource-Uri"); !strings.HasPrefix(got, uri) {
					t.Errorf("%s is %s, want %s", path, got, uri)
				}
			}
		}
	}
	a := s.get(t, "/archive/team/app/feature/x.tgz")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/gzip" {
		t.Fatal(a)
	}
	gittest.DiffTar(t, tarOf(t, bytes.NewReader(a.body)),
		gittest.ReadTar(t, bytes.NewReader(s.app.Archive("--format=tar", "feature/x"))))
}

// TestRawFilesAreNoPages asks for files of all types. A browser would run some of them.
func TestRawFilesAreNoPages(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	for path, want := range map[string]struct{ body, kind, real string }{
		"refs%2Fheads%2Fmain%2FREADME.md": {"# hello\n", typePlain, "text/markdown; charset=utf-8"},
		"feature%2Fx/x%2Fy":               {"of feature\n", typePlain, ""},
		s.commit + "/dir/a%20b%2541.txt":  {"spaces\n", typePlain, ""},
		"main/dir/ü":                      {"umlaut\n", typePlain, ""},
		"main/dir/%23%3F":                 {"marks\n", typePlain, ""},
		"main/link":                       {"dir/ü", typePlain, "inode/symlink"},
		"main/page.html":                  {"<script>alert(1)</script>\n", typePlain, "text/html; charset=utf-8"},
		"main/image.svg": {"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
			typePlain, "image/svg+xml"},
		"main/x.xhtml":   {"<html/>", typePlain, "application/xhtml+xml"},
		"main/data.json": {`{"a":1}`, typePlain, "application/json"},
		"main/png.png":   {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png", ""},
		"main/empty":     {"", typePlain, ""},
		"main/noise.bin": {gittest.Noise(300_000), "application/octet-stream", ""},
	} {
		a := s.get(t, "/raw/team/app/"+path)
		if a.status != http.StatusOK || string(a.body) != want.body ||
			a.header.Get("Content-Length") != strconv.Itoa(len(want.body)) {
			t.Errorf("%s: %v", path, a)
		}
		if kind, real := a.header.Get("Content-Type"), a.header.Get("Mcp-Resource-Type"); kind != want.kind || real != want.real {
			t.Errorf("%s: type %q (%q), want %q (%q)", path, kind, real, want.kind, want.real)
		}
	}
}

const typePlain = "text/plain; charset=utf-8"

func TestDownloadHeaders(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	const pinned, moving = "private, max-age=31536000, immutable", "private, no-cache"
	link := func(path string) string { return "<" + s.url + path + `>; rel="immutable"` }
	date, err := time.Parse(time.RFC3339, strings.TrimSpace(s.app.Git("log", "-1", "--format=%cI", "main")))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ cache, link, file string }{
		"/archive/team/app/main.tar.gz": {moving, link("/archive/team/app/" + s.commit + ".tar.gz?rev=" +
			s.commit), "app-main.tar.gz"},
		"/archive/team/app/main.tgz?prefix=a%20b/": {moving,
			link("/archive/team/app/" + s.commit + ".tar.gz?prefix=a%20b/&rev=" + s.commit), "app-main.tar.gz"},
		"/archive/team/app/HEAD.tar": {moving, link("/archive/team/app/" + s.commit + ".tar?rev=" +
			s.commit), "app-" + s.commit[:12] + ".tar"},
		"/archive/team/app/v1.0.tar": {moving, link("/archive/team/app/" + s.commit + ".tar?rev=" +
			s.commit), "app-v1.0.tar"},
		"/archive/team/app/" + s.commit +
			".tar": {pinned, link("/archive/team/app/" + s.commit + ".tar?rev=" + s.commit), "app-" + s.commit +
			".tar"},
		"/archive/team/app/" + s.commit[:9] +
			".tar": {moving, link("/archive/team/app/" + s.commit + ".tar?rev=" + s.commit), "app-" + s.commit[:9] +
			".tar"},
		"/raw/team/app/main/dir/a%20b%2541.txt": {moving,
			link("/raw/team/app/" + s.commit + "/dir/a%20b%2541.txt"), "a b%41.txt"},
		"/raw/team/app/" + s.commit + "/dir/ü": {pinned, link("/raw/team/app/" + s.commit + "/dir/%C3%BC"), "ü"},
	} {
		a := s.get(t, path)
		checkStreamHeaders(t, path, a)
		archive := strings.HasPrefix(path, "/archive/")
		for name, value := range map[string]string{
			"Cache-Control": want.cache, "Link": want.link, "Accept-Ranges": "bytes",
			"Last-Modified": date.UTC().Format(http.TimeFormat),
			"X-Robots-Tag":  map[bool]string{true: "noindex"}[archive], "X-Accel-Buffering": "no", "Vary": "",
		} {
			if got := a.header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
		if !strings.HasPrefix(a.header.Get("Etag"), `"`) {
			t.Errorf("%s: ETag %s", path, a.header.Get("Etag"))
		}
		if disposition := a.header.Get("Content-Disposition"); !strings.Contains(disposition, "filename") ||
			!strings.Contains(disposition, strings.Trim(url.PathEscape(want.file), "-")) &&
				!strings.Contains(disposition, want.file) {
			t.Errorf("%s: %s, want %s", path, disposition, want.file)
		}
		// The link leads to the same bytes, for ever.
		target, _, _ := strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"+s.url), ">")
		b := s.get(t, target)
		if b.status != http.StatusOK || !bytes.Equal(a.body, b.body) || a.header.Get("Etag") != b.header.Get("Etag") ||
			b.header.Get("Cache-Control") != pinned || b.header.Get("Link") != a.header.Get("Link") {
			t.Errorf("%s links to %s: %v", path, target, b)
		}
	}
	a := s.get(t, "/archive/team/app/main.tar?rev="+s.older)
	if a.status != http.StatusBadRequest {
		t.Errorf("the rev of another commit: %v", a)
	}
}

func TestPublicURLIsThatOfLinks(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{http: httpx.Options{PublicURL: "https://git.example/sub/"}})
	if got := s.get(t, "/raw/team/app/main/README.md").header.Get("Link"); !strings.HasPrefix(got,
		"<https://git.example/sub/raw/team/app/") {
		t.Error(got)
	}
}

func TestUnknownEncodingsAreInAHeader(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t), build: func(root string) {
		gittest.At(t, filepath.Join(root, "old.git")).Commit("main", gittest.Regular("a", "\u4e2d"), gittest.Regular("b", "x"),
			gittest.Regular(".gitattributes", "a working-tree-encoding=EUC-TW\nb working-tree-encoding=no,such\n"))
	}})
	for query, want := range map[string]string{"": "EUC-TW, no%2Csuch", "?exclude=a&exclude=b": ""} {
		path, uri := "/archive/old/main.tar.gz"+query, "repo://old/archive/main.tar.gz"+query
		link := at(t, s.downloadURL(t, modernVersion, uri))
		for name, a := range map[string]answer{
			"GET": s.get(t, path), "HEAD": s.fetch(t, http.MethodHead, path), "range": s.get(t, path, "Range: bytes=1-9"),
			"stream":         s.do(t, s.call(modernVersion, methodStream, map[string]any{"uri": uri})),
			"HEAD of a link": s.fetch(t, http.MethodHead, link), "link": s.get(t, link),
		} {
			if got := a.header.Get("X-Repomcp-Unknown-Encodings"); got != want || a.failed() {
				t.Errorf("%s of %s: %d, encodings %q, want %q", name, path, a.status, got, want)
			}
		}
	}
}

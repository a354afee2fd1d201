package resources

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// tricky are mirrors with refs and paths that are hard to tell apart.
func tricky(t *testing.T) (s *Service, commit string) {
	t.Helper()
	root := t.TempDir()
	app := gittest.At(t, filepath.Join(root, "team/app.git"))
	older := app.Commit("feature/x", gittest.Regular("README.md", "# older\n"), gittest.Regular("x/y", "of feature\n"))
	commit = app.Commit("main",
		gittest.Regular("README.md", "# hello\n"), gittest.Regular("page.html", "<script>alert(1)</script>\n"),
		gittest.Regular("image.svg", "<svg xmlns='http://www.w3.org/2000/svg'></svg>"),
		gittest.Regular("data.json", `{"a":1}`), gittest.Regular("x.xhtml", "<html/>"),
		gittest.Regular("noise.bin", gittest.Noise(300_000)), gittest.Regular("empty", ""),
		gittest.Regular("dir/a b%41.txt", "spaces\n"), gittest.Regular("dir/ü", "umlaut\n"),
		gittest.Regular("dir/#?", "marks\n"), gittest.Symlink("link", "dir/ü"),
		gittest.Gitlink("sub", strings.Repeat("12", 20)),
		gittest.Regular("png.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), gittest.Executable("run.sh", "#!/bin/sh\n"))
	for ref, id := range map[string]string{
		"refs/tags/v1.0": commit, "refs/tags/rel/v1.0": commit,
		"refs/tags/feature": commit, // the branch feature/x is longer
		"refs/heads/v1.0":   older,  // the tag wins
		"refs/heads/100%":   commit, "refs/changes/1": commit,
		"refs/heads/" + commit + "/dir": older, // does not hide the commit
	} {
		app.SetRef(ref, id)
	}
	gittest.At(t, filepath.Join(root, "team.git")).Commit("app/main", gittest.Regular("f", "of team\n"))
	return newService(t, root, Options{}), commit
}

func TestRawFiles(t *testing.T) {
	t.Parallel()
	s, commit := tricky(t)
	const markdown = "text/markdown; charset=utf-8"
	for path, want := range map[string]struct{ content, kind string }{
		"main/README.md":                  {"# hello\n", markdown},
		"HEAD/README.md":                  {"# hello\n", markdown},
		"refs/heads/main/README.md":       {"# hello\n", markdown},
		"refs%2Fheads%2Fmain%2FREADME.md": {"# hello\n", markdown},
		"refs/changes/1/README.md":        {"# hello\n", markdown},
		"v1.0/README.md":                  {"# hello\n", markdown},
		"refs/heads/v1.0/README.md":       {"# older\n", markdown},
		"rel/v1.0/run.sh":                 {"#!/bin/sh\n", mimeText},
		"100%25/README.md":                {"# hello\n", markdown},
		"feature/x/x/y":                   {"of feature\n", mimeText},
		"feature%2Fx/x%2Fy":               {"of feature\n", mimeText},
		commit + "/dir/a%20b%2541.txt":    {"spaces\n", mimeText},
		commit[:12] + "/dir/%C3%BC":       {"umlaut\n", mimeText},
		"main/dir/ü":                      {"umlaut\n", mimeText},
		"main/dir/%23%3F":                 {"marks\n", mimeText},
		"main/link":                       {"dir/ü", mimeSymlink},
		"main/page.html":                  {"<script>alert(1)</script>\n", "text/html; charset=utf-8"},
		"main/image.svg":                  {"<svg xmlns='http://www.w3.org/2000/svg'></svg>", "image/svg+xml"},
		"main/x.xhtml":                    {"<html/>", "application/xhtml+xml"},
		"main/data.json":                  {`{"a":1}`, TypeJSON},
		"main/png.png":                    {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"},
		"main/empty":                      {"", mimeText},
		"main/noise.bin":                  {gittest.Noise(300_000), "application/octet-stream"},
	} {
		found := mustDownload(t, s, "/raw/team/app/"+path)
		var content bytes.Buffer
		body, err := write(t, found, Want{}, &content)
		if err != nil || content.String() != want.content || body.MIMEType != want.kind ||
			body.Size != int64(len(want.content)) {
			t.Errorf("%s: %.50q of type %s, size %d, %v, want %.50q of %s", path, &content, body.MIMEType, body.Size, err,
				want.content, want.kind)
		}
		for way, again := range map[string]*Found{
			"URI": mustFind(t, s, found.URI), "frozen URI": mustFind(t, s, found.Frozen),
			"permalink": mustDownload(t, s, found.Permalink),
		} {
			if got := contentOf(t, again); string(got) != want.content || again.Immutable != (way != "URI" || found.Immutable) {
				t.Errorf("%s has the %s %s: immutable %t, %.50q", path, way, again.URI, again.Immutable, got)
			}
		}
	}
	// The longest repository wins, although another one has a branch of that name.
	if got := contentOf(t, mustDownload(t, s, "/raw/team/refs/heads/app/main/f")); string(got) != "of team\n" {
		t.Errorf("f of team: %q", got)
	}
	for path, word := range map[string]string{
		"main/f": `no file "f"`, "main/sub": "submodule at commit " + strings.Repeat("12", 20),
	} {
		if _, failure := download(t, s, "/raw/team/app/"+path); failure == nil || failure.Reason != ReasonNotFound ||
			!strings.Contains(failure.Message, word) {
			t.Errorf("%s: %v, want %s with %q", path, failure, ReasonNotFound, word)
		}
	}
	// A permalink of an archive has the commit as its lock, which has to be that of the path.
	for file, want := range map[string]string{
		"main.tar.gz": ".tar.gz?rev=" + commit, "main.tgz?prefix=a%20b/": ".tar.gz?prefix=a%20b/&rev=" + commit,
		commit[:9] + ".tar": ".tar?rev=" + commit,
	} {
		found := mustDownload(t, s, "/archive/team/app/"+file)
		if found.Permalink != "/archive/team/app/"+commit+want || mustDownload(t, s, found.Permalink).ETag != found.ETag {
			t.Errorf("%s has the permalink %s, want one that ends with %s", file, found.Permalink, want)
		}
	}
	if _, failure := download(t, s, "/archive/team/app/feature/x.tar?rev="+commit); failure == nil ||
		failure.Reason != ReasonURI {
		t.Errorf("the rev of another commit: %v, want %s", failure, ReasonURI)
	}
}

func TestPlainDownloadsTakeRevisionsOfGit(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	for i := range 3 {
		repo.Commit("feature/x", gittest.Regular("a", fmt.Sprint(i)), gittest.Regular("d/back~1", fmt.Sprint(i)))
	}
	repo.Git("tag", "-a", "-m", "x", "v1", "feature/x~1")
	repo.SetRef("HEAD", "ref: refs/heads/feature/x")
	s := newService(t, root, Options{})
	for _, revision := range []string{"HEAD~1", "@", "@^", "feature/x~2", "heads/feature/x^", "refs/heads/feature/x~1",
		"v1^{}", "tags/v1", "v1~1", strings.ToUpper(repo.Git("rev-parse", "v1"))} {
		escaped := strings.NewReplacer("^", "%5E", "{", "%7B", "}", "%7D").Replace(revision)
		if got, want := contentOf(t, mustDownload(t, s, "/archive/repo.git/"+escaped+".tar")),
			repo.Archive("--format=tar", revision); !bytes.Equal(got, want) {
			t.Errorf("the archive of %s: %d bytes, want the %d of git", revision, len(got), len(want))
		}
		for _, path := range []string{"a", "d/back~1"} {
			got, want := contentOf(t, mustDownload(t, s, "/raw/repo/"+escaped+"/"+path)), repo.Git("show", revision+":"+path)
			if string(got) != want {
				t.Errorf("%s of %s: %q, want %q", path, revision, got, want)
			}
		}
	}
	if got := contentOf(t, mustDownload(t, s, "/raw/repo/feature/x/d/back~1")); string(got) != "2" {
		t.Errorf("a name with ~: %q", got)
	}
	for url, want := range map[string]string{
		"/archive/repo/HEAD@%7B1%7D.tar": "reflog", "/archive/repo/HEAD.tar?prefix=../x": "prefix",
	} {
		if _, failure := download(t, s, url); failure == nil || failure.Reason != ReasonURI ||
			!strings.Contains(failure.Message, want) || strings.Contains(failure.Message, "malformed URI") {
			t.Errorf("%s: %v, want %s with %q", url, failure, ReasonURI, want)
		}
	}
}

func TestDownloadFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "mirrors")
	aims := gittest.BuildAims(t, root)
	s := newService(t, root, Options{})
	const unknown = "no branch, tag or commit"
	for url, want := range map[string]struct {
		reason  Reason
		message string
	}{
		"/archive/nobody/main.tar": {ReasonNotFound,
			`There is no repository "nobody/main.tar". GET /repositories lists them.`},
		"/archive/hello/nothing.tar": {ReasonNotFound,
			`The repository hello has no branch, tag or commit "nothing". GET /refs/hello`},
		"/archive/hello/main.rar": {ReasonNotFound,
			`There is no format "rar". End the URL with one of: .manifest.json, .tar, .tar.gz`},
		"/archive/hello/main":                  {ReasonNotFound, "End the URL with one of"},
		"/archive/hello/.tar":                  {ReasonNotFound, ""},
		"/archive/hello":                       {ReasonNotFound, ""},
		"/archive/":                            {ReasonURI, "Malformed"},
		"/refs/":                               {ReasonURI, "Malformed"},
		"/refs/hello/main":                     {ReasonNotFound, "GET /refs/hello lists all"},
		"/archive/hello/main.tar?base=nothing": {ReasonNotFound, "The option base names no branch"},
		"/raw/hello/main/none":                 {ReasonNotFound, `There is no file "none" in hello`},
		"/raw/hello/main/dir": {ReasonNotFound, "The path is a folder. List it with resources/read of " +
			"repo://hello/refs/heads/main/contents/dir, or download all files with GET /archive/hello/" + aims.Head + ".tar.gz"},
		"/raw/hello/main/dir/":                                   {ReasonNotFound, "folder"},
		"/raw/hello/main":                                        {ReasonNotFound, "folder"},
		"/raw/hello":                                             {ReasonNotFound, "folder"},
		"/raw/hello/main/README.md/x":                            {ReasonNotFound, `There is no file "README.md/x" in hello`},
		"/raw/empty/HEAD/x":                                      {ReasonNotFound, "no commits"},
		"/archive/empty/HEAD.tar":                                {ReasonNotFound, "no commits"},
		"/archive/many/" + aims.Ambiguous + ".tar":               {ReasonAmbiguous, "Give more digits: " + aims.Ambiguous},
		"/raw/many/" + aims.Ambiguous + "/x":                     {ReasonAmbiguous, "Give more digits: " + aims.Ambiguous},
		"/archive/hello/" + aims.Unreachable + ".tar":            {ReasonNotFound, unknown},
		"/raw/hello/" + aims.Unreachable + "/password":           {ReasonNotFound, unknown},
		"/raw/hello/" + aims.Kept + "/password":                  {ReasonNotFound, unknown},
		"/raw/hello/refs/keep-around/" + aims.Kept + "/password": {ReasonNotFound, unknown},
		"/archive/hello/main.tar?prefix=../x":                    {ReasonURI, "Malformed"},
		"/archive/hello/main.tar?unknown=1":                      {ReasonURI, "Malformed"},
		"/archive/hello/main.tar?prefix=a&prefix=b":              {ReasonURI, "Malformed"},
		"/archive/hello/main.tar?":                               {ReasonURI, "Malformed"},
		"/archive/hello/main.tar?rev=" + aims.Kept:               {ReasonURI, "Malformed"},
		"/raw/hello/main/README.md?rev=" + aims.Head:             {ReasonURI, "Malformed"},
		"/raw/hello/main/README.md?x=y":                          {ReasonURI, "Malformed"},
		"/raw/hello/main/" + strings.Repeat("a", 5000):           {ReasonURI, "Malformed"},
		"/raw/hello/outside/x":                                   {ReasonNotFound, ""},
		"/raw/hello/above/x":                                     {ReasonNotFound, ""},
		"/raw/hello/loop-a/x":                                    {ReasonNotFound, ""},
		// A branch like an id does not take the place of the commit's.
		"/raw/hello/" + strings.Repeat("ab", 20) + "/README.md": {ReasonNotFound, unknown},
	} {
		_, failure := download(t, s, url)
		if failure == nil || failure.Reason != want.reason || !strings.Contains(failure.Message, want.message) {
			t.Errorf("%.200s: %+v, want %s with %q", url, failure, want.reason, want.message)
			continue
		}
		gittest.CheckLeaks(t, root, failure.Message)
	}
	branch := mustDownload(t, s, "/raw/hello/refs/heads/"+strings.Repeat("ab", 20)+"/README.md")
	if got := contentOf(t, branch); string(got) != "hello\n" {
		t.Errorf("a branch like an id, by its whole name: %q", got)
	}
}

func TestLimitsAndFormatsThatAreNotServed(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(30_000)))
	repo.Commit("small", gittest.Regular("a", "x"))
	other := gittest.At(t, filepath.Join(root, "other.git"))
	other.Commit("main", gittest.Regular("a", "x"))
	other.Git("config", "core.repositoryformatversion", "1")
	other.Git("config", "extensions.objectformat", "sha256")
	s := newService(t, root, Options{ArchiveLimits: archive.Limits{Bytes: 20480}})
	for uri, want := range map[string]Reason{
		"repo://repo/archive/main.tar": ReasonTooLarge, "repo://repo/archive/main.tar.gz": ReasonTooLarge,
		"repo://repo/archive/small.tar": "", "repo://repo/archive/small.tar.gz": "", "repo://repo/contents/a": "",
		"repo://other/archive/main.tar": ReasonUnsupportedRepo, "repo://other/contents/a": ReasonUnsupportedRepo,
	} {
		failure := refusal(t, s, uri, Want{Method: Get})
		if (failure == nil) != (want == "") || failure != nil &&
			(failure.Reason != want || !strings.Contains(failure.Message, "Ask the operator")) {
			t.Errorf("%s: %+v, want %q", uri, failure, want)
		}
	}
	// A selection is bounded only while it is written.
	const selection = "repo://repo/archive/main.tar.gz?path=a"
	if got, err := bytesOf(t, mustFind(t, s, selection), Want{}); !errors.Is(err, archive.ErrLimit) {
		t.Errorf("a compressed archive beyond the limit: %d bytes, %v, want %v", len(got), err, archive.ErrLimit)
	}
	if failure := refusal(t, s, selection, Want{Method: Get, Range: newRange(5, -1)}); failure == nil ||
		failure.Reason != ReasonTooLarge {
		t.Errorf("a part of it: %v, want %s", failure, ReasonTooLarge)
	}
}

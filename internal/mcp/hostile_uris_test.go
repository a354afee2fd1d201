package mcp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const (
	invalidURI = "invalid_uri"
	notFound   = "not_found"
)

// hostileURIs are URIs that name nothing, with the reason that clients get.
func hostileURIs(s *local) map[string]string {
	deep := strings.Repeat("x/", 10_000)
	seeds := map[string]string{
		// Out of the root.
		"repo://../etc/passwd": invalidURI, "repo://hello/../team": invalidURI, "repo://hello%2f..%2fteam": invalidURI,
		"repo://hello/contents/../../config": invalidURI,
		"repo://%2e%2e/hello":                invalidURI, "repo://hello/contents/%2E%2e/config": invalidURI, "repo://.": invalidURI,
		"repo://hello/./refs": invalidURI, "repo:///hello": invalidURI, "repo:////etc/passwd": invalidURI,
		"repo://hello//refs": invalidURI, "repo://hello/contents//README.md": invalidURI,
		"repo://hello/contents/README.md//": invalidURI,
		"repo://%252e%252e":                 notFound, "repo://%252e%252e/etc/passwd": notFound, "repo://..%5c..": notFound,
		"repo://hello/contents/..%5c..%5cconfig": notFound, "repo://%c0%ae%c0%ae/etc": notFound,
		"repo:///etc/passwd": invalidURI, "repo://etc/passwd": notFound, "repo://．．／etc": notFound,
		"repo://%EF%BC%8E%EF%BC%8E%EF%BC%8Fetc": notFound,
		// Into a repository's own files.
		"repo://.git": notFound, "repo://hello.git/objects": notFound, "repo://hello%2egit/config": notFound,
		"repo://hello.git/../team.git": invalidURI, "repo://hello/objects": notFound,
		"repo://hello/config": notFound,
		"repo://hello/HEAD":   notFound, "repo://hello/contents/.git/config": notFound,
		"repo://hello/contents/.GIT": notFound,
		// Bytes that readers disagree about.
		"repo://hello%00.git": invalidURI, "repo://hello/contents/README.md%00.txt": invalidURI,
		"repo://hello\x00": invalidURI, "repo://hello%zz": invalidURI, "repo://hello%": invalidURI,
		"repo://hello%2": invalidURI, "repo://hello/contents/%u002e": invalidURI,
		"repo://hello\n": notFound, "repo://hello%0a": notFound, "repo://hello%0D%0AX-Injected:%20y": notFound,
		"repo://hello\r\nX-Injected: y": notFound, "repo://%ff%fe": notFound, "repo://hello%e2%80%ae": notFound,
		"repo://hello\u202e": notFound, "repo://hel\u200dlo": notFound, "repo://hello\u00ad": notFound,
		"repo://hello ": notFound, " repo://hello": notFound, "repo://hello%20": notFound,
		"repo://hello.": notFound, "repo://hello;x=1": notFound, "repo://hello/contents/README.md;x": notFound,
		// Another form of the same letters is another name.
		"repo://cafe\u0301": notFound, "repo://cafe%CC%81": notFound, "repo://HELLO": notFound,
		"repo://hello/contents/readme.md": notFound,
		// Other parts of URIs.
		"repo://user:password@hello": notFound, "repo://user@hello/refs": notFound, "repo://hello:80": notFound,
		"repo://[fe80::1%25eth0]/hello": notFound, "repo://hello#x": invalidURI, "repo://hello?": invalidURI,
		"repo://hello?x=1":                         invalidURI,
		"repo://hello/contents/README.md?ref=main": invalidURI, "repo://hello/archive/main.tar?prefix=a&prefix=b": invalidURI, "repo://hello/archive/main.tar?prefix=../x": invalidURI,
		"repo://hello/archive/main.tar?prefix=/x": invalidURI, "repo://hello/archive/main.tar?prefix=%00": invalidURI,
		"repo://hello/archive/main.tar?prefix=a/%2e%2e/b": invalidURI, "repo://hello/archive/main.tar?prefix=" +
			strings.Repeat("p", 1025): invalidURI, "repo://hello/archive/main.tar?PREFIX=x": invalidURI,
		"repo://hello/archive/main.tar&prefix=x": notFound,
		// Other schemes.
		"file:///etc/passwd": notFound, "http://169.254.169.254/": notFound, "https://hello": notFound,
		"hello": notFound, "//hello": notFound, "repo:hello": notFound, "repo:/hello": notFound,
		"git://hello": notFound, "javascript:alert(1)": notFound, "data:,x": notFound, "ui://x": notFound,
		// Lengths.
		"repo://hello/contents/" + strings.Repeat("a", 64<<10): invalidURI, "repo://" + deep + "x": invalidURI,
		"repo://hello/refs/heads/" + strings.Repeat("%61", 1400):                 invalidURI,
		"repo://hello/contents/" + strings.Repeat("a/", 200<<10):                 invalidURI,
		"repo://hello/archive/main.tar?" + strings.Repeat("prefix=a&", 45<<10):   invalidURI,
		"repo://" + strings.Repeat("x/", 200<<10) + "refs/heads/main/contents/y": invalidURI,
		"repo://hello/contents/" + strings.Repeat("a/", 2000) + "x":              notFound, "repo://" + strings.Repeat("x/", 2000) +
			"x": notFound,
		// Names of devices and streams of Windows.
		"repo://CON": notFound, "repo://hello/contents/nul.txt": notFound, "repo://hello/contents/README.md:x": notFound, "repo://hello/contents/README.md::$DATA": notFound, "repo://HELLO~1": notFound,
		"repo://hello/contents/README.md.": notFound, "repo://hello/contents/README.md%20": notFound,
		"repo://GIT~1": notFound,
		// Templates that were not filled in.
		"repo://{+repo}": notFound, "repo://hello/contents{/path*}": notFound, "repo://hello/archive/{+ref}.{format}": notFound, "repo://*": notFound, "repo://team": notFound, "repo://team/*": notFound,
		// Paths below a file, and through a symbolic link.
		"repo://hello/contents/README.md/x": notFound, "repo://hello/contents/passwd/x": notFound,
		"repo://hello/contents/none": notFound, "repo://empty/contents": notFound, "repo://empty/archive/HEAD.tar": notFound,
		// Names of files in the repository, and paths out of it.
		"repo://hello/refs/heads/loop-a": notFound, "repo://hello/refs/heads/loop-b/contents/README.md": notFound,
		"repo://hello/refs/heads/outside": notFound, "repo://hello/refs/heads/above/contents": notFound,
		"repo://hello/refs/keep-around/" + s.Kept: notFound, "repo://hello/refs/remotes/origin/main": notFound,
		"repo://hello/refs/heads": notFound, "repo://hello/refs/heads/": notFound,
		"repo://hello/refs/heads/../../config":        invalidURI,
		"repo://many/archive/" + s.Ambiguous + ".tar": "ambiguous_revision", "repo://many/sha/" + s.Ambiguous +
			"/contents": "ambiguous_revision",
		"repo://hello/archive/main.zip.exe": notFound, "repo://hello/archive/.tar": notFound,
		"repo://hello/archive/main.tar/": notFound, "repo://hello/archive/main.tar/x": notFound,
		"repo://hello/archive/main/.tar": notFound,
	}
	delete(seeds, "repo://hello/archive/main.tar/") // one final slash is allowed
	refs := []string{
		"-h", "--output=/x", "--upload-pack=x", "--exec=x", "-", "@{-1}", "@{u}", "main@{0}", "main@{1 day ago}",
		"HEAD^{/x}", "HEAD^{blob}", "HEAD~1", "HEAD^", "main~2", ":/x", ":0:README.md", "main:README.md",
		"main..other", "^main",
		"x.lock", "main.lock", "main ", "ma*n", "m?in", "[m]ain", "ma\\in", "main\n", "main\t", "FETCH_HEAD",
		"ORIG_HEAD", "config", "packed-refs", "objects", "refs", "refs/heads", "refs/keep-around/" + s.Kept,
		"heads/../../HEAD",
		"head", "MAIN", s.Head + "0", s.Head[:39] + "g", strings.Repeat("0", 40), strings.Repeat("a", 64),
		strings.Repeat("f", 40), "0000", "abc", s.Unreachable, s.Unreachable[:12], s.Kept, s.Kept[:12],
		"refs/heads/loop-a", "refs/heads/outside", "loop-b", "above", "refs/heads/main/", "refs//heads/main",
		"main\x7f", "\u202emain", "ma\u0131n", "m\u00e0in", ".main", "main/.", "refs/heads/ma%69n", "nul", "CON",
	}
	for _, ref := range refs {
		reason := notFound
		if strings.Contains("/"+ref+"/", "//") || strings.Contains("/"+ref+"/", "/../") ||
			strings.Contains("/"+ref+"/", "/./") {
			reason = invalidURI
		}
		resolved := reason // where any revision is taken
		if reason == notFound && slices.ContainsFunc([]string{"@{", "^{/", ":", "main..other"},
			func(form string) bool { return strings.Contains(ref, form) }) {
			resolved = invalidURI
		}
		escaped := strings.ReplaceAll(url.PathEscape(ref), "%2F", "/")
		seeds["repo://hello/sha/"+escaped+"/contents/README.md"] = reason
		if !strings.Contains(ref, "/") { // else the id ends there
			seeds["repo://hello/sha/"+escaped+"/contents/README.md"] = resolved
		}
		if ref == "HEAD" || strings.HasSuffix(ref, "/.") {
			continue
		}
		if reason == notFound || !strings.HasSuffix(ref, "/") {
			seeds["repo://hello/archive/"+escaped+".tar"] = resolved
		}
		seeds["repo://hello/refs/heads/"+escaped+"/contents/README.md"] = reason
	}
	return seeds
}

func TestHostileURIsNameNothing(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	cases := 0
	for uri, reason := range hostileURIs(s) {
		s.during(t, func() {
			for _, version := range eras {
				for _, method := range []string{MethodRead, MethodStream} {
					cases++
					a := s.do(t, s.call(version, method, map[string]any{"uri": uri}))
					expect(t, a, version, reason, fmt.Sprintf("%s %.80q", method, uri))
					if got := a.data["uri"]; got != uri {
						t.Errorf("%s %s %.80q: error.data.uri is %.80q", version, method, uri, got)
					}
				}
			}
		})
	}
	if cases < 400 {
		t.Errorf("only %d cases", cases)
	}
	t.Logf("%d cases", cases)
}

// A branch may be named like another repository, and like an object id.
func TestNamesThatLookLikeOthersAreServedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	cases := map[string]string{
		"repo://hello/refs/heads/" + strings.Repeat("ab", 20) + "/contents/README.md": "hello\n",
		"repo://hello/sha/" + s.Head + "/contents/README.md":                          "hello\n",
		"repo://hello/sha/" + s.Head[:7] + "/contents/README.md":                      "hello\n",
		"REPO://hello/contents/README.md":                                             "hello\n",
		"repo://hello/contents/README.md/":                                            "hello\n",
		"repo://hello/contents/dir%2Fdeep.txt":                                        "deep\n",
		"repo://h%65llo%2Fcontents%2FREADME.md":                                       "hello\n",
		"repo://hello/contents/passwd":                                                "/etc/passwd", // the target, not the file
		"repo://hello/contents/empty":                                                 "",
		"repo://hello/contents/what%3F%23.txt":                                        "x",
		"repo://team/app/contents/app":                                                "app\n",
		"repo://caf\u00e9/contents/composed":                                          "x",
	}
	for uri, want := range cases {
		for _, version := range eras {
			a := s.do(t, s.call(version, MethodStream, map[string]any{"uri": uri}))
			if !a.streamed || string(a.body) != want || a.err != nil {
				t.Errorf("%s stream of %s: %v, want %q", version, uri, a, want)
			}
			if a := s.do(t, s.call(version, MethodRead, map[string]any{"uri": uri})); a.failed() {
				t.Errorf("%s read of %s: %v", version, uri, a)
			}
		}
	}
	t.Logf("%d cases", 2*len(cases))
}

// What exists and is not served must look like what does not exist: otherwise
// a guess at a secret commit could be confirmed.
func TestNotServedLooksLikeUnknown(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	never := strings.Repeat("12", 20) // the id of nothing
	unknown := []string{"nobod", "hello"}
	pairs := [][2]string{}
	for _, hidden := range []string{s.Unreachable, s.Kept} {
		for _, form := range []string{"repo://%s/sha/%s/contents/README.md", "repo://%s/sha/%s/contents/password",
			"repo://%s/sha/%s/contents", "repo://%s/archive/%s.tar", "repo://%s/archive/%s.tar.gz", "repo://%s/refs/keep-around/%s"} {
			for _, repository := range unknown {
				pairs = append(pairs, [2]string{fmt.Sprintf(form, "hello", hidden),
					fmt.Sprintf(form, repository, never)})
				pairs = append(pairs, [2]string{fmt.Sprintf(form, "hello", hidden[:8]),
					fmt.Sprintf(form, repository, never[:8])})
			}
		}
	}
	pairs = append(pairs, [2]string{"repo://hello/archive/refs/keep-around/" + s.Kept + ".tar",
		"repo://nobod/archive/refs/keep-around/" + never + ".tar"})
	for _, pair := range pairs {
		for _, version := range eras {
			for _, method := range []string{MethodRead, MethodStream} {
				var shown [2]string
				for i, uri := range pair {
					a := s.do(t, s.call(version, method, map[string]any{"uri": uri}))
					expect(t, a, version, notFound, uri)
					shown[i] = strings.ReplaceAll(string(a.body), uri, "URI")
				}
				if shown[0] != shown[1] {
					t.Errorf("%s %s:\n%s\n%s", version, method, shown[0], shown[1])
				}
			}
		}
	}
	t.Logf("%d cases", 4*len(pairs))
}

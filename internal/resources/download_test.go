package resources

import (
	"errors"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
)

var someID = strings.Repeat("1a", 20)

func TestParseDownload(t *testing.T) {
	for path, want := range map[string]Resource{
		"archive/a/main.tar": {Repository: "a", Kind: Archive, Revision: "main",
			Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive}},
		"archive/a/b/main.tgz": {Repository: "a/b", Kind: Archive, Revision: "main",
			Options: archive.Options{Format: archive.TarGz, Profile: archive.ProfileArchive}},
		"archive/a%2Fb/feature%2fx.tar.gz": {Repository: "a/b", Kind: Archive, Revision: "feature/x",
			Options: archive.Options{Format: archive.TarGz, Profile: archive.ProfileArchive}},
		"archive/a/b/refs/x.tar": {Repository: "a/b/refs", Kind: Archive, Revision: "x",
			Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive}},
		"archive/a/refs/heads/main.tar": {Repository: "a", Kind: Archive, Revision: "refs/heads/main",
			Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive}},
		"archive/a/v1.0.tar?prefix=p%20q/": {Repository: "a", Kind: Archive, Revision: "v1.0",
			Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive, Prefix: "p q/"}},
		"refs/a":         {Repository: "a", Kind: Refs},
		"refs/a/b/refs/": {Repository: "a/b/refs", Kind: Refs},
		"repositories":   {Kind: Catalogue},
		"raw/a/main/f":   {Repository: "a", Kind: Contents, Revision: "refs/heads/main", Path: "f"},
		"raw/a/main":     {Repository: "a", Kind: Contents, Revision: "refs/heads/main"},
		"raw/a/main/":    {Repository: "a", Kind: Contents, Revision: "refs/heads/main"},
		"raw/a/feature/x/f": {Repository: "a", Kind: Contents, Revision: "refs/heads/feature/x",
			Path: "f"},
		"raw/a/feature%2Fx%2Ff": {Repository: "a", Kind: Contents, Revision: "refs/heads/feature/x",
			Path: "f"},
		"raw/a/feature/x/contents/y/f": {Repository: "a", Kind: Contents,
			Revision: "refs/heads/feature/x/contents/y", Path: "f"},
		"raw/a/feature/x/contents/z": {Repository: "a", Kind: Contents, Revision: "refs/heads/feature/x",
			Path: "contents/z"},
		"raw/a/feature/z":        {Repository: "a", Kind: Contents, Revision: "feature", Path: "z"},
		"raw/a/v1.0/f":           {Repository: "a", Kind: Contents, Revision: "refs/tags/v1.0", Path: "f"},
		"raw/a/%C3%A9/f":         {Repository: "a", Kind: Contents, Revision: "refs/tags/é", Path: "f"},
		"raw/a/refs/tags/v1.0/f": {Repository: "a", Kind: Contents, Revision: "refs/tags/v1.0", Path: "f"},
		"raw/a/refs/heads/feature/x/f": {Repository: "a", Kind: Contents, Revision: "refs/heads/feature/x",
			Path: "f"},
		"raw/a/a%25b/f":              {Repository: "a", Kind: Contents, Revision: "refs/heads/a%b", Path: "f"},
		"raw/a/HEAD/main":            {Repository: "a", Kind: Contents, Path: "main"},
		"raw/a/" + someID + "/dir/f": {Repository: "a", Kind: Contents, Revision: someID, Path: "dir/f"},
		"raw/a/1a1a/dir/f":           {Repository: "a", Kind: Contents, Revision: "1a1a", Path: "dir/f"},
		"raw/a/b/refs/main/f": {Repository: "a/b/refs", Kind: Contents, Revision: "refs/heads/main",
			Path: "f"},
		"raw/a/main/what%3F%23": {Repository: "a", Kind: Contents, Revision: "refs/heads/main",
			Path: "what?#"},
	} {
		kind, rest, _ := strings.Cut(path, "/")
		rawPath, rawQuery, hasQuery := strings.Cut(rest, "?")
		got, err := ParseDownload(Plain(kind), rawPath, rawQuery, hasQuery, fixedNames{})
		if err != nil || got.String() != want.String() || got.Kind != want.Kind || got.Revision != want.Revision ||
			got.Path != want.Path {
			t.Errorf("%s: %+v, %v, want %+v", path, got, err, want)
		}
	}
	for path, want := range map[string]error{
		"archive/nobody/main.tar": git.ErrNotFound, "archive/a/main.rar": git.ErrNotFound,
		"archive/a": git.ErrNotFound, "archive/a/.tar": git.ErrNotFound, "raw/nobody/x": git.ErrNotFound,
		"refs/nobody": git.ErrNotFound, "refs/a/heads": git.ErrNotFound, "repositories/a": git.ErrNotFound,
		"archive/": ErrURI, "raw/": ErrURI, "refs/": ErrURI, "refs/a?x=1": ErrURI, "repositories?x=1": ErrURI,
		"raw/a/../x": ErrURI, "raw/a/%2e%2e/x": ErrURI, "raw/a//x": ErrURI, "raw/a%2F%2Fx": ErrURI,
		"raw/a/main/%00": ErrURI, "raw/a/main/%zz": ErrURI,
		"raw/a/main/f?x=1": ErrURI, "raw/a/main/f?": ErrURI, "archive/a/main.tar?prefix=/x": ErrURI,
		"archive/a/main.tar?x=1": ErrURI, "raw/a/main/" + strings.Repeat("x", MaxURIBytes): ErrURI,
	} {
		kind, rest, _ := strings.Cut(path, "/")
		rawPath, rawQuery, hasQuery := strings.Cut(rest, "?")
		if got, err := ParseDownload(Plain(kind), rawPath, rawQuery, hasQuery, fixedNames{}); !errors.Is(err, want) {
			t.Errorf("%.99s: %+v, %v, want %v", path, got, err, want)
		}
	}
}

func TestCutLock(t *testing.T) {
	for query, want := range map[string][2]string{
		"rev=x": {"x", ""}, "prefix=a&rev=x": {"x", "prefix=a"}, "rev=x&prefix=a": {"x", "prefix=a"},
		"prefix=a": {"", "prefix=a"}, "rev=": {"", "rev="},
		"rev": {"", "rev"}, "rev=x&rev=y": {"x", "rev=y"}, "prefix=rev=x": {"", "prefix=rev=x"}, "": {"", ""},
		"xrev=x": {"", "xrev=x"},
	} {
		locked, rest, more := cutLock(query)
		if locked != want[0] || rest != want[1] || more != (query != "rev=x") {
			t.Errorf("%q: %q %q %v", query, locked, rest, more)
		}
	}
}

// FuzzParseDownload: whatever is accepted has a URI that means the same, and a
// permanent link that is accepted, means the same and fits into a header.
func FuzzParseDownload(f *testing.F) {
	for _, seed := range []string{"a/main.tar", "a/b/feature%2Fx.tgz", "a/main/f", "a/HEAD/x", "a/" + someID + "/x",
		"a/../b", "%2e%2e/a", "a//b", "a/main/%00", "a/feature/x/contents/y/z", "a/1a1a/\xff"} {
		f.Add(seed, "", false)
		f.Add(seed, "prefix=x/", true)
	}
	f.Fuzz(func(t *testing.T, path, query string, raw bool) {
		kind := PlainArchive
		if raw {
			kind = PlainRaw
		}
		r, err := ParseDownload(kind, path, query, query != "", fixedNames{})
		if err != nil {
			if !errors.Is(err, ErrURI) && !errors.Is(err, git.ErrNotFound) {
				t.Fatalf("%s %q %q: %v", kind, path, query, err)
			}
			return
		}
		for segment := range strings.SplitSeq(r.Path, "/") {
			if segment == ".." || segment == "." || segment == "" && r.Path != "" || strings.Contains(segment, "\x00") {
				t.Fatalf("%q has the path %q", path, r.Path)
			}
		}
		r.Revision = someID
		link := permalink(r, &Found{URI: r.String(), Commit: someID, Revision: someID})
		for i := range len(link) {
			if c := link[i]; c <= ' ' || c >= 0x7f || c == '<' || c == '>' || c == '"' {
				t.Fatalf("%q has a byte that no Link may carry", link)
			}
		}
		if len(link) > MaxURIBytes || raw && r.Path == "" {
			return // encoding made it longer than a URL may be; a folder has none
		}
		linkPath, linkQuery, hasQuery := strings.Cut(strings.TrimPrefix(link, "/"+string(kind)+"/"), "?")
		if hasQuery {
			locked := ""
			if locked, linkQuery, hasQuery = cutLock(linkQuery); locked != someID {
				t.Fatalf("%q names no commit", link)
			}
		}
		again, err := ParseDownload(kind, linkPath, linkQuery, hasQuery, fixedNames{})
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q has the link %q, which is %+v, %v", path, link, again, err)
		}
	})
}

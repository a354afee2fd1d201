package resources

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/patch"
)

// fixedNames is a namespace of a few repositories and refs.
type fixedNames struct{}

var (
	someRepositories = []string{"a", "a/b", "a/b/refs", "a/contents/x", "ünï", "c++"}
	someRefs         = []string{"refs/heads/main", "refs/heads/feature/x", "refs/heads/feature/x/contents/y",
		"refs/heads/contents", "refs/tags/v1.0", "refs/tags/é", "refs/heads/a%b"}
)

func longest(names []string, prefix, path string, fits func(rest string) bool) (string, string, error) {
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		for _, name := range names {
			if name == prefix+path[:end] && fits(path[end:]) {
				return name, path[end:], nil
			}
		}
	}
	return "", "", git.ErrNotFound
}

func (fixedNames) LongestRepository(path string) (string, string, error) {
	return longest(someRepositories, "", path, func(string) bool { return true })
}

func (fixedNames) LongestRef(_, prefix, path, marker string) (string, string, error) {
	return longest(someRefs, prefix, path, func(rest string) bool {
		return rest == "" || rest == marker || strings.HasPrefix(rest, marker+"/")
	})
}

var accepted = map[string]Resource{
	"repo://a":                          {Repository: "a"},
	"REPO://a/":                         {Repository: "a"},
	"repo://a/b":                        {Repository: "a/b"},
	"repo://a%2Fb":                      {Repository: "a/b"},
	"repo://a%2fb/refs":                 {Repository: "a/b/refs"},
	"repo://a/refs":                     {Repository: "a", Kind: Refs},
	"repo://c++":                        {Repository: "c++"},
	"repo://c%2B%2b":                    {Repository: "c++"},
	"repo://%C3%BCn%C3%AF/refs":         {Repository: "ünï", Kind: Refs},
	"repo://ünï/refs":                   {Repository: "ünï", Kind: Refs},
	"repo://a/refs/heads/main":          {Repository: "a", Kind: Ref, Revision: "refs/heads/main"},
	"repo://a/refs/heads/feature/x":     {Repository: "a", Kind: Ref, Revision: "refs/heads/feature/x"},
	"repo://a/refs/heads/feature%2Fx":   {Repository: "a", Kind: Ref, Revision: "refs/heads/feature/x"},
	"repo://a/refs/tags/v1.0":           {Repository: "a", Kind: Ref, Revision: "refs/tags/v1.0"},
	"repo://a/refs/heads/a%25b":         {Repository: "a", Kind: Ref, Revision: "refs/heads/a%b"},
	"repo://a/contents":                 {Repository: "a", Kind: Contents},
	"repo://a/contents/":                {Repository: "a", Kind: Contents},
	"repo://a/contents/x":               {Repository: "a/contents/x"},
	"repo://a/contents/dir/file.txt":    {Repository: "a", Kind: Contents, Path: "dir/file.txt"},
	"repo://a/contents/%FF%0A":          {Repository: "a", Kind: Contents, Path: "\xff\n"},
	"repo://a/contents/what%3F":         {Repository: "a", Kind: Contents, Path: "what?"},
	"repo://a/contents/%252e%252e":      {Repository: "a", Kind: Contents, Path: "%2e%2e"},
	"repo://a/contents/refs/heads/main": {Repository: "a", Kind: Contents, Path: "refs/heads/main"},
	"repo://a/refs/heads/main/contents": {Repository: "a", Kind: Contents, Revision: "refs/heads/main"},
	"repo://a/refs/heads/main/contents/a/b": {Repository: "a", Kind: Contents, Revision: "refs/heads/main",
		Path: "a/b"},
	"repo://a/refs/heads/feature/x/contents/y": {Repository: "a", Kind: Ref,
		Revision: "refs/heads/feature/x/contents/y"},
	"repo://a/refs/heads/feature/x/contents/z": {Repository: "a", Kind: Contents, Revision: "refs/heads/feature/x",
		Path: "z"},
	"repo://a/refs/heads/contents/contents/x": {Repository: "a", Kind: Contents, Revision: "refs/heads/contents",
		Path: "x"},
	"repo://a/compare/v1...feature/x.diff": {Repository: "a", Kind: Compare, Revision: "feature/x",
		Patch: Patch{"v1", patch.Three, patch.Diff}},
	"repo://a/b/compare/refs/heads/a%25b..v1.0.patch": {Repository: "a/b", Kind: Compare, Revision: "v1.0",
		Patch: Patch{"refs/heads/a%b", patch.Two, patch.Mails}},
	"repo://a/commit/v1.diff.patch": {Repository: "a", Kind: Commit, Revision: "v1.diff",
		Patch: Patch{Form: patch.Mails}},
	"repo://a/sha/abc123/contents/x": {Repository: "a", Kind: Contents, Revision: "abc123", Path: "x"},
	"repo://a/archive/HEAD.tar.gz": {Repository: "a", Kind: Archive, Revision: "HEAD",
		Options: archive.Options{Format: archive.TarGz, Profile: archive.ProfileArchive}},
	"repo://a/archive/refs/heads/main.tgz": {Repository: "a", Kind: Archive, Revision: "refs/heads/main",
		Options: archive.Options{Format: archive.TarGz, Profile: archive.ProfileArchive}},
	"repo://a/archive/v1.0.tar.gz.asc": {Repository: "a", Kind: Signature, Revision: "v1.0",
		Options: archive.Options{Format: archive.TarGz}},
	"repo://a/archive/v1.0.tgz.sha256?path=x": {Repository: "a", Kind: Checksum, Revision: "v1.0",
		Options: archive.Options{Format: archive.TarGz, Profile: archive.ProfileArchive, Paths: []string{"x"}}},
	"repo://a/archive/v1.0.tar": {Repository: "a", Kind: Archive, Revision: "v1.0",
		Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive}},
	"repo://a/archive/v1.0.tar?prefix=x%2Fy/": {Repository: "a", Kind: Archive, Revision: "v1.0",
		Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive, Prefix: "x/y/"}},
	"repo://a/archive/main.tar?prefix=a%26b%3Dc": {Repository: "a", Kind: Archive, Revision: "main",
		Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive, Prefix: "a&b=c"}},
	"repo://a/archive/main.tar?prefix=a+b": {Repository: "a", Kind: Archive, Revision: "main",
		Options: archive.Options{Format: archive.Tar, Profile: archive.ProfileArchive, Prefix: "a+b"}},
}

func TestParseReadsTheGrammar(t *testing.T) {
	for uri, want := range accepted {
		got, err := Parse(uri, fixedNames{})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", uri, got, err, want)
		}
	}
}

// refused are URIs that name nothing. Each gives one of two errors; which one
// tells nothing about repositories.
var refused = map[string]error{
	"": git.ErrNotFound, "repo:": git.ErrNotFound, "a": git.ErrNotFound, "file:///etc/passwd": git.ErrNotFound,
	"http://169.254.169.254/": git.ErrNotFound, "repo:/a": git.ErrNotFound,
	"repo:///":          ErrURI,
	"repo:///a":         ErrURI,
	"repo://a//refs":    ErrURI,
	"repo://a/refs//":   ErrURI,
	"repo://.":          ErrURI,
	"repo://..":         ErrURI,
	"repo://../a":       ErrURI,
	"repo://a/../b":     ErrURI,
	"repo://a%2f..%2fb": ErrURI, "repo://a/%2e%2e/b": ErrURI, "repo://a/./b": ErrURI,
	"repo://a/contents/../../etc/passwd": ErrURI,
	"repo://a%00.git":                    ErrURI, "repo://a/contents/x%00": ErrURI,
	"repo://a%zz": ErrURI, "repo://a%": ErrURI, "repo://a%2": ErrURI,
	"repo://a#x": ErrURI, "repo://a?x": ErrURI, "repo://a?x=1": ErrURI, "repo://a?prefix=x": ErrURI,
	"repo://a/archive/main.tar?prefix=..": ErrURI, "repo://a/archive/main.tar?prefix=/x": ErrURI,
	"repo://a/archive/main.tar?level=9":           ErrURI,
	"repo://a/archive/main.tar?prefix=a&prefix=a": ErrURI, "repo://a/archive/main.tar?prefix": ErrURI,
	"repo://a/archive/main.tar?":           ErrURI,
	"repo://a/archive/main.tar?prefix=a#b": ErrURI, "repo://a/archive/main.tar.asc?prefix=a": ErrURI,
	"repo://nobody": git.ErrNotFound, "repo://a.git": git.ErrNotFound, "repo://a%2egit/objects": git.ErrNotFound,
	"repo://A": git.ErrNotFound, "repo://u:p@h/x": git.ErrNotFound, "repo://a:80": git.ErrNotFound,
	"repo://[::1%25eth0]/": git.ErrNotFound,
	"repo://%252e%252e":    git.ErrNotFound, "repo://..%5c..": git.ErrNotFound,
	"repo://%c0%ae%c0%ae": git.ErrNotFound, "repo://%ff%fe": git.ErrNotFound,
	"repo://．．／a": git.ErrNotFound, "repo://a\u202e": git.ErrNotFound, "repo://a\u200d": git.ErrNotFound,
	"repo://a%0D%0AX:%20y": git.ErrNotFound,
	"repo://a/other":       git.ErrNotFound, "repo://a/refs/notes/x": git.ErrNotFound,
	"repo://a/refs/heads":      git.ErrNotFound,
	"repo://a/refs/heads/none": git.ErrNotFound, "repo://a/sha/abc": git.ErrNotFound,
	"repo://a/sha/abc/x": git.ErrNotFound,
	"repo://a/archive":   git.ErrNotFound, "repo://a/archive/main": git.ErrNotFound,
	"repo://a/archive/main.rar": git.ErrNotFound, "repo://a/archive/.tar": git.ErrNotFound,
	Scheme + strings.Repeat("x", 64<<10):  ErrURI,
	Scheme + strings.Repeat("x/", 10_000): ErrURI,
}

func TestParseRefusesEverythingElse(t *testing.T) {
	for uri, want := range refused {
		if got, err := Parse(uri, fixedNames{}); !errors.Is(err, want) {
			t.Errorf("Parse(%.60q) = %+v, %v; want %v", uri, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for uri := range accepted {
		f.Add(uri)
	}
	for uri := range refused {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		resource, err := Parse(uri, fixedNames{})
		if err != nil {
			if !errors.Is(err, ErrURI) && !errors.Is(err, git.ErrNotFound) {
				t.Fatalf("Parse(%q): %v", uri, err)
			}
			return
		}
		canonical := resource.String()
		again, err := Parse(canonical, fixedNames{})
		if len(canonical) > MaxURIBytes {
			return // encoding made it longer than a URI may be
		}
		if err != nil || !reflect.DeepEqual(again, resource) {
			t.Fatalf("Parse(%q) = %+v; its canonical form %q is %+v, %v", uri, resource, canonical, again, err)
		}
		if again.String() != canonical {
			t.Fatalf("canonical form %q becomes %q", canonical, again.String())
		}
		for i := range len(canonical) {
			if c := canonical[i]; c <= ' ' || c >= 0x7f {
				t.Fatalf("canonical form %q has a byte that no header may carry", canonical)
			}
		}
	})
}

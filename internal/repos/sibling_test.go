package repos_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestSiblingIsTheRepositoryThatAnURLMeans(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"group/main", "group/lib", "lib", "example.com/group/lib", "deep/group/sub/lib",
		"sub/lib", "group/main/inside", "group/ünï", "group/with.git.inside"} {
		gittest.At(t, filepath.Join(root, name+".git"))
	}
	catalogue := repostest.Open(t, root, repos.Options{})
	long := strings.Repeat("a/", 2100)
	for _, c := range []struct{ of, url, want string }{
		// Relative: from the repository's own name.
		{"group/main", "../lib.git", "group/lib"},
		{"group/main", "../lib", "group/lib"},
		{"group/main", "../lib/", "group/lib"},
		{"group/main", "./inside.git", "group/main/inside"},
		{"group/main", "../../lib", "lib"},
		{"group/main", ".././../lib", "lib"},
		{"group/main", "../../group/lib.git", "group/lib"},
		{"group/main", "../../../lib", ""},
		{"group/main", "../../../group/lib", ""},
		{"group/main", "../nothing", ""},
		{"group/main", "../x/../lib", ""},
		{"group/main", "../", ""},
		{"group/main", "./", ""},
		{"lib", "../group/lib", "group/lib"},
		{"lib", "../sub/lib", "sub/lib"},
		{"sub/lib", "../../deep/group/sub/lib", "deep/group/sub/lib"},
		{"group/main", "../with.git.inside", "group/with.git.inside"},
		// Absolute: by the longest end of host and path.
		{"lib", "https://example.com/group/lib.git", "example.com/group/lib"},
		{"lib", "https://EXAMPLE.com:8443/group/lib", "example.com/group/lib"},
		{"lib", "https://user:secret@example.com/group/lib.git/", "example.com/group/lib"},
		{"lib", "https://other.com/group/lib.git", "group/lib"},
		{"lib", "http://other.com//group//lib.git", "group/lib"},
		{"lib", "git@example.com:group/lib.git", "example.com/group/lib"},
		{"lib", "git@other.com:group/lib.git", "group/lib"},
		{"lib", "other.com:group/lib", "group/lib"},
		{"lib", "other.com:/srv/git/group/lib.git", "group/lib"},
		{"lib", "ssh://git@other.com:2222/group/lib.git", "group/lib"},
		{"lib", "ssh://git@[::1]:22/group/lib.git", "group/lib"},
		{"lib", "git://other.com/deep/group/sub/lib.git", "deep/group/sub/lib"},
		{"lib", "https://other.com/x/group/sub/lib", "sub/lib"},
		{"lib", "file:///srv/git/group/lib.git", "group/lib"},
		{"lib", "/srv/git/group/lib.git", "group/lib"},
		{"lib", "https://other.com/group/%C3%BCn%C3%AF.git", "group/ünï"},
		// A last part alone is a name only when it is all there is.
		{"group/main", "https://example.com/lib.git", "lib"},
		{"group/main", "git@example.com:lib", "lib"},
		{"group/main", "/lib.git", "lib"},
		{"group/main", "https://other.com/who/lib.git", ""},
		{"group/main", "git@other.com:who/knows/lib", ""},
		{"group/main", "/srv/git/lib.git", ""},
		// Nothing that can be trusted.
		{"lib", "", ""},
		{"lib", "group/lib", ""},
		{"lib", "group/lib.git", ""},
		{"lib", "..", ""},
		{"lib", "/", ""},
		{"lib", "https://other.com", ""},
		{"lib", "https://other.com/", ""},
		{"lib", "https://other.com/x/../group/lib", ""},
		{"lib", "https://other.com/x/%2e%2e/group/lib", ""},
		{"lib", "https://other.com/group/lib?x=y", ""},
		{"lib", "https://other.com/group/lib#x", ""},
		{"lib", "https://other.com/group/lib%zz", ""},
		{"lib", "ext::sh -c group/lib", ""},
		{"lib", "::/group/lib", ""},
		{"lib", "https://other.com/" + long + "group/lib", ""},
		{"lib", strings.Repeat("../", 1000) + "lib", ""},
		{"lib", "https://other.com/group/lib\x00", ""},
	} {
		repository, err := catalogue.Get(c.of)
		if err != nil {
			t.Fatal(err)
		}
		sibling, err := catalogue.Sibling(repository, c.url)
		switch {
		case c.want == "" && !errors.Is(err, git.ErrNotFound):
			t.Errorf("%s: %.60q: %v, %v", c.of, c.url, sibling, err)
		case c.want != "" && (err != nil || sibling.Name() != c.want):
			t.Errorf("%s: %.60q: %v, want %s", c.of, c.url, err, c.want)
		}
	}
}

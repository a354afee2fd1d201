package git_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
)

func TestParseSubmodules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		want    map[string]string
	}{
		"two": {
			"[submodule \"a\"]\n\tpath = libs/a\n\turl = ../a.git\n[submodule \"b\"]\n\tpath = b\n\turl = \"https://x/y z\"\n", map[string]string{"libs/a": "../a.git", "b": "https://x/y z"}},
		"other keys": {"[submodule \"a\"]\npath=a\nurl=u\nbranch=main\nupdate=none\n[core]\nx=y\n",
			map[string]string{"a": "u"}},
		"final slash": {"[submodule \"a\"]\npath=a/\nurl=u\n", map[string]string{"a": "u"}},
		"last wins":   {"[submodule \"a\"]\npath=a\nurl=u\nurl=v\n", map[string]string{"a": "v"}},
		"same path": {"[submodule \"a\"]\npath=a\nurl=u\n[submodule \"b\"]\npath=a\nurl=v\n[submodule \"c\"]\npath=c\nurl=w\n",
			map[string]string{"c": "w"}},
		"no url":   {"[submodule \"a\"]\npath=a\n", map[string]string{}},
		"no path":  {"[submodule \"a\"]\nurl=u\n", map[string]string{}},
		"path out": {"[submodule \"a\"]\npath=../a\nurl=u\n", map[string]string{}},
		"name out": {"[submodule \"../a\"]\npath=a\nurl=u\n", map[string]string{}},
		"options": {"[submodule \"a\"]\npath=a\nurl=-u\n[submodule \"b\"]\npath=-b\nurl=u\n",
			map[string]string{}},
		"empty":     {"", map[string]string{}},
		"malformed": {"[submodule \"a\"\npath=a\nurl=u\n", nil},
		"as git reads": {"\ufeff# f\xfcr\n[submodule \"a.b\"] path = a\\\n/b\r\nURL = \"u\" # x\n",
			map[string]string{"a/b": "u"}},
		"beyond the size": {"[submodule \"a\"]\npath=a\nurl=u\n" + strings.Repeat("#", git.MaxSubmodulesBytes), nil},
	} {
		if got := git.ParseSubmodules([]byte(c.content)); !maps.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// FuzzParseSubmodules: any content gives plain paths and URLs, and always the
// same.
func FuzzParseSubmodules(f *testing.F) {
	f.Add([]byte("[submodule \"a\"]\n\tpath = a\n\turl = ../a.git\n"))
	f.Add([]byte("[submodule \"a\"]path=a\\\n/b\nurl=\"x\\\"y\"\n[submodule.b]\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		first := git.ParseSubmodules(content)
		for path, url := range first {
			if path == "" || url == "" || path[0] == '-' || url[0] == '-' || strings.Contains("/"+path+"/", "/../") {
				t.Errorf("%q has the URL %q", path, url)
			}
		}
		if again := git.ParseSubmodules(content); !maps.Equal(first, again) {
			t.Errorf("%q, then %q", first, again)
		}
	})
}

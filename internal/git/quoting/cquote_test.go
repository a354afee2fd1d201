package quoting_test

import (
	"testing"

	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestPathsAreThoseOfGit lists files of all bytes that a name can have.
func TestPathsAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	blob := repo.Store("blob", "")
	for c := range 256 {
		if c == 0 || c == '/' {
			continue
		}
		name := "a" + string([]byte{byte(c)}) + "z"
		tree := repo.GitInput([]byte("100644 blob "+blob+"\t"+name+"\x00"), "mktree", "-z")
		got := string(quoting.AppendPath(nil, "", name))
		if want := repo.Git("ls-tree", "--name-only", tree); got != want {
			t.Errorf("%q is %s, git has %s", name, got, want)
		}
		if got[0] != '"' {
			continue
		}
		if back, rest, ok := quoting.Cut([]byte(got + " rest")); !ok || string(back) != name || string(rest) != " rest" {
			t.Errorf("%s is read as %q before %q, %t", got, back, rest, ok)
		}
	}
	if got, want := string(quoting.AppendPath([]byte("to "), "b/", "x\ty")), `to "b/x\ty"`; got != want {
		t.Errorf("with a prefix it is %s, want %s", got, want)
	}
}

func TestBrokenQuotesAreNoNames(t *testing.T) {
	for _, text := range []string{``, `a`, `"`, `"a`, `"a\`, `"a\"`, `"\q"`, `"\8"`, `"\12"`, `"\400"`, `"\18a"`} {
		if name, _, ok := quoting.Cut([]byte(text)); ok {
			t.Errorf("%s is read as %q", text, name)
		}
	}
	if name, rest, ok := quoting.Cut([]byte(`"\303\266\""x`)); string(name) != "ö\"" || string(rest) != "x" || !ok {
		t.Errorf("it is read as %q before %q, %t", name, rest, ok)
	}
}

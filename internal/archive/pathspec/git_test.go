package pathspec_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/pathspec"
	"github.com/repomcp/repomcp/internal/gittest"
)

const submodule = "1234567890123456789012345678901234567890"

// tree has names that mean something in pathspecs.
var tree = []gittest.File{
	gittest.Regular("README", "1"), gittest.Regular("Readme.md", "1"), gittest.Regular("a", "1"),
	gittest.Regular("a-b", "1"),
	gittest.Regular("a.c", "1"), gittest.Regular("*/x", "1"), gittest.Regular("*/y", "1"), gittest.Regular("a*/b", "1"),
	gittest.Regular("*.c", "1"),
	gittest.Regular("[ab]", "1"), gittest.Regular(":x", "1"), gittest.Regular("!x", "1"),
	gittest.Regular("(glob)a", "1"), gittest.Regular("\\", "1"),
	gittest.Regular("\xff\xfe", "1"), gittest.Regular("é/É", "1"), gittest.Regular(" ", "1"),
	gittest.Regular("new\nline", "1"), gittest.Regular("-", "1"),
	gittest.Regular("dir/a", "1"), gittest.Regular("dir/a.c", "1"), gittest.Regular("dir/b/a.c", "1"),
	gittest.Regular("dir/b/c/a.h", "1"),
	gittest.Regular("dir/b/c/d/e", "1"), gittest.Regular("dir-x/a", "1"), gittest.Regular("dir.x/a", "1"),
	gittest.Regular("dir0", "1"),
	gittest.Regular("DIR/A", "1"), gittest.Regular("DIR/sub/B.C", "1"), gittest.Regular("Dir/a", "1"),
	gittest.Executable("bin/run", "1"), gittest.Symlink("bin/link", "run"), gittest.Symlink("link", "dir"),
	gittest.Symlink("dir/link", "b"),
	gittest.Gitlink("sub", submodule), gittest.Gitlink("dir/sub", submodule), gittest.Gitlink("x/y/sub", submodule),
	gittest.Regular("x/y/z/w", "1"), gittest.Regular("x/y/z.c", "1"), gittest.Regular("x/a", "1"),
	gittest.Regular("..x/a", "1"), gittest.Regular(".x", "1"),
	gittest.Regular("z/?", "1"), gittest.Regular("z/a?b", "1"), gittest.Regular("z/[x", "1"),
	gittest.Regular("z/dir/a", "1"), gittest.Regular("z/*", "1"),
}

// fixed are lists that random ones seldom make. Those of the second column are
// excluded.
var fixed = [][2][]string{
	{{"."}}, {{":"}}, {{":/"}}, {{"./"}}, {{"dir/.."}}, {{"dir/"}}, {{"dir"}}, {{"a/"}}, {{"sub/"}}, {{"sub"}},
	{{"link/"}}, {{"bin/link/"}},
	{{"sub/x"}}, {{"link/a"}}, {{"dir/b/../b/a.c"}}, {{"dir//b"}}, {{":/dir//b"}}, {{":/./dir"}}, {{":/dir/"}},
	{{":(top)dir"}}, {{"/dir"}}, {{"../x"}},
	{{"..x"}}, {{".x"}}, {{""}}, {{":!dir"}}, {{":^dir"}}, {{":!."}}, {{":!*"}}, {{":!dir", ":!x"}},
	{{"dir", ":!dir/b"}}, {{"dir", ":!dir"}},
	{{"dir", "dir/b", "dir/b/c"}}, {{"dir/b", ":!dir/b/c", "dir/b/c/a.h"}}, {nil, {"dir"}}, {nil, {"."}},
	{{"dir"}, {"*.c"}}, {{"dir"}, {":(glob)*.c"}},
	{{"*"}}, {{"**"}}, {{"*/"}}, {{"*.c"}}, {{":(glob)*.c"}}, {{":(glob)**/*.c"}}, {{":(glob)*"}}, {{":(glob)*/a"}},
	{{":(glob)di*"}}, {{"di*"}}, {{"dir*"}},
	{{":(glob)dir/**"}}, {{":(glob)dir/*"}}, {{"dir/*"}}, {{"dir/?"}}, {{"[a-d]*"}}, {{":(glob)x/**/w"}},
	{{":(glob)di**/a"}}, {{"x/*/w"}}, {{"x*w"}},
	{{":(literal)*"}}, {{":(literal)*/x"}}, {{":(literal)[ab]"}}, {{`\[ab]`}}, {{`\*`}}, {{`\*/x`}}, {{"*/x"}},
	{{"*/*"}}, {{"*/y"}}, {{"*/zz"}}, {{"a*/b"}},
	{{`\\`}}, {{":(icase)dir"}}, {{":(icase)dir/a"}}, {{":(icase)readme*"}}, {{":(icase)DIR/*.c"}},
	{{":(icase,glob)dir/*"}}, {{":(icase)É"}}, {{":(icase)é/É"}},
	{{":(icase,exclude)DIR"}}, {{":(exclude,icase)dir/*"}}, {{":(glob)**"}}, {{":(glob)**/"}}, {{":(glob)**/dir"}},
	{{":(glob)**/dir/**"}}, {{":(glob)z/*"}},
	{{":x"}}, {{":(literal):x"}}, {{"::x"}}, {{":!:x"}}, {{`\:x`}}, {{"./:x"}}, {{"!x"}}, {{":(glob"}}, {{":(nope)a"}},
	{{":(glob,literal)a"}}, {{":#"}}, {{":(,glob,)a"}},
	{{"nothing"}}, {{"dir", "nothing"}}, {{"nothing*"}}, {{"dir", ":!nothing"}}, {{":(glob)nothing/**"}},
	{{":!dir", "nothing"}}, {{"x/y/sub/"}}, {{"x/y/s*"}},
	{{"x/y/sub/*"}}, {{"a-b/"}}, {{"a*/"}}, {{"a**"}}, {{":/*.c"}}, {{":!/dir"}}, {{":/!dir"}}, {{"dir "}},
	{{"(glob)a"}}, {{":(top,literal)(glob)a"}}, {{"z/[x"}},
	{{"z/?"}}, {{`z/\?`}}, {{"z/a?b"}}, {{"\xff*"}}, {{"é"}}, {{"new\nline"}}, {{"-"}}, {{":(glob)dir/**/a.c"}},
	{{":(glob)dir/**/c/"}}, {{"dir/b/c/*"}, {"*e"}},
	{{"zz"}}, {{"zz/"}}, {{"zz/a"}}, {{"zz*"}}, {{":(glob)z?"}}, {{":(icase)ZZ/"}}, {{":(glob)zz/*"}}, {{":!zz", "zz"}},
	{{"zz", "a"}}, {{"zz/*"}},
}

// parts are what random pathspecs are made of.
var parts = []string{
	"a", "b", "c", "x", "y", "z", "dir", "dir/", "dir/b", "DIR", "x/y", "sub", "/", "/", "/", "*", "*", "**", "**/",
	"/**", "?", "[a-d]", "[!a]",
	".c", ".", "..", "./", "//", `\`, `\*`, "*/x", "link", "é", "\xff", "R", "-", "bin",
}

var magics = []string{
	"", "", "", "", "", "", ":(glob)", ":(glob)", ":(literal)", ":(icase)", ":(icase,glob)", ":(top)", ":/", ":!", ":^",
	":(exclude,glob)",
	":(exclude,icase)", ":!/", ":(exclude,literal)", ":", ":(top,glob)",
}

func random(r *rand.Rand, plain bool) string {
	var b strings.Builder
	if !plain {
		b.WriteString(magics[r.IntN(len(magics))])
	}
	if r.IntN(3) == 0 { // the path of something, or a part of it
		path := tree[r.IntN(len(tree))].Path
		b.WriteString(path[:len(path)-r.IntN(len(path))/2])
	}
	for range 1 + r.IntN(3) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func lists() [][2][]string {
	all := slices.Clone(fixed)
	r := rand.New(rand.NewPCG(3, 4))
	for range gittest.Volume(450, 5000) {
		var list [2][]string
		for range 1 + r.IntN(3) {
			list[0] = append(list[0], random(r, false))
		}
		if r.IntN(4) == 0 {
			list[1] = append(list[1], random(r, true))
		}
		if r.IntN(12) == 0 {
			list[0] = nil
		}
		all = append(all, list)
	}
	return all
}

// Most random lists have a pathspec that matches nothing, which git refuses:
// the refusal is compared as well.
func TestRealGitAgrees(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	commit := withEmptyFolder(repo, repo.Commit("main", tree...))
	counts := make(map[string]int)
	for _, list := range lists() {
		want, wantErr := git(t, repo, commit, list)
		got, gotErr := walk(t, list)
		switch {
		case wantErr != gotErr:
			t.Errorf("%q: %q, want %q", list, gotErr, wantErr)
		case !slices.Equal(got, want):
			t.Errorf("%q:\n got %q\nwant %q", list, got, want)
		}
		counts[wantErr]++
	}
	t.Logf("selected: %d, unmatched: %d, syntax: %d", counts[""], counts["unmatched"], counts["syntax"])
	if counts[""] < gittest.Sample(200) || counts["unmatched"] < gittest.Sample(150) || counts["syntax"] < gittest.Sample(15) {
		t.Error("too few lists were compared")
	}
}

// withEmptyFolder adds a folder without entries, which is there for a pathspec
// but leaves nothing to archive.
func withEmptyFolder(repo *gittest.Repo, commit string) string {
	empty := repo.GitInput(nil, "mktree")
	entries := repo.Git("ls-tree", "-z", commit) + "040000 tree " + empty + "\t" + emptyFolder + "\x00"
	root := repo.GitInput([]byte(entries), "mktree", "-z", "--missing")
	return repo.Git("commit-tree", "-m", "empty folder", root)
}

const emptyFolder = "zz"

// git returns the files, links and gitlinks of an archive, or the kind of error.
func git(t *testing.T, repo *gittest.Repo, commit string, list [2][]string) (paths []string, failure string) {
	args := append([]string{"archive", "--format=tar", commit, "--"}, list[0]...)
	for _, e := range list[1] {
		args = append(args, ":(exclude)"+e)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case err == nil:
	case strings.Contains(stderr.String(), "did not match any files"):
		return nil, "unmatched"
	default:
		return nil, "syntax"
	}
	for tr := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(h.Name, "/")
		if h.Typeflag != tar.TypeXGlobalHeader && (name == h.Name || kinds()[name] == pathspec.Gitlink) {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	return paths, ""
}

// kinds are those of the entries of the tree, folders included.
var kinds = sync.OnceValue(func() map[string]pathspec.Kind {
	all := map[string]pathspec.Kind{emptyFolder: pathspec.Folder}
	for _, f := range tree {
		all[f.Path] = pathspec.File
		if f.Mode == "160000" {
			all[f.Path] = pathspec.Gitlink
		}
		for i, c := range f.Path {
			if c == '/' {
				all[f.Path[:i]] = pathspec.Folder
			}
		}
	}
	return all
})

// walk returns what a caller of the package finds.
func walk(t *testing.T, list [2][]string) (paths []string, failure string) {
	spec, err := pathspec.New(list[0], list[1])
	if err != nil {
		return nil, "syntax"
	}
	for _, check := range spec.Checks() {
		if !holds(t, &check) {
			return nil, "unmatched"
		}
	}
	all := kinds()
	for path, kind := range all {
		if kind != pathspec.Folder && reached(path, spec.Match) && spec.Match([]byte(path), kind) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, ""
}

// reached reports whether all folders above match.
func reached(path string, match func([]byte, pathspec.Kind) bool) bool {
	for i, c := range path {
		if c == '/' && !match([]byte(path[:i]), pathspec.Folder) {
			return false
		}
	}
	return true
}

func holds(t *testing.T, check *pathspec.Check) bool {
	all := kinds()
	found := false
	for path, kind := range all {
		entered := reached(path, func(folder []byte, kind pathspec.Kind) bool {
			_, enter := check.Match(folder, kind)
			return enter
		})
		if entered {
			here, _ := check.Match([]byte(path), kind)
			found = found || here
		}
	}
	if path, folder, ok := check.Path(); ok {
		kind, there := all[path]
		if found != (there && (!folder || kind != pathspec.File)) {
			t.Errorf("to look %q up gives %v, the walk %v", path, there, found)
		}
	}
	return found
}

package attributes_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/git/wildmatch"
	"github.com/repomcp/repomcp/internal/gittest"
)

// names are the attributes in the order of [list].
var names = []string{
	"export-ignore", "export-subst", "text", "crlf", "eol", "ident", "filter", "working-tree-encoding", "diff",
}

// Random trees of .gitattributes, each compared at many paths.
func TestRealGitAgrees(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	trees := uint64(gittest.Volume(100, 1000))
	folders := []string{"", "a/", "a/b/", "d x/", "é/", "a/b/*/", "dir/"}
	paths := []string{
		"f", "a", "b", "f.c", "a/f", "a/f.c", "a/b", "a/b/", "a/b/f", "a/b/f.c", "a/b/*/f", "a/b/*/", "a/", "d x/",
		"d x/a b", "d x/f",
		"é/é", "é/", "é/f", "dir/", "dir/dir/", "dir/f", "dir/dir", "a/dir/", "a/b/dir/f", "x/y/z/f", "x/y/", "#f",
		"!f", "\"f", "\xff\xfe",
		"a/\xff", "[attr]", "a\\b", "f\t", "F.C", "ab", "abc", "a/abc.c", "-", "\xef\xbb\xbff", "*", "dir/abc/b/f",
		".c", "a.", "b/a/f",
	}
	repo := gittest.New(t)
	compared, specified := 0, 0
	for seed := range trees {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		files := make(map[string]string)
		var entries []gittest.File
		for _, folder := range folders {
			if folder == "" || g.IntN(2) == 0 {
				files[folder] = g.file()
				entries = append(entries, gittest.Regular(folder+".gitattributes", files[folder]))
			}
		}
		info := ""
		if g.IntN(2) == 0 {
			info = g.file()
		}
		want := askGit(repo, entries, info, paths)
		stack := attributes.NewStack([]byte(info))
		for _, path := range paths {
			got := list(evaluate(stack, files, path))
			compared++
			if got != "" {
				specified++
			}
			if got != want[path] {
				t.Fatalf("%q has %q, want %q\nfiles %q\ninfo %q", path, got, want[path], files, info)
			}
		}
	}
	t.Logf("%d paths, of which %d have attributes", compared, specified)
	if compared < 4500 || specified < 1300 {
		t.Errorf("only %d paths, of which %d have attributes", compared, specified)
	}
}

// askGit returns the attributes of paths as [list] writes them.
func askGit(repo *gittest.Repo, entries []gittest.File, info string, paths []string) map[string]string {
	commit := repo.Commit("main", entries...)
	repo.Git("read-tree", commit)
	repo.WriteFile("info/attributes", []byte(info))
	out := repo.GitInput([]byte(strings.Join(paths, "\x00")+"\x00"),
		append([]string{"check-attr", "--cached", "-z", "--stdin"}, names...)...)
	answers := make(map[string][]string)
	fields := strings.Split(out, "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		path, name, value := fields[i], fields[i+1], fields[i+2]
		switch value {
		case "unspecified":
			continue
		case "set":
		case "unset":
			name = "-" + name
		default:
			name += "=" + value
		}
		answers[path] = append(answers[path], name)
	}
	all := make(map[string]string)
	for path, words := range answers {
		all[path] = strings.Join(words, " ")
	}
	return all
}

// generator makes files of attributes.
type generator struct{ *rand.Rand }

func (g generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) file() string {
	var b strings.Builder
	if g.IntN(12) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for range g.IntN(8) {
		b.WriteString(g.line())
		b.WriteString(g.pick("\n", "\n", "\n", "\r\n", "\n\n"))
		if g.IntN(60) == 0 {
			b.WriteString("\x00")
		}
	}
	b.WriteString(g.line())
	return b.String()
}

func (g generator) line() string {
	words := g.words()
	switch g.IntN(20) {
	case 0:
		return g.pick("#", " # ", "\t#") + "f" + words
	case 1:
		return g.pick("", " ", "\t", "\r")
	case 2, 3, 4, 5:
		return g.pick("[attr]", "[attr]", "[attr]", "\"[attr]\"", "[attr] ", "\"[attr] ") +
			g.pick("m1", "m2", "m3", "m4", "binary", "text", "-m", "m5\"") + words
	case 6:
		return g.pattern() + words + " " + strings.Repeat("x", 2048-g.IntN(60)) + words
	}
	return g.pick("", "", "", " ", "\t") + g.pattern() + words
}

func (g generator) words() string {
	var b strings.Builder
	for range g.IntN(5) {
		b.WriteString(g.pick(" ", " ", "\t", "  ", " \r "))
		b.WriteString(g.pick("", "", "", "-", "!"))
		b.WriteString(g.pick(append([]string{"m1", "m2", "m3", "m4", "m5", "binary", "foo", "merge", "text", "diff"},
			names...)...))
		b.WriteString(g.pick("", "", "", "=auto", "=a=b", "=", "=\xff\"x"))
		if g.IntN(60) == 0 {
			b.WriteString(g.pick(" --x", " a@b", " =", " -", " !", " -=", " é"))
		}
	}
	return b.String()
}

func (g generator) pattern() string {
	for {
		p := g.glob()
		// git before 2.52 takes "**" after a prefix for the beginning of a component.
		whole := strings.TrimPrefix(p, "/")
		n := wildmatch.Literal(whole)
		if n > 0 && whole[n-1] != '/' && strings.HasPrefix(whole[n:], "**") {
			continue
		}
		if strings.ContainsAny(p, " \t\r\n") || g.IntN(5) == 0 {
			return g.quote(p)
		}
		return p
	}
}

func (g generator) glob() string {
	if g.IntN(2) == 0 {
		return g.pick("*", "f", "*.c", "f*", "a/**", "**/f", "dir/", "/a/*", "a/b/", "**/b/*", "*f", "[a-f]*", "/*",
			"b/**/f")
	}
	var b strings.Builder
	b.WriteString(g.pick("", "", "", "/", "!", `\!`, "**/", "\""))
	for range 1 + g.IntN(4) {
		b.WriteString(g.pick("a", "b", "f", "*", "*", "**", "?", "/", "/", "/**/", ".c", "*.c", "f.c", "[ab]", "[!a]",
			"[[:alpha:]]",
			`\*`, "é", "\xff", "dir", "dir/", "a/b", "d x", `\`, "[", "#", "a/", "-", "F"))
	}
	b.WriteString(g.pick("", "", "", "/", "/**", "*"))
	return b.String()
}

func (g generator) quote(p string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(p) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\t':
			b.WriteString(`\t`)
		case c >= 0x80 || g.IntN(8) == 0:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(g.pick("\"", "\"", "\"", "\"", "\"", "", "\\q\"", "\\000x\""))
	return b.String()
}

// git archive asks about folders and gitlinks with a slash at the end. Each tree
// is a folder of one archive, and some are one of their own, which differs where
// a pattern begins at the root.
func TestFoldersAsGitArchives(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const id = "1234567890123456789012345678901234567890"
	tree := []gittest.File{
		gittest.Regular("a/b/f", "1"), gittest.Regular("a/b/dir/f", "1"), gittest.Regular("a/dir/f", "1"),
		gittest.Symlink("a/link", "b"),
		gittest.Regular("dir/f", "1"), gittest.Regular("dir/dir/g", "1"), gittest.Regular("dir/dir/dir", "1"),
		gittest.Regular("f", "1"), gittest.Gitlink("sub", id), gittest.Gitlink("a/sub", id),
		gittest.Regular("x/sub", "1"),
	}
	repo := gittest.New(t)
	var together []gittest.File
	compared, alone := 0, 0
	check := func(attributesFile gittest.File, more ...gittest.File) {
		files := append(append(slices.Clone(tree), more...), attributesFile)
		for _, f := range files {
			f.Path = fmt.Sprintf("%04d/%s", compared, f.Path)
			together = append(together, f)
		}
		compared++
		if compared%gittest.Volume(7, 1) > 0 {
			return
		}
		alone++
		if got, want := archive(files), members(t, repo, files); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", attributesFile.Content, got, want)
		}
	}
	for _, pattern := range []string{
		"dir", "dir/", "dir/**", "dir/*", "/dir", "/dir/", "/dir/**", "**/dir", "**/dir/", "**/dir/**", "*/dir", "a/b",
		"a/b/", "a/b/**",
		"a/", "a", "/a", "a/**", "a/**/", "sub", "sub/", "/sub/", "a/sub", "a/sub/", "*", "*/", "**", "**/", "/", "/*",
		"/*/", "*/*/", "f", "f/",
		"link/", "a/link", "d?r/", "[d]ir/", "a/*/dir", "dir/dir/dir", "dir/dir/dir/",
	} {
		for _, word := range []string{"export-ignore", "-export-ignore", "export-ignore=1"} {
			check(gittest.Regular(".gitattributes", pattern+" "+word+"\n"))
			check(gittest.Regular(".gitattributes", "* export-ignore\n"+pattern+" -export-ignore\n"))
			check(gittest.Regular("a/.gitattributes", pattern+" "+word+"\n"))
			check(gittest.Regular("dir/.gitattributes", pattern+" "+word+"\n"),
				gittest.Regular(".gitattributes", "/f "+word))
		}
	}
	// What a link names is taken for the content, and a folder is nothing.
	check(gittest.Symlink(".gitattributes", "f export-ignore"))
	check(gittest.Regular(".gitattributes/f", "f export-ignore"))
	check(gittest.Regular(".gitattributes", "\xef\xbb\xbff export-ignore"))
	check(gittest.Executable(".gitattributes", "f export-ignore"))
	got, want := archive(together), members(t, repo, together)
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("got %q, want %q; the attributes are\n%q", got[i], want[i],
				together[slices.IndexFunc(together, func(f gittest.File) bool {
					return f.Path == want[i][:5]+".gitattributes"
				})])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d members, git has %d", len(got), len(want))
	}
	if compared < 400 || alone < 60 || len(want) < 3000 {
		t.Errorf("only %d trees with %d members, and %d archives", compared, len(want), alone)
	}
	t.Logf("%d trees with %d members, and %d archives", compared, len(want), alone)
}

// members are the files, links and gitlinks of git's archive, with a slash
// after the latter.
func members(t *testing.T, repo *gittest.Repo, files []gittest.File) []string {
	commit := repo.Commit("main", files...)
	gitlinks := make(map[string]bool)
	for _, f := range files {
		gitlinks[f.Path+"/"] = f.Mode == "160000"
	}
	var paths []string
	for _, e := range gittest.ReadTar(t, bytes.NewReader(repo.Archive("--format=tar", commit))) {
		if e.Type != 'g' && (gitlinks[e.Name] || !strings.HasSuffix(e.Name, "/")) {
			paths = append(paths, e.Name)
		}
	}
	slices.Sort(paths)
	return paths
}

// archive are those that a walk finds.
func archive(files []gittest.File) []string {
	contents := make(map[string]string)
	for _, f := range files {
		if folder, ok := strings.CutSuffix(f.Path, ".gitattributes"); ok {
			contents[folder] = f.Content
		}
	}
	stack := attributes.NewStack(nil)
	ignored := func(path string) bool { return evaluate(stack, contents, path)[attributes.ExportIgnore].IsSet() }
	var paths []string
	for _, f := range files {
		path := f.Path
		if f.Mode == "160000" {
			path += "/"
		}
		skip := ignored(path)
		for i, c := range f.Path {
			skip = skip || c == '/' && ignored(path[:i+1])
		}
		if !skip {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// attributed are trees whose .gitattributes change what is archived.
func attributed() map[string][]gittest.File {
	subst := "$Format:%H$ $Format:%an <%ae> %cI$\n$Format:%s%n%b$ $Format:unfinished\n"
	return map[string][]gittest.File{
		"ignored file": {gittest.Regular(".gitattributes", "secret export-ignore\n"),
			gittest.Regular("secret", "1"), gittest.Regular("d/secret", "2"), gittest.Regular("kept", "3")},
		"ignored folder": {gittest.Regular(".gitattributes", "d export-ignore\n"), gittest.Regular("d/a", "1"),
			gittest.Regular("x/d/a", "2"), gittest.Regular("z", "3")},
		"folder with slash": {gittest.Regular(".gitattributes", "d/ export-ignore\n"), gittest.Regular("d/a", "1"),
			gittest.Regular("e", "2"), gittest.Regular("x/d", "a file")},
		"rooted": {gittest.Regular(".gitattributes", "/d export-ignore\n"), gittest.Regular("d/a", "1"),
			gittest.Regular("x/d/a", "2")},
		"emptied folder": {gittest.Regular(".gitattributes", "d/** export-ignore\n"),
			gittest.Regular("d/a", "1"), gittest.Regular("d/e/b", "2"), gittest.Regular("z", "3")},
		"emptied by name": {gittest.Regular(".gitattributes", "*.md export-ignore\n"),
			gittest.Regular("docs/a.md", "1"), gittest.Regular("docs/deep/b.md", "2"),
			gittest.Regular("src/c.go", "3")},
		"deeper wins": {gittest.Regular(".gitattributes", "*.txt export-ignore\n"),
			gittest.Regular("d/.gitattributes", "*.txt -export-ignore\n"), gittest.Regular("a.txt", "1"),
			gittest.Regular("d/a.txt", "2"), gittest.Regular("d/e/.gitattributes", "a.txt !export-ignore\n"),
			gittest.Regular("d/e/a.txt", "3")},
		"macro": {gittest.Regular(".gitattributes",
			"[attr]hidden export-ignore -text\na hidden\nb -hidden\nc !hidden\n"), gittest.Regular("a", "1"),
			gittest.Regular("b", "2"), gittest.Regular("c", "3"),
			gittest.Regular("d/.gitattributes", "[attr]other export-ignore\nx hidden\ny other\n"),
			gittest.Regular("d/x", "4"), gittest.Regular("d/y", "5")},
		"ignored attributes": {gittest.Regular(".gitattributes", ".gitattributes export-ignore\n.gitignore export-ignore\n"),
			gittest.Regular(".gitignore", "x"), gittest.Regular("d/.gitattributes", "a export-ignore\n"),
			gittest.Regular("d/a", "1"), gittest.Regular("d/b", "1")},
		"linked attributes": {gittest.Symlink(".gitattributes", "real"),
			gittest.Regular("real", "a export-ignore\n"), gittest.Regular("a", "1")},
		"attributes as a link": {gittest.Symlink(".gitattributes", "a export-ignore"), gittest.Regular("a", "1"),
			gittest.Regular("b", "1")},
		"attributes as a folder": {gittest.Regular(".gitattributes/a", "a export-ignore"), gittest.Regular("a", "1")},
		"ignored gitlink": {gittest.Regular(".gitattributes", "g export-ignore\nlink export-ignore\n"),
			gittest.Gitlink("g", strings.Repeat("a", 40)), gittest.Gitlink("h", strings.Repeat("b", 40)),
			gittest.Symlink("link", "x"), gittest.Symlink("other", "x")},
		"substitution": {gittest.Regular(".gitattributes", "v export-subst\n"), gittest.Regular("v", subst),
			gittest.Regular("d/v", "no placeholder"), gittest.Regular("w", subst),
			gittest.Executable("e/v", "$Format:%T %P$")},
		"substituted link": {gittest.Regular(".gitattributes", "* export-subst\n"),
			gittest.Symlink("l", "$Format:%H$"), gittest.Regular("f", "$Format:%H$"),
			gittest.Gitlink("g", strings.Repeat("a", 40))},
		"described once": {gittest.Regular(".gitattributes", "v* export-subst\n"),
			gittest.Regular("a/v1", "$Format:%(describe)$ $Format:%(describe)$"),
			gittest.Regular("v2", "$Format:%(describe)$"), gittest.Regular("v3", "$Format:%d %D %h$")},
		"line ends": {gittest.Regular(".gitattributes",
			"*.bat text eol=crlf\n*.txt text=auto eol=crlf\n*.sh eol=lf\n*.bin -text eol=crlf\n*.old crlf\n"),
			gittest.Regular("a.bat", "one\ntwo\r\nthree"), gittest.Regular("a.txt", "one\ntwo\n"),
			gittest.Regular("b.txt", "one\r\ntwo\n"), gittest.Regular("c.txt", "a\x00b\n"),
			gittest.Regular("a.sh", "one\r\n"), gittest.Regular("a.bin", "one\n"),
			gittest.Regular("a.old", "one\n"), gittest.Regular("empty.bat", "")},
		"large converted": {gittest.Regular(".gitattributes", "*.bat eol=crlf\n* ident\n"),
			gittest.Regular("a.bat", strings.Repeat("line\n", 60_000)),
			gittest.Regular("b", strings.Repeat("$Id$ and more\n", 160_000)),
			gittest.Regular("c.bat", strings.Repeat("$Id: x $\n", 250_000)), gittest.Regular("z", "$Id$")},
		"ident": {gittest.Regular(".gitattributes", "* ident\n"),
			gittest.Regular("a", "$Id$ $Id: old $ $Id"), gittest.Regular("b/c", "none"), gittest.Symlink("l", "$Id$")},
		"encoding": {gittest.Regular(".gitattributes",
			"*.u16 working-tree-encoding=UTF-16LE-BOM eol=crlf\n*.l1 working-tree-encoding=ISO-8859-1\n*.no working-tree-encoding=nonsense\n"), gittest.Regular("a.u16", "h\u00e4llo\n"), gittest.Regular("a.l1", "h\u00e4llo\n"), gittest.Regular("b.l1", "\u20ac cannot be\n"), gittest.Regular("a.no", "h\u00e4llo\n")},
		"all together": {gittest.Regular(".gitattributes", "* text eol=crlf ident export-subst\nskip export-ignore\n"),
			gittest.Regular("a", "$Id$\n$Format:%H%n%s$\n"), gittest.Regular("d/skip", ""),
			gittest.Regular("d/x", "x\n"),
			gittest.Regular("large", strings.Repeat("$Id$\n$Format:%an$\n", 30_000))},
		"a filter is not run": {gittest.Regular(".gitattributes", "* filter=lfs diff=lfs merge=lfs -text\n"),
			gittest.Regular("a", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("a", 64)+
				"\nsize 5\n")},
		"names with blanks": {gittest.Regular(".gitattributes",
			"\"with blank\" export-ignore\n\"tab\\there\" export-ignore\n\xff export-ignore\n"),
			gittest.Regular("with blank", "1"), gittest.Regular("tab\there", "2"), gittest.Regular("\xff", "3"),
			gittest.Regular("kept", "4")},
		"nothing is left": {gittest.Regular(".gitattributes", "* export-ignore\n"), gittest.Regular("a", "1"),
			gittest.Regular("d/b", "2")},
		"crlf attributes": {gittest.Regular(".gitattributes", "a export-ignore\r\nb export-subst\r\n"),
			gittest.Regular("a", "1"), gittest.Regular("b", "$Format:%H$")},
		"long line": {gittest.Regular(".gitattributes", "a"+strings.Repeat(" x", 1100)+
			" export-ignore\nb export-ignore\n"), gittest.Regular("a", "1"), gittest.Regular("b", "2")},
		"attributes not ours": {gittest.Regular(".gitattributes", "* text=auto\n*.png binary\n*.go diff=golang\n*.pdf -diff\n"),
			gittest.Regular("a.png", "\x89PNG"), gittest.Regular("a.go", "package a\r\n"),
			gittest.Regular("a.pdf", "x")},
		"below a hidden folder": {gittest.Regular(".gitattributes", "d export-ignore\nd/keep -export-ignore\n"),
			gittest.Regular("d/keep", "1"), gittest.Regular("d/e/keep", "2"), gittest.Regular("a", "")},
		"attributes of a folder": {gittest.Regular("d/.gitattributes", "/x export-ignore\nsub/y export-ignore\n"),
			gittest.Regular("d/x", "1"), gittest.Regular("d/sub/x", "2"), gittest.Regular("d/sub/y", "3"),
			gittest.Regular("x", "4"), gittest.Regular("sub/y", "5")},
	}
}

// selections are pathspecs that a tree is archived with; those that match
// nothing are refused by both.
var selections = [][]string{
	{"d"}, {"d/"}, {"*.txt"}, {"a", "z"}, {":(glob)*"}, {":(glob)**/a*"}, {":(exclude)d"}, {"d", ":!d/a"}, {"*"},
	{":(icase)A"}, {"nothing-like-this"}, {"d/e"}, {".gitattributes"},
}

func TestTarWithAttributesIsGitArchiveToTheByte(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	compared := 0
	for name, files := range attributed() {
		repo := gittest.New(t)
		repo.Commit("main", gittest.Regular("first", ""))
		repo.Git("tag", "-a", "-m", "one", "v1.0", "main")
		commit := repo.Commit("main", files...)
		for _, info := range []string{"",
			"a -export-ignore\nkept export-ignore\n*.sh eol=crlf\n[attr]other export-ignore\n"} {
			repo.WriteFile("info/attributes", []byte(info))
			for i, prefix := range []string{"", "p/q/", "glued-"} {
				if i > 0 && (i+compared)%gittest.Volume(4, 1) != 0 { // TestTarIsGitArchiveToTheByte has all
					continue
				}
				compareTar(t, name, repo, commit, archive.Options{Prefix: prefix})
				compared++
				if info != "" {
					continue // git applies those also with --worktree-attributes
				}
				compareTar(t, name, repo, commit, archive.Options{Prefix: prefix, Profile: archive.ProfileFull})
				compared++
			}
		}
	}
	if least := len(attributed()) * gittest.Volume(3, 9); compared < least {
		t.Errorf("compared %d archives, want %d", compared, least)
	}
}

func TestSelectedTarIsGitArchiveToTheByte(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	all := attributed()
	for name, files := range trees() {
		all[name] = files
	}
	compared, refused := 0, 0
	for i, name := range slices.Sorted(maps.Keys(all)) {
		repo := gittest.New(t)
		commit := repo.Commit("main", all[name]...)
		for j, paths := range selections {
			if (i+j)%gittest.Volume(3, 1) != 0 {
				continue
			}
			if compareTar(t, name, repo, commit, archive.Options{Paths: paths}) {
				compared++
			} else {
				refused++
			}
		}
	}
	if want := len(all) * len(selections) / gittest.Volume(3, 1); compared+refused < want-len(all) ||
		compared < want/4 || refused < want/4 {
		t.Errorf("compared %d archives and %d refusals, want %d", compared, refused, want)
	}
}

// TestReplacementRefsHaveNoPart replaces a commit, a tree and a blob, of which
// git archive would show the replacements.
func TestReplacementRefsHaveNoPart(t *testing.T) {
	repo := gittest.New(t)
	shown := gittest.Regular(".gitattributes", "v export-subst\n")
	other := repo.Commit("other", shown, gittest.Regular("v", "other $Format:%H$"), gittest.Regular("d/a", "other"),
		gittest.Regular("e/b", "other"))
	repo.Commit("main", gittest.Regular("first", ""))
	repo.Git("tag", "-a", "-m", "one", "v1.0", "main")
	commit := repo.Commit("main", shown, gittest.Regular("v", "$Format:%H %T %P %s %d %h$ $Format:%(describe)$"),
		gittest.Regular("d/a", "1"), gittest.Regular("e/b", "2"))
	for _, object := range []string{":d", ":e/b", "", "^"} {
		repo.Git("replace", commit+object, other+strings.TrimSuffix(object, "^"))
		compareTar(t, "replaced "+object, repo, commit, archive.Options{})
		compareTar(t, "replaced "+object, repo, commit, archive.Options{Profile: archive.ProfileFull})
		cmd := exec.Command("git", "-c", "tar.umask=0002", "archive", "--format=tar", commit)
		cmd.Dir = repo.Dir
		cmd.Env = slices.DeleteFunc(gittest.Env(),
			func(v string) bool { return strings.HasPrefix(v, "GIT_NO_REPLACE_OBJECTS=") })
		followed, err := cmd.Output()
		if err != nil || bytes.Equal(followed, repo.Archive("--format=tar", commit)) {
			t.Errorf("replaced %s: git shows no replacement, %v: the test is about one", object, err)
		}
	}
}

// compareTar compares with git, also in parts and by its measure. It reports
// whether there was something to compare: both may refuse.
func compareTar(t *testing.T, name string, repo *gittest.Repo, commit string, options archive.Options) bool {
	t.Helper()
	return compareRevisions(t, name, repo, commit, "main", options)
}

// compareTarOf compares archives of a revision that both resolve.
func compareTarOf(t *testing.T, repo *gittest.Repo, revision string, options archive.Options) {
	t.Helper()
	compareRevisions(t, revision, repo, revision, revision, options)
}

func compareRevisions(t *testing.T, name string, repo *gittest.Repo, commit, revision string,
	options archive.Options) bool {
	t.Helper()
	options.Format = archive.Tar
	name = fmt.Sprintf("%s, prefix %q, profile %q, paths %q", name, options.Prefix, options.Profile, options.Paths)
	args := []string{"--format=tar", "--prefix=" + options.Prefix}
	if options.Profile == archive.ProfileFull {
		args = append(args, "--worktree-attributes")
	}
	want, ok := repo.TryArchive(append(append(args, commit, "--"), options.Paths...)...)
	p, err := tryPlan(t, repo, revision, options)
	if !ok || err != nil {
		if ok || !errors.As(err, new(*archive.NoMatchError)) && !errors.Is(err, archive.ErrOption) {
			t.Errorf("%s: %v, git made one: %v", name, err, ok)
		}
		return false
	}
	got := write(t, p)
	if !bytes.Equal(got, want) {
		t.Errorf("%s: tar differs", name)
		gittest.DiffTar(t, gittest.ReadTar(t, bytes.NewReader(got)), gittest.ReadTar(t, bytes.NewReader(want)))
		return true
	}
	if measure, err := p.Measure(t.Context()); err != nil || measure.Bytes != int64(len(got)) {
		t.Errorf("%s: measured %+v, %v; the archive has %d bytes", name, measure, err, len(got))
	}
	compareRanges(t, name, p, got)
	return true
}

// compareRanges compares parts of an archive with the whole; few parts if it is
// large.
func compareRanges(t *testing.T, name string, p *archive.Plan, whole []byte) {
	t.Helper()
	size := int64(len(whole))
	step := 1
	if size > 1<<20 {
		step = gittest.Volume(4, 1)
	}
	for i, c := range [][2]int64{{0, -1}, {1, 1}, {511, 514}, {1024, -1}, {size / 3, size / 3}, {size / 2, -1},
		{size - 1, 1}, {max(size-10240, 0), -1}, {size, -1}, {size + 1, 5}, {0, size}, {7, 0}} {
		if i%step != 0 {
			continue
		}
		var part bytes.Buffer
		if err := p.WriteRange(t.Context(), &part, c[0], c[1]); err != nil {
			t.Errorf("%s: range %v: %v", name, c, err)
			continue
		}
		from := min(c[0], size)
		to := size
		if c[1] >= 0 {
			to = min(from+c[1], size)
		}
		if !bytes.Equal(part.Bytes(), whole[from:to]) {
			t.Errorf("%s: range %v has %d other bytes", name, c, part.Len())
		}
	}
}

func TestRangesOfEveryFormatAreParts(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", "a"), gittest.Regular("held", gittest.Noise(300<<10)),
		gittest.Regular("shares a run", "b"),
		gittest.Regular("streamed", gittest.Noise(4<<20+1)), gittest.Regular("z", "z"))
	repo.Commit("small", trees()["many"]...)
	for _, format := range archive.Formats() {
		branch := "main"
		if format == archive.TarXz { // is slow
			branch = "small"
		}
		p := plan(t, repo, branch, archive.Options{Format: format})
		compareRanges(t, string(format), p, write(t, p))
	}
}

func TestStripLeavesAFolderOut(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular(".gitattributes", "*.md export-ignore\n/hidden export-ignore\n"),
		gittest.Regular("src/lib/a.go", "a"), gittest.Regular("src/lib/x/b.go", "b"),
		gittest.Regular("src/lib/c.md", "c"), gittest.Regular("src/other", "o"), gittest.Regular("top",
			"t"), gittest.Regular("hidden/a", "1"))
	for _, c := range []struct {
		options archive.Options
		want    []string
	}{
		{archive.Options{Strip: "src/lib"}, []string{"a.go", "x/", "x/b.go"}},
		{archive.Options{Strip: "src/lib/"}, []string{"a.go", "x/", "x/b.go"}},
		{archive.Options{Strip: "src/lib", Prefix: "p/"}, []string{"p/", "p/a.go", "p/x/", "p/x/b.go"}},
		{archive.Options{Strip: "src", Paths: []string{"src/lib/x"}}, []string{"lib/", "lib/x/", "lib/x/b.go"}},
		{archive.Options{Strip: "src", Exclude: []string{"src/lib"}}, []string{"other"}},
		{archive.Options{Strip: "src/lib", Profile: archive.ProfileFull}, []string{"a.go", "c.md", "x/", "x/b.go"}},
		{archive.Options{Strip: "hidden"}, nil},
	} {
		c.options.Format = archive.Tar
		tr := tar.NewReader(bytes.NewReader(write(t, plan(t, repo, "main", c.options))))
		var got []string
		for {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Typeflag != tar.TypeXGlobalHeader {
				got = append(got, h.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.options, got, c.want)
		}
	}
	for _, missing := range []string{"nothing", "top", "src/lib/a.go", "src/lib/nothing"} {
		var nothing *archive.NoMatchError
		if _, err := tryPlan(t, repo, "main", archive.Options{Format: archive.Tar, Strip: missing}); !errors.As(err,
			&nothing) || nothing.Value != missing {
			t.Errorf("strip=%s: %v", missing, err)
		}
	}
}

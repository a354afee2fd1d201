package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
)

// group is a folder of repositories that name each other as submodules.
type group struct {
	t    *testing.T
	root string
	// opened are the repositories of submodules, each time that one was opened.
	opened []string
	repo   map[string]*gittest.Repo
}

func newGroup(t *testing.T) *group {
	return &group{t: t, root: t.TempDir(), repo: make(map[string]*gittest.Repo)}
}

// commit records a commit in a repository, which is made at its first.
func (g *group) commit(name string, files ...gittest.File) string {
	g.t.Helper()
	if g.repo[name] == nil {
		g.repo[name] = gittest.At(g.t, filepath.Join(g.root, name+".git"))
	}
	return g.repo[name].Commit("main", files...)
}

// modules is a .gitmodules file of paths and URLs.
func modules(pairs ...string) gittest.File {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "[submodule %q]\n\tpath = %s\n\turl = %s\n", pairs[i], pairs[i], pairs[i+1])
	}
	return gittest.Regular(".gitmodules", b.String())
}

// served opens submodules in the catalogue.
type served struct {
	view   repos.View
	of     *repos.Repository
	opened func(*git.Snapshot)
}

func (s served) Open(ctx context.Context, url string, id git.ID) (archive.Sibling, error) {
	repository, err := s.view.Sibling(s.of, url)
	if err != nil {
		return archive.Sibling{}, err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return archive.Sibling{}, err
	}
	s.opened(snapshot)
	commit, err := snapshot.Resolve(ctx, id.String())
	return archive.Sibling{Repository: repository.Name(), Source: snapshot, Commit: commit,
		Siblings: served{s.view, repository, s.opened}}, err
}

// plan makes the plan of the head of a repository, with its submodules.
func (g *group) plan(name string, options archive.Options) (*archive.Plan, error) {
	g.t.Helper()
	catalogue, err := repos.Open(g.root, repos.Options{})
	if err != nil {
		g.t.Fatal(err)
	}
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		engine.Close()
		if err := catalogue.Close(); err != nil {
			g.t.Error(err)
		}
	})
	opened := func(s *git.Snapshot) {
		name, err := filepath.Rel(g.root, s.Folder())
		if err != nil {
			g.t.Error(err)
		}
		g.opened = append(g.opened, strings.TrimSuffix(name, ".git"))
		g.t.Cleanup(func() {
			if err := s.Close(); err != nil {
				g.t.Error(err)
			}
		})
	}
	repository, err := catalogue.Get(name)
	if err != nil {
		g.t.Fatal(err)
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		g.t.Fatal(err)
	}
	opened(snapshot)
	g.opened = nil
	commit, err := snapshot.ResolveTreeish(g.t.Context(), "main")
	if err != nil {
		g.t.Fatal(err)
	}
	if options.Format == "" {
		options.Format = archive.Tar
	}
	options.Submodules, options.Siblings = archive.SubmodulesContent, served{catalogue.View, repository, opened}
	return engine.Plan(g.t.Context(), snapshot, commit, options)
}

// placed is where a commit of another repository is expected.
type placed map[string][2]string

// compose puts archives that git made into each other: of a repository, and of
// the submodules in the place of their empty folders.
func (g *group) compose(prefix, at string, from [2]string, full bool, below placed) []gittest.TarEntry {
	g.t.Helper()
	args := []string{"--format=tar", "--prefix=" + prefix + at}
	if full {
		args = append(args, "--worktree-attributes")
	}
	made := gittest.ReadTar(g.t, bytes.NewReader(g.repo[from[0]].Archive(append(args, from[1])...)))
	if at != "" {
		made = made[1:] // the comment
	}
	var all []gittest.TarEntry
	for _, e := range made {
		path := strings.TrimSuffix(strings.TrimPrefix(e.Name, prefix), "/")
		if inner, ok := below[path]; ok && path+"/" != at {
			all = append(all, g.compose(prefix, path+"/", inner, full, below)...)
			continue
		}
		all = append(all, e)
	}
	return all
}

// check compares an archive with what is composed, and with itself in parts.
func (g *group) check(what, name string, options archive.Options, below placed) {
	g.t.Helper()
	p, err := g.plan(name, options)
	if err != nil {
		g.t.Errorf("%s: %v", what, err)
		return
	}
	got := write(g.t, p)
	want := g.compose(options.Prefix, "", [2]string{name, p.Head().Commit.String()},
		options.Profile == archive.ProfileFull, below)
	for i := range want {
		want[i].ModTime = want[0].ModTime
		if want[i].Type != tar.TypeXGlobalHeader {
			want[i].ModTime = p.Head().When.Unix()
		}
	}
	entries := gittest.ReadTar(g.t, bytes.NewReader(got))
	if gittest.DiffTar(g.t, entries, want); g.t.Failed() {
		g.t.Fatalf("%s differs", what)
	}
	g.measured(what, p, got)
}

// measured compares a tar with its measure and its ranges.
func (g *group) measured(what string, p *archive.Plan, got []byte) {
	g.t.Helper()
	entries := gittest.ReadTar(g.t, bytes.NewReader(got))
	if m, err := p.Measure(g.t.Context()); err != nil || m.Bytes != int64(len(got)) ||
		m.Entries != int64(len(entries))-1 {
		g.t.Errorf("%s: measured %+v, %v; the archive has %d bytes and %d entries", what, m, err, len(got),
			len(entries)-1)
	}
	if v, err := p.Validator(g.t.Context()); err != nil || !v.Weak {
		g.t.Errorf("%s: validator %+v, %v", what, v, err)
	}
	compareRanges(g.t, what, p, got)
}

// family is a repository with submodules of all kinds, and where their content
// belongs.
func family(t *testing.T) (*group, placed) {
	g := newGroup(t)
	deep := g.commit("other/deep", gittest.Regular("deep.txt", "deep\n"), gittest.Symlink("link", "deep.txt"))
	oldLib := g.commit("group/lib", gittest.Regular("old", "old\n"))
	lib := g.commit("group/lib",
		gittest.Regular(".gitattributes",
			"skipped export-ignore\nversion export-subst\n*.bat eol=crlf\n/rooted export-ignore\n"),
		gittest.Regular("rooted", "1"), gittest.Regular("d/.gitattributes", "/own export-ignore\n"),
		gittest.Regular("d/own", "1"), gittest.Regular("d/rooted", "2"), gittest.Regular("d/e/own", "2"),
		modules("inner/deep", "../../other/deep.git"), gittest.Gitlink("inner/deep", deep),
		gittest.Regular("skipped", "1"), gittest.Regular("version", "$Format:%H %s$ $Format:%(describe)$\n"),
		gittest.Regular("a.bat", "one\ntwo\n"),
		gittest.Executable("run", strings.Repeat("#!/bin/sh\n", 50_000)), gittest.Regular("d/e/f", "f"))
	g.repo["group/lib"].Git("tag", "-a", "-m", "one", "v1", "main")
	var many []gittest.File
	for i := range 150 {
		many = append(many, gittest.Regular(fmt.Sprintf("m%d/%03d", i%3, i), strings.Repeat("m", i*97)))
	}
	data := g.commit("data", many...)
	g.commit("group/main",
		gittest.Regular(".gitattributes",
			"skipped export-ignore\n*.txt eol=crlf\nhidden export-ignore\nversion export-subst\n"),
		modules("libs/lib", "../lib.git", "libs/old", "https://example.com/group/lib.git", "data",
			"git@example.com:/data.git", "hidden", "../lib", "elsewhere", "https://example.com/who/knows.git", "gone",
			"../lib.git", "no-link", "../lib.git"),
		gittest.Gitlink("libs/lib", lib), gittest.Gitlink("libs/old", oldLib), gittest.Gitlink("data", data),
		gittest.Gitlink("hidden", lib),
		gittest.Gitlink("elsewhere", lib), gittest.Gitlink("gone", strings.Repeat("a", 40)),
		gittest.Gitlink("untold", lib), gittest.Regular("no-link", "a file"),
		gittest.Regular("version", "$Format:%H %s$\n"), gittest.Regular("skipped", "2"), gittest.Regular("a.txt",
			"a\n"), gittest.Regular("zz", "last"))
	return g, placed{
		"libs/lib": {"group/lib", lib}, "libs/lib/inner/deep": {"other/deep", deep}, "libs/old": {"group/lib", oldLib},
		"data": {"data", data}, "hidden": {"group/lib", lib}, "hidden/inner/deep": {"other/deep", deep},
	}
}

func TestTarOfSubmodulesIsComposedOfGitArchives(t *testing.T) {
	gittest.Long(t)
	g, below := family(t)
	for _, profile := range []archive.Profile{archive.ProfileArchive, archive.ProfileFull} {
		for _, prefix := range []string{"", "p/q/", "glued-"} {
			g.check(fmt.Sprintf("%s, prefix %q", profile, prefix), "group/main",
				archive.Options{Profile: profile, Prefix: prefix}, below)
		}
	}
	for _, name := range []string{"group/lib", "group/main"} {
		g.repo[name].WriteFile("info/attributes", []byte("*.bat -export-ignore export-subst\nd export-ignore\n"))
	}
	g.check("info/attributes", "group/main", archive.Options{}, below)
	for name := range g.repo {
		g.repo[name].Git("repack", "-adfq")
	}
	g.check("packed", "group/main", archive.Options{}, below)
	p, err := g.plan("group/main", archive.Options{Format: archive.TarGz})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := g.plan("group/main", archive.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(gunzip(t, write(t, p)), write(t, plain)) {
		t.Error("the tar in tar.gz differs")
	}
}

func TestSubmodulesAreEmptyWithoutTheOption(t *testing.T) {
	g, _ := family(t)
	repo := g.repo["group/main"]
	catalogue, err := repos.Open(g.root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, choice := range []archive.Submodules{"", archive.SubmodulesOmit} {
		got := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar, Submodules: choice}))
		if !bytes.Equal(got, repo.Archive("--format=tar", "main^{commit}")) {
			t.Errorf("submodules=%q: tar differs", choice)
		}
	}
	if _, err := tryPlan(t, repo, "main",
		archive.Options{Format: archive.Tar, Submodules: archive.SubmodulesContent}); !errors.Is(
		err, archive.ErrOption) {
		t.Errorf("without other repositories: %v", err)
	}
}

// TestPathsOfSubmodules chooses below, above and beside submodules.
func TestPathsOfSubmodules(t *testing.T) {
	g := newGroup(t)
	deep := g.commit("deep", gittest.Regular("x", "x"), gittest.Regular("y.md", "y"))
	lib := g.commit("lib", modules("in/deep", "../deep"), gittest.Gitlink("in/deep", deep),
		gittest.Regular("src/a.go", "a"), gittest.Regular("b.md", "b"))
	g.commit("main", gittest.Regular(".gitattributes", "c.md export-ignore\n"), modules("libs/lib", "../lib"),
		gittest.Gitlink("libs/lib", lib), gittest.Gitlink("libs/none", lib), gittest.Regular("src/c.go",
			"c"), gittest.Regular("c.md", "c"))
	gitmodules := ".gitmodules"
	for _, c := range []struct {
		options archive.Options
		want    []string // nil: nothing matches
	}{
		{archive.Options{Paths: []string{"libs/lib/src"}}, []string{"libs/", "libs/lib/", "libs/lib/src/",
			"libs/lib/src/a.go"}},
		{archive.Options{Paths: []string{"libs/lib/src/a.go"}, Prefix: "p/"}, []string{"p/", "p/libs/", "p/libs/lib/",
			"p/libs/lib/src/", "p/libs/lib/src/a.go"}},
		{archive.Options{Paths: []string{"*.go"}}, []string{"libs/", "libs/lib/", "libs/lib/src/", "libs/lib/src/a.go",
			"src/", "src/c.go"}},
		{archive.Options{Paths: []string{":(glob)**/x"}}, []string{"libs/", "libs/lib/", "libs/lib/in/",
			"libs/lib/in/deep/", "libs/lib/in/deep/x"}},
		{archive.Options{Paths: []string{"libs/lib/in/deep"}}, []string{"libs/", "libs/lib/", "libs/lib/in/",
			"libs/lib/in/deep/", "libs/lib/in/deep/x", "libs/lib/in/deep/y.md"}},
		{archive.Options{Paths: []string{":(glob)libs/*"}}, []string{"libs/", "libs/lib/", "libs/none/"}},
		{archive.Options{Paths: []string{"libs/none/"}}, []string{"libs/", "libs/none/"}},
		{archive.Options{Paths: []string{"libs/lib"}, Exclude: []string{"*.md", "libs/lib/in"}},
			[]string{"libs/", "libs/lib/", "libs/lib/.gitmodules", "libs/lib/src/", "libs/lib/src/a.go"}},
		{archive.Options{Exclude: []string{"libs/lib"}}, []string{".gitattributes", gitmodules, "libs/", "libs/none/",
			"src/", "src/c.go"}},
		{archive.Options{Strip: "libs"}, []string{"lib/", "lib/.gitmodules", "lib/b.md", "lib/in/", "lib/in/deep/",
			"lib/in/deep/x", "lib/in/deep/y.md", "lib/src/", "lib/src/a.go", "none/"}},
		{archive.Options{Strip: "libs/lib"}, []string{gitmodules, "b.md", "in/", "in/deep/", "in/deep/x",
			"in/deep/y.md", "src/", "src/a.go"}},
		{archive.Options{Strip: "libs/lib/src", Prefix: "q/"}, []string{"q/", "q/a.go"}},
		{archive.Options{Strip: "libs/lib/in"}, []string{"deep/", "deep/x", "deep/y.md"}},
		{archive.Options{Strip: "libs/lib/in/deep"}, []string{"x", "y.md"}},
		{archive.Options{Strip: "libs/lib", Paths: []string{"libs/lib/src"}}, []string{"src/", "src/a.go"}},
		{archive.Options{Strip: "src"}, []string{"c.go"}},
		{archive.Options{Strip: "libs/none"}, nil},
		{archive.Options{Strip: "libs/lib/b.md"}, nil},
		{archive.Options{Paths: []string{"libs/lib/nothing"}}, nil},
		{archive.Options{Paths: []string{"libs/none/src"}}, nil},
		{archive.Options{Paths: []string{"libs/lib/in/deep/*.c"}}, nil},
	} {
		what := fmt.Sprintf("paths %q, exclude %q, strip %q", c.options.Paths, c.options.Exclude, c.options.Strip)
		p, err := g.plan("main", c.options)
		if c.want == nil {
			if !errors.As(err, new(*archive.NoMatchError)) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		got := write(t, p)
		if names := gittest.TarNames(t, bytes.NewReader(got)); !slices.Equal(names, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", what, names, c.want)
		}
		g.measured(what, p, got)
	}
}

func TestWhatIsNotChosenIsNotOpened(t *testing.T) {
	g, _ := family(t)
	for _, c := range []struct {
		options archive.Options
		want    []string
	}{
		// That "gone" has no such commit shows only in an open repository.
		{archive.Options{}, []string{"data", "group/lib", "group/lib", "other/deep", "group/lib", "other/deep",
			"group/lib"}},
		{archive.Options{Paths: []string{"data"}}, []string{"data"}},
		{archive.Options{Paths: []string{"libs/lib/d"}}, []string{"group/lib"}},
		{archive.Options{Paths: []string{"libs/lib/inner"}}, []string{"group/lib", "other/deep"}},
		{archive.Options{Paths: []string{"zz"}}, nil},
		{archive.Options{Strip: "libs/lib/inner"}, []string{"group/lib", "other/deep"}},
		{archive.Options{Strip: "libs/old"}, []string{"group/lib"}},
	} {
		if _, err := g.plan("group/main", c.options); err != nil {
			t.Errorf("%+v: %v", c.options, err)
		}
		if got := g.opened; !slices.Equal(got, c.want) {
			t.Errorf("paths %q, strip %q: opened %q, want %q", c.options.Paths, c.options.Strip, got, c.want)
		}
	}
}

func TestACommitThatIsNotServedStaysEmpty(t *testing.T) {
	g := newGroup(t)
	private := g.commit("lib", gittest.Regular("secret", "1"))
	g.repo["lib"].Git("update-ref", "-d", "refs/heads/main")
	g.commit("lib", gittest.Regular("public", "2"))
	tag := g.repo["lib"].Git("rev-parse", "main^{tree}")
	g.commit("main", modules("a", "../lib", "b", "../lib"), gittest.Gitlink("a", private), gittest.Gitlink("b", tag))
	g.check("unreachable", "main", archive.Options{}, nil)
}

// TestTagTellsWhichSubmodulesAreServed: an archive that was made before a
// repository came must not pass for the one after.
func TestTagTellsWhichSubmodulesAreServed(t *testing.T) {
	g := newGroup(t)
	lib := g.commit("aside/lib", gittest.Regular("a", "1"))
	g.commit("main", modules("lib", "../lib"), gittest.Gitlink("lib", lib))
	tags := make(map[string]bool)
	for range 2 {
		p, err := g.plan("main", archive.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Validator(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tags[v.Tag] = true
		g.repo["lib"] = gittest.At(t, filepath.Join(g.root, "lib.git"))
		g.repo["lib"].Git("fetch", "-q", filepath.Join(g.root, "aside", "lib.git"), "main:main")
	}
	if len(tags) != 2 {
		t.Error("both archives have the same tag")
	}
}

func TestPointersInSubmodulesAreOfTheirRepository(t *testing.T) {
	g := newGroup(t)
	track := gittest.Regular(".gitattributes", "*.bin filter=lfs\n")
	lib := g.commit("lib", track, gittest.Regular("a.bin", pointerTo("of the submodule")),
		gittest.Regular("b.bin", pointerTo("of the parent")))
	g.commit("main", track, modules("lib", "../lib"), gittest.Gitlink("lib", lib),
		gittest.Regular("a.bin", pointerTo("of the submodule")), gittest.Regular("b.bin", pointerTo("of the parent")))
	store(g.repo["lib"], "of the submodule")
	store(g.repo["main"], "of the parent")
	smudge(t, g.repo["lib"])
	smudge(t, g.repo["main"])
	g.check("pointers", "main", archive.Options{LFS: archive.LFSContent}, placed{"lib": {"lib", lib}})
}

func TestASubmoduleOfNothingIsAFolder(t *testing.T) {
	g := newGroup(t)
	nothing := g.commit("nothing")
	g.commit("main", modules("a/b", "../nothing", "z", "../nothing"), gittest.Gitlink("a/b", nothing),
		gittest.Gitlink("z", nothing))
	g.check("nothing", "main", archive.Options{}, placed{"a/b": {"nothing", nothing}, "z": {"nothing", nothing}})
}

func TestABrokenModulesFileNamesNothing(t *testing.T) {
	for name, content := range map[string]string{"malformed": "[submodule \"a\npath", "empty": "",
		"large": strings.Repeat("#\n", git.MaxSubmodulesBytes)} {
		g := newGroup(t)
		lib := g.commit("lib", gittest.Regular("a", "1"))
		g.commit("main", gittest.Regular(".gitmodules", content), gittest.Gitlink("a", lib))
		if name == "large" {
			if _, err := g.plan("main", archive.Options{}); !errors.Is(err, archive.ErrLimit) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		g.check(name, "main", archive.Options{}, nil)
	}
}

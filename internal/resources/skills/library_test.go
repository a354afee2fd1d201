package skills_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
	"github.com/repomcp/repomcp/internal/resources/skills"
)

// manifest is a SKILL.md in a folder of the skill's name.
func manifest(folder string) gittest.File {
	name := folder[strings.LastIndexByte(folder, '/')+1:]
	return gittest.Regular(folder+"/SKILL.md", "---\nname: "+name+"\ndescription: About "+name+".\n---\nDo it.\n")
}

// library is a library over one repository named "team/tools".
type library struct {
	*skills.Library
	t         *testing.T
	repo      *gittest.Repo
	catalogue *repos.Catalogue
}

func newLibrary(t *testing.T, options skills.Options, catalogue repos.Options) *library {
	t.Helper()
	root := t.TempDir()
	l := &library{t: t, repo: gittest.At(t, filepath.Join(root, "team/tools.git"))}
	l.catalogue = repostest.Open(t, root, catalogue)
	var err error
	if l.Library, err = skills.New(options); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *library) list() *skills.Listing {
	l.t.Helper()
	repository, err := l.catalogue.Get("team/tools")
	if err != nil {
		l.t.Fatal(err)
	}
	listing, err := l.List(l.t.Context(), repository)
	if err != nil {
		l.t.Fatal(err)
	}
	return listing
}

// paths are those of the listed skills.
func (l *library) paths() (paths []string) {
	l.t.Helper()
	for _, skill := range l.list().Skills {
		paths = append(paths, skill.Path)
	}
	return paths
}

func TestPatternsSelectFolders(t *testing.T) {
	t.Parallel()
	root := gittest.Regular("SKILL.md", "---\nname: tools\ndescription: All.\n---\n")
	files := []gittest.File{
		root, manifest("skills/one"), manifest("skills/one/parts/two"), manifest("skills/group/three"),
		manifest(".claude/skills/four"), manifest(".agents/skills/five"), manifest("docs/six"),
		gittest.Regular("skills/no/README.md", "no skill"), gittest.Regular("skills/SKILL.md", "in no folder of a skill"),
	}
	for _, test := range []struct {
		patterns []string
		want     string
	}{
		{nil, " .agents/skills/five .claude/skills/four skills/one"}, {[]string{}, ""}, {[]string{"."}, ""},
		{[]string{"skills/*"}, "skills/one"}, {[]string{"skills/**"}, "skills/group/three skills/one skills/one/parts/two"},
		{[]string{"**/parts/*"}, "skills/one/parts/two"}, {[]string{"docs/six"}, "docs/six"}, {[]string{"d*/s?x"}, "docs/six"},
		{[]string{"**"}, ".agents/skills/five .claude/skills/four docs/six skills/group/three skills/one skills/one/parts/two"},
		{[]string{"docs/*", "docs/six", "none/*", "."}, " docs/six"}, {[]string{"docs"}, ""}, {[]string{"docs/six/*"}, ""},
	} {
		l := newLibrary(t, skills.Options{Patterns: test.patterns}, repos.Options{})
		l.repo.Commit("main", files...)
		if got := strings.Join(l.paths(), " "); got != test.want {
			t.Errorf("%q lists %q, want %q", test.patterns, got, test.want)
		}
	}
	for _, wrong := range []string{"", "/skills", "skills/", "../x", "a//b", "./a", ".."} {
		if _, err := skills.New(skills.Options{Patterns: []string{wrong}}); err == nil ||
			!strings.Contains(err.Error(), "no pattern of folders") {
			t.Errorf("the pattern %q: %v", wrong, err)
		}
	}
}

// TestFilesAreThoseOfGit compares paths, sizes and digests with what git has.
func TestFilesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{Patterns: []string{"skills/**"}}, repos.Options{})
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 5\n"
	l.repo.Commit("main", manifest("skills/outer"), manifest("skills/outer/inner"),
		gittest.Regular("skills/outer/empty", ""), gittest.Executable("skills/outer/scripts/run", "#!/bin/sh\n"),
		gittest.Regular("skills/outer/noise", gittest.Noise(1<<20)), gittest.Regular("skills/outer/copy", gittest.Noise(1<<20)),
		gittest.Regular("skills/outer/n\xe4me %?#", "x"), gittest.Regular("skills/outer/large.bin", pointer),
		gittest.Regular("skills/outer/crlf", "a\r\nb\r\n"), gittest.Regular(".gitattributes", "* text\n"),
		gittest.Symlink("skills/outer/link", "../../x"), gittest.Gitlink("skills/outer/module", strings.Repeat("1", 40)))
	l.repo.Git("repack", "-adfq")
	compared := 0
	for _, skill := range l.list().Skills {
		var want []string
		for line := range strings.SplitSeq(strings.TrimSuffix(l.repo.Git("ls-tree", "-rz", "main:"+skill.Path), "\x00"), "\x00") {
			about, path, _ := strings.Cut(line, "\t")
			if strings.HasPrefix(about, "100") {
				want = append(want, path+" "+l.describe(strings.Fields(about)[2]))
			}
		}
		var got []string
		for _, file := range skill.Files {
			got = append(got, fmt.Sprintf("%s %d %x", file.Path, file.Size, file.Digest))
			if file.Pointer != (file.Path == "large.bin") {
				t.Errorf("%s: Pointer is %t", file.Path, file.Pointer)
			}
			compared++
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%s\nwant\n%s", skill.Path, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if omitted := strings.Join(skill.Omitted, " "); skill.Path == "skills/outer" && omitted != "link module" {
			t.Errorf("omitted are %q", omitted)
		}
	}
	if compared != 10 {
		t.Errorf("%d files were compared", compared)
	}
}

// describe returns the length and the digest of a blob. Git writes it twice, because the end of what it
// writes is trimmed.
func (l *library) describe(id string) string {
	l.t.Helper()
	head, content, _ := strings.Cut(l.repo.GitInput([]byte(id+"\n"+id+"\n"), "cat-file", "--batch"), "\n")
	size, err := strconv.Atoi(head[strings.LastIndexByte(head, ' ')+1:])
	if err != nil {
		l.t.Fatal(err)
	}
	return fmt.Sprintf("%d %x", size, sha256.Sum256([]byte(content[:size])))
}

// many returns small files below a folder, all with other contents.
func many(folder string, count int) (files []gittest.File) {
	for i := range count {
		files = append(files, gittest.Regular(fmt.Sprintf("%s/f%d", folder, i), fmt.Sprint(i)))
	}
	return files
}

// TestLimitsAreThoseOfTheSpecification has skills with exactly as much as is allowed, and with one more.
func TestLimitsAreThoseOfTheSpecification(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	var logged bytes.Buffer
	l := newLibrary(t, skills.Options{Patterns: []string{"s/*"}, Logger: slog.New(slog.NewTextHandler(&logged, nil))},
		repos.Options{})
	head := len(manifest("s/size").Content)
	rest := skills.MaxBytes - head
	files := slices.Concat(
		[]gittest.File{manifest("s/files"), manifest("s/filez"), manifest("s/size"), manifest("s/sizz")},
		many("s/files", skills.MaxFiles-1), many("s/filez", skills.MaxFiles),
		[]gittest.File{
			gittest.Regular("s/size/a", gittest.Noise(rest/2)), gittest.Regular("s/size/b", gittest.Noise(rest-rest/2)),
			gittest.Regular("s/sizz/a", gittest.Noise(rest/2)), gittest.Regular("s/sizz/b", gittest.Noise(rest-rest/2)+"x"),
		})
	l.repo.Commit("main", files...)
	if got := l.paths(); !slices.Equal(got, []string{"s/files", "s/size"}) {
		t.Errorf("%q are listed", got)
	}
	for folder, want := range map[string]string{
		"s/filez": "more than the 512 files of SEP-2640", "s/sizz": "more than the 16777216 bytes of SEP-2640",
	} {
		if !strings.Contains(l.reason(folder), want) || !strings.Contains(logged.String(), want) ||
			!strings.Contains(logged.String(), "folder="+folder) {
			t.Errorf("%s is refused as %q, want %q there and in the log:\n%s", folder, l.reason(folder), want, &logged)
		}
	}
}

// reason is why a folder is refused.
func (l *library) reason(folder string) string {
	l.t.Helper()
	for _, refusal := range l.list().Refused {
		if refusal.Path == folder {
			return refusal.Reason
		}
	}
	return "not refused"
}

func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{Patterns: []string{"s/*"}, FileLimit: 2000}, repos.Options{})
	wrong := map[string]struct {
		files []gittest.File
		want  string
	}{
		"s/renamed": {[]gittest.File{gittest.Regular("s/renamed/SKILL.md", manifest("s/named").Content)}, "the name named of its"},
		"s/link":    {[]gittest.File{gittest.Symlink("s/link/SKILL.md", "../good/SKILL.md")}, "SKILL.md is no regular file"},
		"s/folder":  {[]gittest.File{gittest.Regular("s/folder/SKILL.md/x", "x")}, "SKILL.md is no regular file"},
		"s/pointer": {[]gittest.File{gittest.Regular("s/pointer/SKILL.md", "version https://git-lfs.github.com/spec/v1\noid "+
			"sha256:"+strings.Repeat("a", 64)+"\nsize 5\n")}, "a pointer of Git LFS"},
		"s/plain": {[]gittest.File{gittest.Regular("s/plain/SKILL.md", "# Plain\n")}, "SKILL.md: it does not begin with"},
		"s/large": {[]gittest.File{manifest("s/large"), gittest.Regular("s/large/x", strings.Repeat("x", 2001))},
			"x has 2001 bytes, more than the 2000 that resources/read returns"},
		"s/path": {[]gittest.File{manifest("s/path"), gittest.Regular("s/path/"+strings.Repeat("d/", 30)+
			strings.Repeat("x", 1000), "x")}, "longer than 1000 bytes"},
		"s/deep": {[]gittest.File{manifest("s/deep"), gittest.Regular("s/deep/"+strings.Repeat("d/", 70)+"x", "x")},
			"more than 64 levels"},
	}
	files := []gittest.File{manifest("s/good"), gittest.Regular("s/README.md", "x")}
	for _, test := range wrong {
		files = append(files, test.files...)
	}
	l.repo.Commit("main", files...)
	if got := l.paths(); !slices.Equal(got, []string{"s/good"}) {
		t.Errorf("%q are listed", got)
	}
	for folder, test := range wrong {
		if got := l.reason(folder); !strings.Contains(got, test.want) {
			t.Errorf("%q is refused as %q, want %q", folder, got, test.want)
		}
	}
	if got := l.list().Refused; len(got) != len(wrong) {
		t.Errorf("%d folders are refused, want %d: %v", len(got), len(wrong), got)
	}
}

// TestASkillAtTheRootHasTheNameOfItsRepository has no folder that could have the name.
func TestASkillAtTheRootHasTheNameOfItsRepository(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{}, repos.Options{})
	l.repo.Commit("main", gittest.Regular("SKILL.md", "---\nname: other\ndescription: x\n---\n"))
	if got, want := l.reason(""), "the name other of its frontmatter is not that of its folder, tools"; got != want {
		t.Errorf("refused as %q, want %q", got, want)
	}
	l.repo.Commit("main", gittest.Regular("SKILL.md", "---\nname: tools\ndescription: x\n---\n"))
	if got := l.paths(); !slices.Equal(got, []string{""}) {
		t.Errorf("%q are listed, want the root", got)
	}
}

// TestDamageHarmsOneSkillUntilItIsRepaired takes away an object, and puts it back.
func TestDamageHarmsOneSkillUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{}, repos.Options{})
	l.repo.Commit("main", manifest("skills/one"), manifest("skills/two"), gittest.Regular("skills/one/a", "only here"))
	id := l.repo.Git("rev-parse", "main:skills/one/a")
	object := filepath.Join(l.repo.Dir, "objects", id[:2], id[2:])
	if err := os.Rename(object, object+".away"); err != nil {
		t.Fatal(err)
	}
	if got := l.paths(); !slices.Equal(got, []string{"skills/two"}) {
		t.Errorf("%q are listed, want the other one", got)
	}
	if got := l.reason("skills/one"); !strings.Contains(got, "cannot be read") {
		t.Errorf("refused as %q", got)
	}
	if err := os.Rename(object+".away", object); err != nil {
		t.Fatal(err)
	}
	if got := l.paths(); !slices.Equal(got, []string{"skills/one", "skills/two"}) {
		t.Errorf("%q are listed after the repair", got)
	}
}

// TestAPushCostsItsDifference counts what is read.
func TestAPushCostsItsDifference(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{}, repos.Options{})
	var files []gittest.File
	for i := range 20 {
		folder := fmt.Sprintf("skills/s%d", i)
		files = append(files, manifest(folder), gittest.Regular(folder+"/a", fmt.Sprint("a", i)), gittest.Regular(folder+"/b", "same"))
	}
	l.repo.Commit("main", files...)
	if n := len(l.paths()); n != 20 {
		t.Fatalf("%d skills are listed", n)
	}
	first := l.Stats()
	if first.ReadFolders != 20 || first.ReadFiles != 41 || first.Kept != 20 || first.Bytes == 0 {
		t.Errorf("the first listing: %+v", first)
	}
	l.list()
	if again := l.Stats(); again != first {
		t.Errorf("the second listing: %+v after %+v", again, first)
	}
	files[4] = gittest.Regular("skills/s1/a", "changed")
	l.repo.Commit("main", append(files, gittest.Regular("README.md", "x"))...)
	if n := len(l.paths()); n != 20 {
		t.Fatalf("%d skills are listed", n)
	}
	// The SKILL.md of the changed folder is read again for its frontmatter.
	if pushed := l.Stats(); pushed.ReadFolders != first.ReadFolders+1 || pushed.ReadFiles != first.ReadFiles+2 {
		t.Errorf("after a push: %+v, before %+v", pushed, first)
	}
}

// TestOneRequestReadsForAll lists at once what nothing is known of.
func TestOneRequestReadsForAll(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{}, repos.Options{})
	var files []gittest.File
	for i := range 30 {
		files = append(files, manifest(fmt.Sprintf("skills/s%d", i)))
	}
	l.repo.Commit("main", files...)
	repository, err := l.catalogue.Get("team/tools")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if listing, err := l.List(t.Context(), repository); err != nil || len(listing.Skills) != 30 {
				t.Errorf("%v, %v", listing, err)
			}
		})
	}
	all.Wait()
	if stats := l.Stats(); stats.ReadFolders != 30 || stats.ReadFiles != 30 {
		t.Errorf("%+v were read", stats)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	l.repo.Commit("main", manifest("skills/another"))
	if _, err := l.List(gone, repository); err == nil {
		t.Error("a cancelled request lists skills")
	}
	if got := l.paths(); !slices.Equal(got, []string{"skills/another"}) {
		t.Errorf("after a cancelled request %q are listed", got)
	}
}

// TestChangesAreThoseOfListedSkills pushes what does and what does not change the list.
func TestChangesAreThoseOfListedSkills(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{}, repos.Options{})
	changes := func() bool {
		t.Helper()
		return len(l.Changes(t.Context(), l.catalogue.View, []string{"team/tools"})) == 1
	}
	l.list() // without a commit
	one, two, text := manifest("skills/one"), manifest("skills/two"), gittest.Regular("README.md", "x")
	for _, test := range []struct {
		what  string
		files []gittest.File
		want  bool
	}{
		{"a first commit without skills", []gittest.File{text}, false}, {"a skill", []gittest.File{text, one}, true},
		{"another file", []gittest.File{one}, false},
		{"a file of a skill", []gittest.File{one, gittest.Regular("skills/one/a", "a")}, true},
		{"a refused folder", []gittest.File{one, gittest.Regular("skills/one/a", "a"), gittest.Regular("skills/b/SKILL.md", "")}, false},
		{"a renamed skill", []gittest.File{two, gittest.Regular("skills/two/a", "a")}, true}, {"no skill", []gittest.File{text}, true},
	} {
		l.repo.Commit("main", test.files...)
		if got := changes(); got != test.want {
			t.Errorf("%s: changed is %t, want %t", test.what, got, test.want)
		}
		if changes() {
			t.Errorf("%s is told twice", test.what)
		}
		l.list()
	}
	l.repo.Commit("other", one)
	if changes() {
		t.Error("another branch changes the list")
	}
}

// TestListsHaveServedRefsAlone hides the default branch.
func TestListsHaveServedRefsAlone(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, skills.Options{}, repos.Options{HideRefs: []string{"refs/heads/main"}})
	l.repo.Commit("main", manifest("skills/one"))
	if got := l.paths(); len(got) > 0 {
		t.Errorf("%q of a hidden branch are listed", got)
	}
}

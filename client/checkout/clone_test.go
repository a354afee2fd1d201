package checkout

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// oddFiles are of all kinds that a commit has.
func oddFiles(version string) []gittest.File {
	return []gittest.File{
		gittest.Regular(".gitattributes", "*.crlf text eol=crlf\n*.ident ident\n*.utf16 working-tree-encoding=UTF-16LE text\n"),
		gittest.Regular("README", "about "+version), gittest.Regular("empty", ""), gittest.Executable("bin/run", "#!/bin/sh\n"+version),
		gittest.Regular("lines.crlf", "one\ntwo "+version+"\n"), gittest.Regular("sub/inner.crlf", "a\n\nb\n"+version),
		gittest.Regular("keyword.ident", "$Id$\n"+version), gittest.Regular("wide.utf16", "gr\u00fc\u00dfe "+version+"\n"),
		gittest.Symlink("link", "bin/run"), gittest.Symlink("sub/up", "../README"), gittest.Regular("twice/a", "same"),
		gittest.Regular("twice/b", "same"), gittest.Regular("café/naïve", version), gittest.Regular("a b/\"c\"", version),
		gittest.Regular("sub-more", version), gittest.Regular("sub.more", version), gittest.Regular("deep/er/and/deeper", version),
		gittest.Regular("large", version+gittest.Noise(700_000)), gittest.Gitlink("module", strings.Repeat("1", 40)),
	}
}

func checkouts(o *Options) { o.Profile = ProfileCheckout }

// git runs git in the folder.
func (p *place) git(args ...string) string {
	p.t.Helper()
	return gittest.Existing(p.t, p.dir).Git(args...)
}

// isClone fails the test unless the folder is what git clone makes: same files, modes, links, index, HEAD, and without
// a fault. It returns the number of files.
func (p *place) isClone() int {
	p.t.Helper()
	if status := p.git("status", "--porcelain"); status != "" {
		p.t.Errorf("git status: %s", status)
	}
	if p.git("update-index", "-q", "--really-refresh"); p.git("status", "--porcelain") != "" {
		p.t.Errorf("git status after a refresh: %s", p.git("status", "--porcelain"))
	}
	p.git("fsck", "--strict")
	other := *p
	other.dir = filepath.Join(p.t.TempDir(), "clone")
	p.repo.Git("clone", "-q", "--depth=1", "--branch=main", "file://"+p.repo.Dir, other.dir)
	for _, question := range [][]string{
		{"rev-parse", "HEAD"}, {"rev-parse", "--abbrev-ref", "HEAD"}, {"ls-files", "--stage"}, {"write-tree"},
		{"rev-parse", "--abbrev-ref", "HEAD@{upstream}"},
	} {
		if question[0] == "rev-parse" && p.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD" && len(question) > 2 {
			continue
		}
		if got, want := p.git(question...), other.git(question...); got != want {
			p.t.Errorf("git %s: %s, want %s", strings.Join(question, " "), got, want)
		}
	}
	got, want := p.files(), other.files()
	for path, content := range want {
		if got[path] != content {
			p.t.Errorf("%s is %.60q, want %.60q", path, got[path], content)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			p.t.Errorf("there is %s", path)
		}
	}
	return len(want)
}

// files are those of the working tree, with their kinds and contents.
func (p *place) files() map[string]string {
	p.t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(p.dir, func(name string, e fs.DirEntry, err error) error {
		path, _ := filepath.Rel(p.dir, name)
		switch {
		case err != nil:
			return err
		case path == ".git", path == stateFolder:
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			files[path], err = os.Readlink(name)
			files[path] = "link " + files[path]
			return err
		}
		content, err := os.ReadFile(name)
		info, other := e.Info()
		if err != nil || other != nil {
			return fmt.Errorf("%w %w", err, other)
		}
		files[path] = fmt.Sprint(info.Mode()&0o100, " ", string(content))
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

// newClonePlace is a place whose clones have an origin.
func newClonePlace(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.repo.Git("config", "remote.origin.url", "https://git.example.com/app.git")
	return p
}

func TestCloneIsThatOfGit(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(oddFiles("one")...)
	if result := p.sync(checkouts); result.Behind != "" || result.Written == 0 {
		t.Fatalf("%+v", result)
	}
	if compared := p.isClone(); compared < 18 {
		t.Errorf("%d files were compared", compared)
	}
	if url := p.git("config", "remote.origin.url"); url != "https://git.example.com/app.git" {
		t.Errorf("the origin is %s", url)
	}
	// Nothing is read by git: the content may be another one unseen, if the file has its size and times.
	if index := p.git("ls-files", "--debug"); strings.Count(index, "  mtime: 0:0") != 1 { // of the submodule
		t.Errorf("the index does not know a file: %s", index)
	}
	if result := p.sync(checkouts); result.Written != 0 || result.Base != result.Commit {
		t.Errorf("nothing is new, and %+v", result)
	}
}

// change makes some random changes of a tree.
func change(r *rand.Rand, files map[string]gittest.File, version string) []gittest.File {
	names := []string{"a", "b/c", "b/d", "b/e/f", "g.crlf", "h/i.crlf", "j", "k/l/m", "n", "o.ident"}
	for range 1 + r.IntN(4) {
		name := names[r.IntN(len(names))]
		for other := range files { // of a folder in place of a file, and the other way round
			if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
				delete(files, other)
			}
		}
		switch r.IntN(6) {
		case 0:
			delete(files, name)
		case 1:
			files[name] = gittest.Symlink(name, "README")
		case 2:
			files[name] = gittest.Executable(name, version+"\n")
		case 3:
			delete(files, name)
			files[name+"/inside"] = gittest.Regular(name+"/inside", version)
		default:
			files[name] = gittest.Regular(name, version+"\n$Id$\n")
		}
	}
	list := []gittest.File{
		gittest.Regular(".gitattributes", "*.crlf text eol=crlf\n*.ident ident\n"), gittest.Regular("README", version),
	}
	for _, f := range files {
		list = append(list, f)
	}
	return list
}

func TestCloneFollowsABranch(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	r := rand.New(rand.NewPCG(1, 2))
	files, compared := map[string]gittest.File{}, 0
	p.commit(change(r, files, "first")...)
	p.sync(checkouts)
	for i := range gittest.Volume(15, 200) {
		for range 1 + r.IntN(3) {
			p.commit(change(r, files, fmt.Sprint("version ", i))...)
		}
		result := p.sync(checkouts)
		if result.Behind != "" || result.KeptCount != 0 {
			t.Fatalf("%d: %+v", i, result)
		}
		if compared += p.isClone(); t.Failed() {
			t.Fatalf("version %d", i)
		}
	}
	if compared < 60 {
		t.Errorf("%d files were compared", compared)
	}
}

// userChange is something that a user does in a clone, and that an update has to leave as it is.
type userChange struct {
	name   string
	do     func(p *place)
	reason string // why the branch stays; "" if it is advanced
	kept   []string
	after  string         // git status, if it is advanced
	undo   func(p *place) // after that the next update succeeds
}

var userChanges = []userChange{
	{"edits another file", func(p *place) { p.write("other", "mine") }, "", nil, " M other", nil},
	{"stages another file", func(p *place) { p.write("other", "mine"); p.git("add", "other") }, "", nil, "M  other", nil},
	{"adds another file", func(p *place) { p.write("twice/mine", "mine"); p.git("add", "twice/mine") }, "", nil, "A  twice/mine", nil},
	{"has a file that git does not know", func(p *place) { p.write("untracked", "mine") }, "", nil, "?? untracked", nil},
	{"stashes", func(p *place) { p.write("README", "mine"); p.git("stash") }, "", nil, "", nil},
	{"has another branch", func(p *place) { p.git("branch", "side") }, "", nil, "", nil},
	{"touches a file", func(p *place) { p.write("README", "about one") }, "", nil, "", nil},
	{"has the new version", func(p *place) { p.write("README", "about two") }, "", nil, "", nil},
	{"removes a file without git", func(p *place) { p.must(os.Remove(p.at("README"))) }, "", nil, "", nil},
	{"edits a file", func(p *place) { p.write("README", "mine") }, ReasonEdited, []string{"README"}, "",
		func(p *place) { p.git("stash") }},
	{"stages a file", func(p *place) { p.write("README", "mine"); p.git("add", "README") }, ReasonEdited,
		[]string{"README"}, "", func(p *place) { p.git("stash") }},
	{"stages a file and undoes that in the folder",
		func(p *place) { p.write("README", "mine"); p.git("add", "README"); p.write("README", "about one") },
		ReasonEdited, []string{"README"}, "", func(p *place) { p.git("reset", "-q", "--hard") }},
	{"removes a file", func(p *place) { p.git("rm", "-q", "README") }, ReasonEdited, []string{"README"}, "",
		func(p *place) { p.git("reset", "-q", "--hard") }},
	{"has a file in place of a new one", func(p *place) { p.write("new", "mine") }, ReasonEdited, []string{"new"}, "",
		func(p *place) { p.must(os.Remove(p.at("new"))) }},
	{"edits a removed file", func(p *place) { p.write("gone", "mine") }, ReasonEdited, []string{"gone"}, "",
		func(p *place) { p.git("checkout", "-q", "gone") }},
	{"commits", func(p *place) { p.write("mine", "mine"); p.git("add", "mine"); p.git("commit", "-qm", "mine") },
		ReasonCommits, nil, "", func(p *place) { p.git("rebase", "-q", "origin/main") }},
	{"amends", func(p *place) { p.git("commit", "-q", "--amend", "-m", "mine") }, ReasonCommits, nil, "",
		func(p *place) { p.git("reset", "-q", "--hard", "origin/main") }},
	{"is on another branch", func(p *place) { p.git("switch", "-qc", "side") }, ReasonElsewhere, nil, "",
		func(p *place) { p.git("switch", "-q", "main") }},
	{"is on no branch", func(p *place) { p.git("checkout", "-q", "--detach") }, ReasonElsewhere, nil, "",
		func(p *place) { p.git("switch", "-q", "main") }},
	{"merges", func(p *place) { p.writeGit("MERGE_HEAD", p.git("rev-parse", "HEAD")+"\n") }, ReasonUnfinished, nil, "",
		func(p *place) { p.must(os.Remove(p.gitFile("MERGE_HEAD"))) }},
	{"runs git", func(p *place) { p.writeGit("index.lock", "") }, ReasonLocked, nil, "",
		func(p *place) { p.must(os.Remove(p.gitFile("index.lock"))) }},
}

func (p *place) at(path string) string { return filepath.Join(p.dir, path) }

// gitFile is the path of a file of the repository.
func (p *place) gitFile(name string) string {
	p.t.Helper()
	return p.git("rev-parse", "--path-format=absolute", "--git-path", name)
}

func (p *place) writeGit(name, content string) {
	p.t.Helper()
	p.must(os.WriteFile(p.gitFile(name), []byte(content), 0o644))
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// clones are those in which users change something.
var clones = []struct {
	name string
	make func(p *place)
}{
	{"made here", func(p *place) { p.sync(checkouts) }},
	{"made by git", func(p *place) { p.repo.Git("clone", "-q", "file://"+p.repo.Dir, p.dir) }},
	{"made by git with one commit", func(p *place) {
		p.repo.Git("clone", "-q", "--depth=1", "file://"+p.repo.Dir, p.dir)
	}},
	{"a worktree made by git", func(p *place) {
		main := *p
		main.dir = filepath.Join(p.t.TempDir(), "main")
		p.repo.Git("clone", "-q", "file://"+p.repo.Dir, main.dir)
		main.git("switch", "-qc", "away")
		main.git("worktree", "add", "-q", p.dir, "main")
	}},
}

func TestCloneKeepsWhatIsTheUsers(t *testing.T) {
	for i, how := range clones {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			base := newClonePlace(t)
			for j, c := range userChanges {
				if (i+j)%gittest.Volume(2, 1) != 0 { // by turns
					continue
				}
				t.Run(c.name, func(t *testing.T) { base.keepsWhatIsTheUsers(t, how.make, c) })
			}
		})
	}
}

func (p place) keepsWhatIsTheUsers(t *testing.T, make func(p *place), c userChange) {
	p.t, p.dir = t, filepath.Join(t.TempDir(), "in")
	old := append(oddFiles("one"), gittest.Regular("gone", "x"), gittest.Regular("other", "x"))
	p.repo.Git("update-ref", "-d", "refs/heads/main")
	p.commit(gittest.Regular("first", "x"))
	p.commit(old...)
	make(&p)
	c.do(&p)
	before, files, head := p.questions(), fmt.Sprint(p.files()), p.git("rev-parse", "HEAD")
	p.commit(append(oddFiles("two"), gittest.Regular("new", "x"), gittest.Regular("other", "x"))...)
	result := p.sync(checkouts)
	if result.Behind != c.reason || !slices.Equal(result.Kept, append([]string{}, c.kept...)) {
		t.Fatalf("%+v, want %q and %q", result, c.reason, c.kept)
	}
	want := p.repo.Git("rev-parse", "main")
	if got := p.git("rev-parse", "origin/main"); got != want {
		t.Errorf("origin/main is %s, want %s", got, want)
	}
	if c.reason != "" {
		if got := fmt.Sprint(p.files()); got != files || p.git("rev-parse", "HEAD") != head {
			t.Error("the branch or a file was changed")
		}
		for question, answer := range before {
			if got := p.git(strings.Fields(question)...); got != answer {
				t.Errorf("git %s: %s, before it was %s", question, got, answer)
			}
		}
		c.undo(&p)
		if result := p.sync(checkouts); result.Behind != "" {
			t.Errorf("after the way was cleared: %+v", result)
		}
	} else {
		before["status --porcelain"] = c.after
		for _, question := range []string{"status --porcelain", "stash list", "config --list --local", "branch --list side"} {
			got := p.git(strings.Fields(question)...)
			if strings.TrimSpace(got) != strings.TrimSpace(before[question]) {
				t.Errorf("git %s: %s, want %s", question, got, before[question])
			}
		}
		if got := p.git("rev-parse", "HEAD"); got != want {
			t.Errorf("HEAD is %s, want %s", got, want)
		}
	}
	p.git("fsck", "--strict")
	if p.git("rev-parse", "HEAD~1"); strings.Contains(p.git("rev-parse", "--is-shallow-repository"), "false") {
		p.git("rev-parse", "HEAD~2")
	}
	if result := p.sync(checkouts); result.Written != 0 || result.Behind != "" {
		t.Errorf("nothing is new, and %+v", result)
	}
}

// questions are answers of git about what is the user's.
func (p *place) questions() map[string]string {
	p.t.Helper()
	answers := make(map[string]string)
	for _, question := range []string{
		"status --porcelain", "stash list", "branch --list side", "diff", "diff --cached", "rev-parse --abbrev-ref HEAD",
		"config --list --local", "for-each-ref refs/heads refs/stash refs/tags",
	} {
		answers[question] = p.git(strings.Fields(question)...)
	}
	return answers
}

// TestCloneChangesDuringDownload: what git does while an update is on its way is seen before a file is written.
func TestCloneChangesDuringDownload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do     []string // arguments of git, word by word
		reason string
	}{
		"a commit":              {[]string{"commit -qm mine --allow-empty"}, ReasonCommits},
		"another branch":        {[]string{"switch -qc topic"}, ReasonElsewhere},
		"a detached HEAD":       {[]string{"switch -q --detach"}, ReasonElsewhere},
		"a merge":               {[]string{"switch -qc topic", "commit -qm mine --allow-empty", "switch -q main", "merge -q --no-commit --no-ff topic"}, ReasonUnfinished},
		"a commit that is gone": {[]string{"commit -qm mine --allow-empty", "reset -q --hard HEAD~1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newClonePlace(t)
			p.commit(gittest.Regular("a", "1"))
			p.commit(gittest.Regular("a", "2"))
			p.repo.Git("clone", "-q", "file://"+p.repo.Dir, p.dir)
			p.commit(gittest.Regular("a", "3"))
			var files string
			did := false
			result := p.sync(func(o *Options) {
				checkouts(o)
				o.Events = func(e Event) {
					if e.Event != EventStart || did {
						return
					}
					did = true
					for _, words := range c.do {
						p.git(strings.Fields(words)...)
					}
					files = fmt.Sprint(p.files(), p.questions())
				}
			})
			if !did || result.Behind != c.reason {
				t.Fatalf("%+v, want %q", result, c.reason)
			}
			if now := fmt.Sprint(p.files(), p.questions()); c.reason != "" && now != files {
				t.Errorf("there is %s, before it was %s", now, files)
			}
			if c.reason == "" {
				p.isClone()
			}
			p.git("fsck", "--strict")
		})
	}
}

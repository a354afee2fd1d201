package history

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// logCase is a log in our words and in git's.
type logCase struct {
	options LogOptions
	args    []string
}

func id(t testing.TB, hex string) git.ID {
	t.Helper()
	id, err := git.ParseID(hex)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// logCases combines options at random.
func (g *generator) logCase(start git.ID) logCase {
	c := logCase{options: LogOptions{Start: start}}
	if g.chance(3) {
		c.options.FirstParent = true
		c.args = append(c.args, "--first-parent")
	}
	if g.chance(4) {
		c.options.Author = pick(g, []string{"THOR", "c@example.COM", "jörg", ">", "one <", "example", "João",
			"nobody at all", ".", "ärg", "> 16", "+0"})
		c.args = append(c.args, "--author="+c.options.Author)
	}
	if g.chance(4) {
		since := g.around()
		c.options.Since = time.Unix(since, 0)
		c.args = append(c.args, fmt.Sprintf("--since=@%d +0000", since))
	}
	if g.chance(4) {
		until := g.around()
		c.options.Until = time.Unix(until, 0)
		c.args = append(c.args, fmt.Sprintf("--until=@%d +0000", until))
	}
	c.args = append(c.args, start.String(), "--")
	if !g.chance(4) {
		for range 1 + g.IntN(4)/2 {
			c.options.Paths = append(c.options.Paths, pick(g, logPaths))
		}
		c.args = append(c.args, c.options.Paths...)
	}
	return c
}

// logPaths are files, folders, what is both at times, and nothing.
var logPaths = append([]string{"dir", "dir/", "dir/sub", "dir/sub/", "x/", "x/y/", "a/", "d.e", "none", "di",
	"dir/none/x", ".", "a/b", "*"}, paths...)

func (g *generator) around() int64 { return 1_600_000_000 + int64(g.IntN(20_000)) }

// gitCommand makes a process of git that knows UTF-8.
func gitCommand(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(gittest.Env(), "LC_ALL=C.UTF-8")
	return cmd
}

// gitLog is the oracle. Names with letters outside ASCII fold as in UTF-8.
func gitLog(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(t, dir, append([]string{"--literal-pathspecs", "log", "--no-mailmap", "-i", "-F"},
		args...)...).Output()
	if err != nil {
		t.Fatalf("git log %q: %v %s", args, err, stderrOf(err))
	}
	return string(out)
}

func stderrOf(err error) (text []byte) {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		text = exit.Stderr
	}
	return text
}

func hexes(ids []git.ID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}

func TestLogIsThatOfGit(t *testing.T) {
	t.Parallel()
	cases, shown, partial := 0, 0, 0
	for seed := range uint64(gittest.Sample(gittest.Volume(5, 200))) {
		m := generate(t, seed, 120)
		snapshot := open(t, m.repo.Dir)
		g := &generator{Rand: newRand(seed)}
		cache := NewCache(1 << 20)
		for range 30 {
			start := id(t, m.tips[min(g.IntN(len(m.tips)), g.IntN(len(m.tips)))])
			c := g.logCase(start)
			want := strings.Fields(gitLog(t, m.repo.Dir, append([]string{"--format=%H"}, c.args...)...))
			got := hexes(all(t, snapshot, cache, c.options))
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: git log %q\n got %s\nwant %s", seed, c.args, strings.Join(got, "\n     "),
					strings.Join(want, "\n     "))
				continue
			}
			if paged := byCursor(t, snapshot, cache, c.options, 1+g.IntN(7)); !slices.Equal(paged, want) {
				t.Errorf("seed %d: git log %q by cursor\n got %v\nwant %v", seed, c.args, paged, want)
			}
			if paged := bySkip(t, snapshot, cache, c.options, 1+g.IntN(20)); !slices.Equal(paged, want) {
				t.Errorf("seed %d: git log %q by skip\n got %v\nwant %v", seed, c.args, paged, want)
			}
			cases++
			shown += len(want)
			if len(want) > 1 && len(want) < 30 {
				partial++
			}
		}
	}
	if cases < gittest.Sample(150) || shown < gittest.Sample(1200) || partial < gittest.Sample(50) {
		t.Errorf("only %d logs of %d commits were compared, %d of them a selection", cases, shown, partial)
	}
	t.Logf("%d logs, %d commits", cases, shown)
}

// TestFoldersAndSubmodulesMayEndInASlash is about one name that is a file, a
// link, a submodule and a folder in turn.
func TestFoldersAndSubmodulesMayEndInASlash(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	for i, f := range []gittest.File{
		gittest.Regular("g", "1"), gittest.Gitlink("g", strings.Repeat("12", 20)), gittest.Gitlink("g",
			strings.Repeat("34", 20)),
		gittest.Regular("g/x", "1"), gittest.Regular("g/x", "2"), gittest.Symlink("g", "x"), gittest.Gitlink("g",
			strings.Repeat("12", 20)),
	} {
		repo.Commit("main", f, gittest.Regular("other", strconv.Itoa(i)))
		repo.Commit("main", f, gittest.Regular("other", "between"))
	}
	tip := repo.Git("rev-parse", "main")
	snapshot := open(t, repo.Dir)
	for _, path := range []string{"g", "g/", "g/x", "g/x/", "other", "other/"} {
		for _, follow := range []bool{false, true} {
			o := LogOptions{Start: id(t, tip), Paths: []string{path}, Follow: follow}
			args := []string{"--format=%H", tip, "--", path}
			if follow {
				args = append([]string{"--follow"}, args...)
			}
			got, want := byCursor(t, snapshot, nil, o, 1), strings.Fields(gitLog(t, repo.Dir, args...))
			if !slices.Equal(got, want) {
				t.Errorf("git log %q\n got %v\nwant %v", args, got, want)
			}
		}
	}
}

// byCursor lists a log in pages, each of which may stop early.
func byCursor(t *testing.T, snapshot *git.Snapshot, cache *Cache, o LogOptions, size int) (ids []string) {
	t.Helper()
	o.Limit, o.MaxLooked = size, 3*size
	for pages := 0; ; pages++ {
		page, err := Log(t.Context(), snapshot, cache, o)
		if err != nil || pages > 1000 {
			t.Fatal(pages, err)
		}
		for _, c := range page.Commits {
			ids = append(ids, c.ID.String())
		}
		if page.Stopped && (page.Looked != o.MaxLooked || page.Next == "") {
			t.Fatalf("stopped after %d of %d, next %q", page.Looked, o.MaxLooked, page.Next)
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			return ids
		}
		o.Start, o.Base = git.ID{}, git.ID{} // the cursor knows
	}
}

func bySkip(t *testing.T, snapshot *git.Snapshot, cache *Cache, o LogOptions, size int) (ids []string) {
	t.Helper()
	o.Limit = size
	for {
		page, err := Log(t.Context(), snapshot, cache, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Commits {
			ids = append(ids, c.ID.String())
		}
		if len(page.Commits) < size {
			return ids
		}
		o.Skip += size
	}
}

// logFormat prints all that a Commit has.
var (
	logFields = []string{"%H", "%T", "%P", "%an", "%ae", "%at", "%cn", "%ce", "%ct", "%s"}
	logFormat = strings.Join(logFields, "%x1f") + "%x1e"
)

func printed(c Commit) string {
	parents := strings.Join(hexes(c.Parents), " ")
	number := func(p Person) string {
		if p.Zone == "" {
			return ""
		}
		return strconv.FormatUint(p.Seconds, 10)
	}
	return strings.Join([]string{
		c.ID.String(), c.Tree.String(), parents, c.Author.Name, c.Author.Email, number(c.Author),
		c.Committer.Name, c.Committer.Email, number(c.Committer), c.Subject(),
	}, "\x1f")
}

func TestCommitsAreThoseOfGit(t *testing.T) {
	t.Parallel()
	cases := 0
	for seed := range uint64(gittest.Volume(3, 50)) {
		m := generate(t, seed+1000, 60)
		storeOdd(m.repo)
		snapshot := open(t, m.repo.Dir)
		records := strings.Split(gitLog(t, m.repo.Dir, "--all", "--format="+logFormat), "\x1e")
		for _, want := range records[:len(records)-1] {
			want = strings.TrimPrefix(want, "\n")
			source, err := newSource(t.Context(), snapshot, nil)
			if err != nil {
				t.Fatal(err)
			}
			c, err := source.commit(id(t, want[:40]))
			if err != nil {
				t.Fatal(err)
			}
			if got := printed(c); got != want {
				t.Errorf("seed %d:\n got %q\nwant %q", seed, got, want)
			}
			cases++
		}
	}
	if cases < 150 {
		t.Errorf("only %d commits were compared", cases)
	}
}

// storeOdd adds commits that git itself would not write.
func storeOdd(repo *gittest.Repo) {
	tree := repo.Store("tree", "")
	for i, people := range []string{
		"author A <a@b> 1 +0000\ncommitter C <c@d> 2 -0100\n",
		"author A<a@b>18446744073709551615 +0000\ncommitter C <c@d> -5 -0100\n",
		"author  <a@b> 1 +0000\ncommitter C c@d 2 -0100\n",
		"author A <a@b>\ncommitter C <c> d> 2 -0100\n",
		"author A <a@b> 1\ncommitter C <c@d> 2 0100\nencoding none-such\n",
		"author B\xe9 <a@b> 1 +0000\ncommitter C <c@d> 2 -0100\nencoding latin1\n",
		"author B\xe9 <a@b> 1 +0000\ncommitter C <c@d> 2 -0100\nencoding utf8\n",
		"author A <a@b> 1 +0000\nauthor B <a@b> 1 +0000\ncommitter C <c@d> 2 -0100\n",
		"author A <a@b> 1 +0000\ncommitter C <c@d> 2 -0100\ngpgsig x\n y\n author z\n",
	} {
		for j, message := range []string{"\nsubject\xe9\n\nbody\n", "\n", "\n\n \nlate\nsubject\n\n\n  body\n",
			"\ncut\x00here\n"} {
			id := repo.Store("commit", "tree "+tree+"\n"+people+message)
			repo.SetRef(fmt.Sprintf("refs/heads/odd%d-%d", i, j), id)
		}
	}
}

func TestFollowIsThatOfGit(t *testing.T) {
	t.Parallel()
	cases, shown, renames := 0, 0, 0
	for seed := range uint64(gittest.Sample(gittest.Volume(4, 100))) {
		m := generate(t, seed+3000, 100)
		snapshot := open(t, m.repo.Dir)
		g := &generator{Rand: newRand(seed)}
		cache := NewCache(1 << 20)
		for range 20 {
			tip := m.tips[min(g.IntN(len(m.tips)), g.IntN(len(m.tips)))]
			files := slices.Sorted(maps.Keys(m.files[tip]))
			if len(files) == 0 {
				continue
			}
			path := pick(g, files)
			if g.chance(8) {
				path = pick(g, logPaths)
			}
			o := LogOptions{Start: id(t, tip), Paths: []string{path}, Follow: true, FirstParent: g.chance(3)}
			args := []string{"--follow", "--name-status", "--format=%H"}
			if o.FirstParent {
				args = append(args, "--first-parent")
			}
			if g.chance(6) {
				o.Author = "author@"
				args = append(args, "--author="+o.Author)
			}
			out := gitLog(t, m.repo.Dir, append(args, tip, "--", path)...)
			var want []string
			for line := range strings.Lines(out) {
				if len(line) == 41 {
					want = append(want, strings.TrimSuffix(line, "\n"))
				}
			}
			if got := byCursor(t, snapshot, cache, o, 1+g.IntN(20)); !slices.Equal(got, want) {
				t.Errorf("seed %d: git log %q\n got %v\nwant %s", seed, append(args, tip, path), got, out)
			}
			cases++
			shown += len(want)
			renames += strings.Count(out, "\nR") + strings.Count(out, "\nC")
		}
	}
	if cases < gittest.Sample(75) || shown < gittest.Sample(300) || renames < gittest.Sample(25) {
		t.Errorf("only %d logs of %d commits were compared, with %d renames", cases, shown, renames)
	}
	t.Logf("%d logs, %d commits, %d renames", cases, shown, renames)
}

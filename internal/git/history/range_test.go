package history

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/mailmap"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestRangesAreThoseOfGit is about base..head and base...head, with all other
// options of a log. Where clocks are so wrong that git itself shows a commit that
// the base reaches, ours is compared with the commits that each side reaches.
func TestRangesAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	n := struct{ cases, shown, partial, pathed, clocks, unsettled int }{}
	for seed := range uint64(gittest.Volume(6, 300)) {
		m := generate(t, seed+7000, 120)
		snapshot := open(t, m.repo.Dir)
		g := &generator{Rand: newRand(seed)}
		cache := NewCache(1 << 20)
		ids := strings.Fields(m.repo.Git("rev-list", "--all"))
		for range 40 {
			start := id(t, m.tips[min(g.IntN(len(m.tips)), g.IntN(len(m.tips)))])
			c := g.logCase(start)
			c.options.Base, c.options.Symmetric = id(t, pick(g, ids)), g.chance(3)
			dots := ".."
			if c.options.Symmetric {
				dots = "..."
			}
			between := c.options.Base.String() + dots + start.String()
			truth := only(m.repo, c.options)
			if !slices.Equal(slices.Sorted(slices.Values(strings.Fields(m.repo.Git("rev-list", between)))), truth) {
				o := LogOptions{Start: start, Base: c.options.Base, Symmetric: c.options.Symmetric}
				if got := slices.Sorted(slices.Values(hexes(all(t, snapshot, cache, o)))); !slices.Equal(got, truth) {
					t.Errorf("seed %d: %s\n got %v\nwant %v", seed, between, got, truth)
				}
				n.clocks++
				continue
			}
			args := slices.Clone(c.args)
			args[slices.Index(args, start.String())] = between
			want := strings.Fields(gitLog(t, m.repo.Dir, append([]string{"--format=%H"}, args...)...))
			got := hexes(all(t, snapshot, cache, c.options))
			pathed := len(c.options.Paths) > 0
			switch {
			case slices.Equal(got, want):
			case slices.ContainsFunc(want, func(id string) bool { return !slices.Contains(truth, id) }):
				n.clocks++ // with these options git stops before it has seen all commits that the base reaches
				continue
			case c.options.Symmetric && pathed, !c.options.Since.IsZero():
				// git goes by what its search for merge bases happens to have read, and
				// ends soon after the first commit that is too old.
				n.unsettled++
				continue
			default:
				t.Errorf("seed %d: git log %q\n got %s\nwant %s", seed, args, strings.Join(got, "\n     "),
					strings.Join(want, "\n     "))
				continue
			}
			if paged := byCursor(t, snapshot, cache, c.options, 1+g.IntN(7)); !slices.Equal(paged, want) {
				t.Errorf("seed %d: git log %q by cursor\n got %v\nwant %v", seed, args, paged, want)
			}
			n.cases++
			n.shown += len(want)
			if len(want) > 1 && len(want) < 30 {
				n.partial++
			}
			if len(want) > 0 && pathed {
				n.pathed++
			}
		}
	}
	if n.cases < 200 || n.shown < 1000 || n.partial < 50 || n.pathed < 30 || n.unsettled > n.cases/50 {
		t.Errorf("only %+v", n)
	}
	t.Logf("%+v", n)
}

// only lists the commits that one side of a range reaches and the other does not, by comparing
// all commits that each side reaches.
func only(repo *gittest.Repo, o LogOptions) []string {
	base, head := strings.Fields(repo.Git("rev-list", o.Base.String())), strings.Fields(repo.Git("rev-list",
		o.Start.String()))
	list := slices.DeleteFunc(slices.Clone(head), func(id string) bool { return slices.Contains(base, id) })
	if o.Symmetric {
		list = append(list, slices.DeleteFunc(base, func(id string) bool { return slices.Contains(head, id) })...)
	}
	slices.Sort(list)
	return list
}

// TestFoundCommitsAreThoseOfGit is about --grep, -S and -G.
func TestFoundCommitsAreThoseOfGit(t *testing.T) {
	t.Parallel()
	cases, found := map[string]int{}, map[string]int{}
	for seed := range uint64(gittest.Sample(gittest.Volume(4, 200))) {
		m := generate(t, seed+9000, 120)
		snapshot := open(t, m.repo.Dir)
		g := &generator{Rand: newRand(seed)}
		cache := NewCache(1 << 20)
		for range 30 {
			start := id(t, m.tips[min(g.IntN(len(m.tips)), g.IntN(len(m.tips)))])
			o := LogOptions{Start: start, FirstParent: g.chance(4)}
			var args []string
			if o.FirstParent {
				args = append(args, "--first-parent")
			}
			kind := pick(g, []string{"--grep=", "-S", "-G"})
			text := pick(g, []string{"one", "two 4", "}", "return x", "\t}", "Subproject", "tail", "0", "bin"})
			switch kind {
			case "--grep=":
				text = pick(g, []string{"fix", "^body", "x it$", "lines$", "a.b", "ä", "wrapped|naï", "^ indented",
					"na[iï]ve"})
				o.Message = regexp.MustCompile("(?i)" + text)
				args = append(args, "-i", "-E")
			case "-S":
				o.Pickaxe = text
			case "-G":
				text = pick(g, []string{"^one", "[0-9]{2}$", "three|four", "^\t", "x 7"})
				o.PickaxeLines = regexp.MustCompile(text)
				args = append(args, "-E")
			}
			args = append(args, kind+text, start.String(), "--")
			if g.chance(2) {
				o.Paths = []string{pick(g, logPaths)}
				args = append(args, o.Paths...)
			}
			want := strings.Fields(string(gitOutput(t, m.repo.Dir,
				append([]string{"--literal-pathspecs", "log", "--no-mailmap", "--no-notes", "--format=%H"},
					args...)...)))
			got := byCursor(t, snapshot, cache, o, 1+g.IntN(20))
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: git log %q\n got %s\nwant %s", seed, args, strings.Join(got, "\n     "),
					strings.Join(want, "\n     "))
			}
			cases[kind]++
			found[kind] += len(want)
		}
	}
	for _, kind := range []string{"--grep=", "-S", "-G"} {
		if cases[kind] < gittest.Sample(20) || found[kind] < gittest.Sample(100) {
			t.Errorf("only %d logs of %d commits were compared with %s", cases[kind], found[kind], kind)
		}
	}
	t.Log(cases, found)
}

func gitOutput(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	out, err := gitCommand(t, dir, args...).Output()
	if err != nil {
		t.Fatalf("git %q: %v %s", args, err, stderrOf(err))
	}
	return out
}

// TestPeopleOfLogsAndBlamesAreThoseOfGit is about .mailmap.
func TestPeopleOfLogsAndBlamesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	commits, blamed := 0, 0
	for seed := range uint64(gittest.Sample(gittest.Volume(3, 100))) {
		m := generate(t, seed+11000, 60)
		g := &generator{Rand: newRand(seed)}
		content := pick(g, []string{
			"Proper Name <author@example.com>\nJoão <j@example.net> <joao@example.org>\n",
			"<new@example.com> <c@example.com>\nSomebody <some@example.com> Some O. One <one@example.com>\nNobody " +
				"<nobody@example.com>\n",
			"Ö <o@example.com> <>\nThe Committer <c@example.com> C O Mitter <C@example.com>\nJ <j@x> jörg " +
				"<joerg@EXAMPLE.com>\n",
		})
		blob := m.repo.Store("blob", content)
		people := mailmap.Parse(content)
		snapshot := open(t, m.repo.Dir)
		config := []string{"-c", "mailmap.blob=" + blob, "--literal-pathspecs"}
		for _, tip := range m.tips[:min(len(m.tips), 3)] {
			for _, author := range []string{"", "proper", "someb", "author@", "new@example", "NOBODY", "c o mitter"} {
				o := LogOptions{Start: id(t, tip), Author: author, Mailmap: people, Limit: MaxPage}
				page, err := Log(t.Context(), snapshot, nil, o)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, c := range page.Commits {
					got = append(got, fmt.Sprintf("%s %s <%s> %s <%s>", c.ID, c.Author.Name, c.Author.Email,
						c.Committer.Name, c.Committer.Email))
				}
				args := append(slices.Clone(config), "log", "-i", "-F", "--format=%H %aN <%aE> %cN <%cE>",
					"--author="+author, tip)
				want := strings.FieldsFunc(string(gitOutput(t, m.repo.Dir, args...)),
					func(r rune) bool { return r == '\n' })
				if !slices.Equal(got, want) {
					t.Errorf("seed %d: git %q\n got %q\nwant %q", seed, args, got, want)
				}
				commits += len(want)
			}
			for path, b := range m.files[tip] {
				if b.mode == "160000" || b.content == "" {
					continue
				}
				got, err := Blame(t.Context(), snapshot, nil, BlameOptions{Commit: id(t, tip), Path: path,
					Mailmap: people})
				if err != nil {
					t.Fatal(err)
				}
				args := append(slices.Clone(config), "blame", "--line-porcelain", tip, "--", path)
				if want := string(gitOutput(t, m.repo.Dir, args...)); porcelain(got) != want {
					t.Errorf("seed %d: git %q\n got %s\nwant %s", seed, args, porcelain(got), want)
				}
				blamed++
			}
		}
	}
	if commits < gittest.Sample(200) || blamed < gittest.Sample(20) {
		t.Errorf("only %d commits and %d files were compared", commits, blamed)
	}
	t.Logf("%d commits, %d files", commits, blamed)
}

// TestAPickaxeStopsAndGoesOn reads no more than it is allowed to, and says what it
// did not look into.
func TestAPickaxeStopsAndGoesOn(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	for i := range 6 {
		repo.Commit("main", gittest.Regular("a", strings.Repeat("needle\n", i%4)),
			gittest.Regular("b", strings.Repeat("x", i)))
	}
	repo.Commit("main", gittest.Regular("big", strings.Repeat("\x00", DefaultMaxPatchBytes)+"needle"),
		gittest.Regular("a", "needle\n"))
	snapshot := open(t, repo.Dir)
	want := strings.Fields(repo.Git("log", "--format=%H", "-Sneedle", "main", "--", "a"))
	o := LogOptions{Start: id(t, repo.Git("rev-parse", "main")), Pickaxe: "needle", MaxCompared: 1}
	var got []string
	stops, unsearched := 0, 0
	for {
		page, err := Log(t.Context(), snapshot, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Commits {
			got = append(got, c.ID.String())
		}
		if unsearched += page.Unsearched; page.Stopped {
			stops++
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	if !slices.Equal(got, want) || len(want) < 4 || stops < 4 || unsearched != 1 {
		t.Errorf("%d stops, %d not searched\n got %v\nwant %v", stops, unsearched, got, want)
	}
}

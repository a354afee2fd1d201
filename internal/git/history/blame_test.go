package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// porcelain writes a blame as `git blame --line-porcelain` does.
func porcelain(r BlameResult) string {
	var out strings.Builder
	lines := strings.SplitAfter(string(r.Text), "\n")
	for _, run := range r.Ranges {
		for i := range run.Count {
			fmt.Fprintf(&out, "%s %d %d", run.Commit, run.Original+i, run.Line+i)
			if i == 0 {
				fmt.Fprintf(&out, " %d", run.Count)
			}
			out.WriteByte('\n')
			c := r.Commits[run.Commit]
			person(&out, "author", c.Author)
			person(&out, "committer", c.Committer)
			fmt.Fprintf(&out, "summary %s\n", c.Summary())
			if run.Boundary {
				out.WriteString("boundary\n")
			}
			if run.Previous != nil {
				fmt.Fprintf(&out, "previous %s %s\n", run.Previous.Commit, run.Previous.Path)
			}
			fmt.Fprintf(&out, "filename %s\n\t%s\n", run.Path, strings.TrimSuffix(lines[0], "\n"))
			lines = lines[1:]
		}
	}
	return out.String()
}

func person(out *strings.Builder, role string, p Person) {
	fmt.Fprintf(out, "%[1]s %[2]s\n%[1]s-mail <%[3]s>\n%[1]s-time %[4]d\n%[1]s-tz %[5]s\n", role, p.Name, p.Email,
		p.Seconds, p.Zone)
}

func TestBlameIsThatOfGit(t *testing.T) {
	t.Parallel()
	cases, lines, renamed := 0, 0, 0
	for seed := range uint64(gittest.Sample(gittest.Volume(5, 100))) {
		long := newGenerator(seed + 2000)
		long.long = true
		m := long.history(t, 80)
		snapshot := open(t, m.repo.Dir)
		g := &generator{Rand: newRand(seed)}
		cache := NewCache(1 << 20)
		for _, tip := range m.tips[:min(len(m.tips), 4)] {
			for _, path := range slices.Sorted(maps.Keys(m.files[tip])) {
				o := BlameOptions{Commit: id(t, tip), Path: path}
				got, err := Blame(t.Context(), snapshot, cache, o)
				if err != nil {
					if m.files[tip][path].mode != "160000" {
						t.Fatal(tip, path, err)
					}
					continue
				}
				args := []string{"blame", "--line-porcelain", tip, "--", path}
				if got.Lines > 2 && g.chance(2) {
					o.First = 1 + g.IntN(got.Lines)
					o.Last = o.First + g.IntN(got.Lines)
					if got, err = Blame(t.Context(), snapshot, cache, o); err != nil {
						t.Fatal(err)
					}
					args = append([]string{args[0], fmt.Sprintf("-L%d,%d", o.First, o.Last)}, args[1:]...)
				}
				want := m.repo.Git(args...)
				if got := strings.TrimSuffix(porcelain(got), "\n"); got != want {
					t.Errorf("seed %d: git %q\n got %s\nwant %s", seed, args, got, want)
					return
				}
				cases++
				lines += strings.Count(want, "\nfilename ")
				renamed += strings.Count(want, "\nfilename ") - strings.Count(want, "\nfilename "+path+"\n")
			}
		}
	}
	if cases < gittest.Sample(60) || lines < gittest.Sample(600) || renamed < gittest.Sample(50) {
		t.Errorf("only %d files of %d lines were compared, %d of them of files with other names", cases, lines, renamed)
	}
	t.Logf("%d files, %d lines, %d of other names", cases, lines, renamed)
}

// TestBlameLeavesTheEndOut has lines that could each be the new ones; git
// chooses among those before the kilobytes that both files end in.
func TestBlameLeavesTheEndOut(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	var tip string
	for _, lines := range []int{600, 601, 640, 1300, 1299} {
		tip = repo.Commit("main", gittest.Regular("f", strings.Repeat("x\n", lines)))
	}
	got, err := Blame(t.Context(), open(t, repo.Dir), nil, BlameOptions{Commit: id(t, tip), Path: "f"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSuffix(porcelain(got), "\n"), repo.Git("blame", "--line-porcelain", tip, "--",
		"f"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

package diff_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/gittest"
)

// texts are two versions of one file.
type texts struct{ a, b string }

// compare asks git for the hunks of many files at once and compares them with
// ours, with several settings.
func compare(t *testing.T, cases []texts) (compared int) {
	t.Helper()
	repo := gittest.New(t)
	var before, after []gittest.File
	for i, c := range cases {
		name := fmt.Sprintf("%06d", i)
		before = append(before, gittest.Regular(name, c.a))
		after = append(after, gittest.Regular(name, c.b))
	}
	from, to := repo.Commit("main", before...), repo.Commit("main", after...)
	for _, s := range []struct {
		context int
		options diff.Options
	}{
		{3, diff.Options{}},
		{1, diff.Options{}},
		{0, diff.Options{TrimTail: true}},
		{25, diff.Options{}},
	} {
		out := repo.Git("diff", "--no-renames", fmt.Sprintf("-U%d", s.context), "--indent-heuristic", from, to)
		hunks := byFile(out)
		for i, c := range cases {
			want, changed := hunks[fmt.Sprintf("%06d", i)]
			if got := unified(t, c, s.options, s.context); changed && got != want || !changed && c.a != c.b {
				t.Fatalf("case %d, context %d: %s", i, s.context, firstDifference(got, want))
			}
			compared++
		}
	}
	return compared
}

// firstDifference shows where two texts part, with what comes before it.
func firstDifference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(at-300, 0)
	return fmt.Sprintf("got\n%q\nand git has\n%q", got[from:min(at+300, len(got))], want[from:min(at+300, len(want))])
}

// byFile takes the hunks out of a patch of many files.
func byFile(patch string) map[string]string {
	files := make(map[string]string)
	for _, part := range strings.Split("\n"+patch, "\ndiff --git a/")[1:] {
		hunks := ""
		if at := strings.Index(part, "\n@@ "); at >= 0 {
			hunks = part[at+1:] + "\n"
		} else if at := strings.Index(part, "\nBinary files "); at >= 0 {
			hunks = "binary"
		}
		files[part[:6]] = hunks
	}
	return files
}

func unified(t *testing.T, c texts, o diff.Options, context int) string {
	t.Helper()
	a, b := []byte(c.a), []byte(c.b)
	if diff.Binary(a) || diff.Binary(b) {
		return "binary"
	}
	changes, err := diff.Lines(t.Context(), a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := diff.Unified(&out, a, b, changes, context); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHunksAreGits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	volume := gittest.Sample(gittest.Volume(1500, 30_000))
	compared := 0
	for made := 0; made < volume; {
		var cases []texts
		for ; len(cases) < 3000 && made < volume; made++ {
			a := gittest.Text(r, r.IntN(80))
			b := gittest.Edit(r, a, r.IntN(12))
			if r.IntN(5) == 0 {
				b = gittest.Text(r, r.IntN(80))
			}
			cases = append(cases, texts{a, b})
		}
		compared += compare(t, cases)
	}
	if compared < 3*volume {
		t.Errorf("only %d cases were compared", compared)
	}
}

// Long texts with many differences reach the limits on the cost.
func TestHunksOfLongTextsAreGits(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(3, 4))
	var cases []texts
	for range gittest.Volume(8, 600) {
		vocabulary := 2 + r.IntN(4000)
		a, b := words(r, vocabulary, 500+r.IntN(4000)), words(r, vocabulary, 500+r.IntN(4000))
		if r.IntN(2) == 0 {
			b = gittest.Edit(r, a, r.IntN(2000))
		}
		if r.IntN(3) == 0 { // a good snake in the midst of noise
			shared := words(r, vocabulary, 100)
			a, b = a+shared+words(r, 1000, 900), words(r, vocabulary, 700)+b+shared+words(r, 1000, 500)
		}
		cases = append(cases, texts{a, b})
	}
	// A good snake only counts where the limit on the cost is higher than usual.
	for range gittest.Volume(1, 20) {
		sparse, dense := moved(r, 20_000, 700), moved(r, 20_000, 4000)
		cases = append(cases, joined(sparse, sparse), joined(dense, sparse))
	}
	if compared := compare(t, cases); compared < 40 {
		t.Errorf("only %d cases were compared", compared)
	}
}

// moved makes a text of different lines, and one in which some of them stand
// elsewhere.
func moved(r *rand.Rand, lines, moves int) texts {
	list := make([]string, lines)
	for i := range list {
		list[i] = fmt.Sprintf("%d of %d\n", i, r.IntN(1000))
	}
	a := strings.Join(list, "")
	for range moves {
		from, to := r.IntN(lines), r.IntN(lines)
		line := list[from]
		list = slices.Insert(slices.Delete(list, from, from+1), to, line)
	}
	return texts{a, strings.Join(list, "")}
}

func joined(x, y texts) texts { return texts{x.a + y.a, x.b + y.b} }

func words(r *rand.Rand, vocabulary, lines int) string {
	var b strings.Builder
	for range lines {
		fmt.Fprintf(&b, "w%d\n", r.IntN(vocabulary))
	}
	return b.String()
}

// Texts at the borders of the rules.
func TestHunksOfOddTextsAreGits(t *testing.T) {
	long := strings.Repeat("x", 100)
	head := strings.Repeat("common\n", 30)
	var cases []texts
	odd := []string{
		"", "\n", "a", "a\n", "a\n\n", "\r\n", "a\r", "a\r\n", "\x00", "a\n\x00b\n",
		strings.Repeat("y\n", 3999) + "ab\x00", strings.Repeat("y\n", 4000) + "\x00\nz\n", "é\n", "\xff\n",
		long + "\n" + head + "1\n", long[:79] + "é\n" + head + "2\n", long[:70] + strings.Repeat(" ", 30) + "z\n" +
			head,
		"_u\n" + head, "$v \t\r\n" + head, "\vw\n" + head, " s\n" + head, "9\n" + head, "Z\x00z\n" + head,
		head + head + "1\n" + head, head + "2\n" + head + "3\n" + head + head, strings.Repeat("\n",
			500), strings.Repeat("\n", 501) + "q\n",
		strings.Repeat("  \n", 50) + "\tfoo\n" + strings.Repeat("  \n", 50),
		strings.Repeat(strings.Repeat(" ", 250)+"deep\n", 9), strings.Repeat(strings.Repeat(" ", 250)+"deep\n", 12),
	}
	for _, a := range odd {
		for _, b := range odd {
			cases = append(cases, texts{a, b})
		}
	}
	if compared := compare(t, cases); compared < 3000 {
		t.Errorf("only %d cases were compared", compared)
	}
}

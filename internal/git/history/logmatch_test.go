package history

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// What is known to lack a literal would not have matched; and the literal is found for most words.
func TestMessagesThatLackALiteralDoNotMatch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 9))
	pieces := []string{"fix", "Leak", "leak", "K", "\u212a", "ſ", "é", " ", "\n", "foo-bar", "x", "I", "ı", "İ", "ss", "ß", "\x00", "."}
	skipped, compared := 0, 0
	for _, pattern := range []string{
		"fix", "(?i)LEAK", "(?i)k", "(?i)s+", "fix.*leak", "(?i)^fix leak$", "fix|leak", "(fix)+", "(?:fix){2}", "(?:fix)?x", "é",
		"(?i)é", "[fF]ix", "foo\\-bar", "(?i)straße", "^$", "", "(?i)fix(leak|x)", "\\bfix\\b", "f{0}ix", "(?i)\u212a", "(?i)ſs",
	} {
		m := newMatcher(LogOptions{Message: regexp.MustCompile(pattern), Author: ""})
		for range 400 {
			message := ""
			for range r.IntN(9) {
				message += pieces[r.IntN(len(pieces))]
			}
			header := "tree x\nauthor A <a@b> 1 +0000\n"
			if r.IntN(8) == 0 {
				header += "encoding ISO-8859-1\n"
			}
			raw := []byte(header + "\n" + message)
			lacks := m.lacksLiteral(raw)
			text := readable(raw)
			_, shown, _ := strings.Cut(text, "\n\n")
			if compared++; lacks && m.inMessage(shown) {
				t.Errorf("%q matches %q, and lacks %q", pattern, message, m.literal)
			}
			if lacks {
				skipped++
			}
		}
	}
	if compared < 8000 || skipped < 1000 {
		t.Errorf("%d messages were compared, of which %d lack the literal", compared, skipped)
	}
}

// The commits of git log --grep and --author stay the same when they are asked for again, with and
// without a commit-graph.
func TestRepeatedQuestionsHaveTheAnswersOfGit(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range uint64(gittest.Sample(gittest.Volume(4, 60))) {
		m := generate(t, seed+9000, 60)
		if seed%2 == 0 {
			m.repo.Git("commit-graph", "write", "--reachable")
		}
		snapshot := open(t, m.repo.Dir)
		cache := NewCache(1 << 20)
		tip := m.tips[0]
		for _, c := range []struct {
			options LogOptions
			git     []string
		}{
			{LogOptions{Author: "o"}, []string{"-i", "--author=o"}},
			{LogOptions{Message: regexp.MustCompile("(?i)[ae]")}, []string{"-i", "-E", "--grep=[ae]"}},
			{LogOptions{Message: regexp.MustCompile("(?i)e")}, []string{"-i", "-E", "--grep=e"}},
			{LogOptions{Author: "a", Message: regexp.MustCompile("(?i)a")}, []string{"-i", "--all-match", "--author=a", "--grep=a"}},
		} {
			want := m.repo.Git(append([]string{"log", "--format=%H", tip}, c.git...)...)
			for again := range 3 {
				o := c.options
				o.Start, o.Limit = id(t, tip), 1000
				page, err := Log(t.Context(), snapshot, cache, o)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, commit := range page.Commits {
					got = append(got, commit.ID.String())
				}
				if strings.Join(got, "\n") != want {
					t.Errorf("seed %d, time %d: git %q\n got %q\nwant %q", seed, again, c.git, got, want)
				}
				compared += len(got)
			}
		}
	}
	if compared < gittest.Sample(500) {
		t.Errorf("only %d commits were compared", compared)
	}
	t.Logf("%d commits", compared)
}

// A question that was answered for a commit needs no message again.
func TestAnswersAreRemembered(t *testing.T) {
	t.Parallel()
	m := generate(t, 77, 40)
	snapshot := open(t, m.repo.Dir)
	cache := NewCache(1 << 20)
	o := LogOptions{Start: id(t, m.tips[0]), Author: "nobody has this name"}
	if _, err := Log(t.Context(), snapshot, cache, o); err != nil {
		t.Fatal(err)
	}
	s, err := newSource(t.Context(), snapshot, cache)
	if err != nil {
		t.Fatal(err)
	}
	matcher := newMatcher(o)
	known := cache.matches(s.ancestry, matcher.question())
	count := 0
	for commit := range strings.FieldsSeq(m.repo.Git("rev-list", m.tips[0])) {
		if known.recall(s.ancestry.number(id(t, commit))) != no {
			t.Errorf("it is not known that %s does not match", commit)
		}
		count++
	}
	other := newMatcher(LogOptions{Author: "another"})
	if count < 5 || cache.matches(s.ancestry, other.question()) == known {
		t.Errorf("%d commits; two questions have the same answers", count)
	}
}

package dates_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/tools/dates"
)

// Times before now are those of git.
func TestRelativeTimesAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	compared := 0
	repo := gittest.New(t)
	for _, now := range []int64{1_700_000_000, 1_709_208_000, 1_748_692_799, 1_767_225_600} {
		var texts []string
		for _, unit := range []string{"second", "minute", "hour", "day", "week", "month", "year"} {
			for _, count := range []int{1, 2, 3, 11, 12, 13} {
				texts = append(texts, fmt.Sprintf("%d %ss ago", count, unit), fmt.Sprintf("%d.%s.ago", count, unit))
			}
			texts = append(texts, "one "+unit+" ago", "last "+unit, "three "+unit+"s ago")
		}
		texts = append(texts, "yesterday", "now", "1 year 2 months ago", "2 weeks 3 days ago", "1 day 2 hours ago", "4 weeks")
		for _, text := range texts {
			cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "--since="+text)
			cmd.Dir, cmd.Env = repo.Dir, append(gittest.Env(), fmt.Sprint("GIT_TEST_DATE_NOW=", now), "TZ=UTC")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got, ok := dates.Parse(text, time.Unix(now, 0))
			if want := strings.TrimSpace(strings.TrimPrefix(string(out), "--max-age=")); !ok || got.First != got.Last ||
				fmt.Sprint(got.First.Unix()) != want {
				t.Errorf("%q at %d is %d, %t, want %s", text, now, got.First.Unix(), ok, want)
			}
			compared++
		}
	}
	if compared < 400 {
		t.Errorf("only %d times were compared", compared)
	}
}

func TestPeriodsAreWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"May 2026":             "2026-05-01T00:00:00Z 2026-05-31T23:59:59Z",
		"may 2026":             "2026-05-01T00:00:00Z 2026-05-31T23:59:59Z",
		"2026-02":              "2026-02-01T00:00:00Z 2026-02-28T23:59:59Z",
		"2024":                 "2024-01-01T00:00:00Z 2024-12-31T23:59:59Z",
		"31 May 2026":          "2026-05-31T00:00:00Z 2026-05-31T23:59:59Z",
		"May 31, 2026":         "2026-05-31T00:00:00Z 2026-05-31T23:59:59Z",
		" 2026-01-31 ":         "2026-01-31T00:00:00Z 2026-01-31T23:59:59Z",
		"2026-01-31T12:00:00Z": "2026-01-31T12:00:00Z 2026-01-31T12:00:00Z",
		"2026-01-31 12:00":     "2026-01-31T12:00:00Z 2026-01-31T12:00:00Z",
	} {
		got, ok := dates.Parse(text, time.Now())
		if shown := got.First.Format(time.RFC3339) + " " + got.Last.Format(time.RFC3339); !ok || shown != want {
			t.Errorf("%q is %s, %t, want %s", text, shown, ok, want)
		}
	}
	for _, text := range []string{
		"", "ago", "3", "3 months from now", "months ago", "32 May 2026", "2026-13", "99999999999 days ago", "soon",
		"999999999 years ago", "999999999 weeks ago", "-3 days ago", "3 fortnights ago", strings.Repeat("1 day ", 100),
	} {
		if got, ok := dates.Parse(text, time.Now()); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

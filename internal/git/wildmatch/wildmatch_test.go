package wildmatch_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// modes are the combinations of flags, in the order of the columns of
// testdata/cases.txt.
var modes = []wildmatch.Flags{0, wildmatch.PathName, wildmatch.CaseFold, wildmatch.PathName | wildmatch.CaseFold}

type known struct {
	pattern, text string
	want          [4]bool // by mode
}

// readCases reads lines of a quoted pattern, a quoted text and the answers.
func readCases(t testing.TB) []known {
	t.Helper()
	f, err := os.Open("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	var cases []known
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var c known
		var answers string
		if _, err := fmt.Sscanf(lines.Text(), "%s %q %q", &answers, &c.pattern, &c.text); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		for i := range c.want {
			c.want[i] = answers[i] == '1'
		}
		cases = append(cases, c)
	}
	return cases
}

func TestKnownCases(t *testing.T) {
	cases := readCases(t)
	if len(cases) < 200 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		for i, flags := range modes {
			if got := wildmatch.Match(c.pattern, []byte(c.text), flags); got != c.want[i] {
				t.Errorf("Match(%q, %q, %02b) = %v", c.pattern, c.text, flags, got)
			}
		}
	}
}

func TestLiteral(t *testing.T) {
	for pattern, want := range map[string]int{
		"": 0, "a": 1, "a/b]": 4, "a*": 1, "?": 0, "ab[c]": 2, `a\b`: 1, "]-!": 3,
	} {
		if got := wildmatch.Literal(pattern); got != want {
			t.Errorf("Literal(%q) = %d, want %d", pattern, got, want)
		}
	}
}

// A recursion would not come back from these.
func TestHostilePatternsEnd(t *testing.T) {
	long := strings.Repeat("a", 4000)
	deep := strings.Repeat("a/", 2000) + "a"
	for _, c := range []struct{ pattern, text string }{
		{strings.Repeat("*a", 500) + "b", long},
		{strings.Repeat("a*", 500) + "b", long},
		{strings.Repeat("*?", 500) + "b", long},
		{strings.Repeat("*[a]", 500) + "b", long},
		{strings.Repeat("**/", 500) + "b", deep},
		{strings.Repeat("**/a/", 400) + "b", deep},
		{strings.Repeat("**/*a*/", 250) + "b", deep},
		{strings.Repeat(`**\/`, 400) + "b", deep},
		{strings.Repeat("*/", 500) + "**/*a*a*b", deep},
		{strings.Repeat("**a", 500) + "/**/b", deep},
	} {
		for _, flags := range modes {
			if wildmatch.Match(c.pattern, []byte(c.text), flags) {
				t.Errorf("Match(%.20q…, %.20q…, %02b) = true", c.pattern, c.text, flags)
			}
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	text := []byte("some/folder/with/file.c")
	n := testing.AllocsPerRun(100, func() {
		if !wildmatch.Match("**/w[!x]*/*.[ch]", text, wildmatch.PathName) {
			t.Fatal("no match")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

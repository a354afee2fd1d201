package gitconfig_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/gitconfig"
	"github.com/repomcp/repomcp/internal/gittest"
)

// configTexts are configurations one by one, the first of them such as people
// and programs write.
func configTexts() []string {
	return []string{
		"[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
		"[remote \"origin\"]\n\tfetch = +refs/*:refs/*\n\tmirror = true\n\turl=https://a.b/c.git\n",
		"[transfer]\nhideRefs = ^refs/x\nhideRefs = !refs/y\n",
		"[submodule \"libs/A b\"]\n\tpath = libs/a\n\turl = \"../a b.git\" ; beside\n",
		"[alias]\nl = !git log --format='%h; %s'\nx = \"!f() { echo \\\"$1\\\"; }; f\"\n",
		"[include]\npath = other\n[includeIf \"gitdir:/\"]\npath = x\n[a]\nx = 1\n",
		"[core] RepositoryFormatVersion=1\n[Extensions] ObjectFormat = \"SHA256\" # so\n",
		"[core] bare = true\n", "[extensions]\nrefstorage = ref\\\ntable\n", "# f\xfcr\n[core]\nbare = true\n",
		"[branch.main]\nremote = origin\n", "[url \"a\\b\"]\ninsteadof = c\n", "[core]\nbare\n",
		"[a]\nx = 1\n[b]\nx = 2\n[a]\nx = 3\n", "[a]\nx = 1\\",
		"", "\n", "#", ";", "x = 1\n", "\ufeff[a]\nx = 1\n", "[a]\nx\n\ufeff[b]\n",
		// Sections.
		"[a.b]\nx=1\n", "[A.B]\nX=1\n", "[A \"B\"]\nX=1\n", "[a.b \"C\"]\nx=1\n", "[a \"b\\\"c\\\\d\\e\"]\nx=1\n",
		"[a \"\"]\nx=1\n",
		"[a \"b\nc\"]\nx=1\n", "[a \"b\\\nc\"]\nx=1\n", "[a  \"b\"]\nx=1\n", "[a\t\"b\"]\nx=1\n", "[ a ]\nx=1\n",
		"[a ]\nx=1\n", "[a\nx=1\n", "[a]]\nx=1\n",
		"[a-b]\nx=1\n", "[a_b]\nx=1\n", "[1a]\nx=1\n", "[-a]\nx=1\n", "[a.]\nx=1\n", "[.a]\nx=1\n", "[.]\nx=1\n",
		"[]\nx=1\n", "[é]\nx=1\n",
		"[a \"b]c\"]\nx=1\n", "[a \"b#c\"]\nx=1\n", "[a \"b\"] [c]\nx=1\n", "[a]x=1[b]y=2\n", "[a \"b\" ]\nx=1\n",
		"[a.\"b\"]\nx=1\n", "[a \"\xff\"]\nx=1\n",
		"[a \"b.c\"]\nx=1\n", "[", "[a", "[a \"", "[a \"b", "[a \"b\"", "[a \"b\\",
		// Keys.
		"[a]\nX-y1\n", "[a]\n1x=1\n", "[a]\n-x=1\n", "[a]\nx_y=1\n", "[a]\nX.Y=1\n", "[a]\nx y=1\n", "[a]\nx#=1\n",
		"[a]\nx # c\n", "[a]\n=1\n", "[a]\né=1\n",
		"[a]\nx\\\n = 1\n", "[a]\nx\x00=1\n", "\x00", "[a]\n \tx", "[a]\nx ", "[a]\nx\t\n", "[a] x\n", "[a]\n\vx=1\n",
		"[a]\n\fx=1\n",
		// Values.
		"[a]\nx =\n", "[a]\nx==1\n", "[a]\n   x   =   1   \n", "[a]\nx=a  b\n", "[a]\nx=\"a\"\"b\"\n",
		"[a]\nx=a\"b c\"  d\n", "[a]\nx=\" a \" \n", "[a]\nx = \" \"\n",
		"[a]\nx=a  \"\"\n", "[a]\nx=\"\"  a\n", "[a]\nx=a  \"\"  \n", "[a]\nx = \"a ; b\" ; c\n",
		"[a]\nx = a # c \\\ny=1\n", "[a]\nx=a;b\n", "[a]\nx=\"a\n", "[a]\nx=\"a",
		"[a]\nx = \\n\\t\\\"\\\\ \\b\n", "[a]\nx = \\b\n", "[a]\nx = \\r\n", "[a]\nx = \\q\n", "[a]\nx=a\\",
		"[a]\nx=a\\\n", "[a]\nx=a\\\n# b\ny=1\n", "# a\\\n[a]\nx=1\n",
		"[a]\nx = a \\\n  b\n", "[a]\nx = \"a\\\nb\"\n", "[a]\nx = a\\\\\ny=1\n", "[a]\nx = a\\\\\\\nb\n",
		"[a]\nx = \\\n  b\n", "[a]\nx = a\\\n[b]\ny=1\n", "[a]\nx=\"\\",
		"[a]\nx=\xff\n", "[a]\n# \xff\nx=1\n", "[a]\nx=a\x00b\n", "[a]\nx=\x00\ny=1\n", "[a]\nx=a\x01b\n",
		"[a]\nx=1\v\n", "[a]\nx=\u00a0a\u2028\n", "[a]\nx=[b]\n",
		// Ends of lines.
		"[a]\r\nx = 1\r\ny\r\n", "[a]\rx=1\r", "[a]\nx=a\r", "[a]\nx = \\\r\nb\r\n", "[a]\nx = \"a\r\n", "[a]\nx\ry\n",
		"# a\rx\n[a]\rx=1", "[a \"b\r\n\"]\nx=1\n", "[a]\nx=1\r\r\n",
	}
}

// randomConfig puts pieces of the syntax together: headers, keys, and values of
// several pieces, which now and then are of another kind than is expected.
func randomConfig(random *rand.Rand) string {
	pieces := [][]string{
		{"[a]", "[A.b]", "[a \"B c\"]", "[core]", "\n[a] ", "# c\\\n", "\n", "\r\n", ";", " ", "[a"},
		{"x", "Key-1", "\tx ", "\n x", "Bare\n", "é", "]"},
		{"=", " = ", " =", "= \t", "\n"},
		{"1", "value", " ", "  ", "\"b c\"", "\"", "\\\n", "\\n", "\\\"", "\\\\", "\\\r\n", "#", ";", "\x00", "[", "é",
			"\t", "\r", "\"\"", "\\"},
	}
	var text strings.Builder
	for range 1 + random.IntN(3) {
		for kind, number := range []int{random.IntN(2), 1, 1, random.IntN(6)} {
			for range number {
				if random.IntN(40) == 0 {
					kind = random.IntN(len(pieces))
				}
				text.WriteString(pieces[kind][random.IntN(len(pieces[kind]))])
			}
		}
		text.WriteString([]string{"\n", "\r\n", ""}[random.IntN(3)])
	}
	return text.String()
}

// gitSettings is what git reads of a configuration.
func gitSettings(t *testing.T, file, text string) (settings []gitconfig.Setting, ok bool) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "config", "-z", "--list", "--file", file)
	cmd.Env = gittest.Env()
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil, false
	} else if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name, value, given := strings.Cut(entry, "\n"); given {
			settings = append(settings, gitconfig.Setting{Name: name, Value: value})
		} else if name != "" {
			settings = append(settings, gitconfig.Setting{Name: name, Value: "true"})
		}
	}
	return settings, true
}

// TestConfigIsReadAsGitReadsIt compares names, values and what is refused.
func TestConfigIsReadAsGitReadsIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	texts := configTexts()
	random := rand.New(rand.NewPCG(3, 4))
	for range gittest.Sample(600) {
		texts = append(texts, randomConfig(random))
	}
	read, refused := 0, 0
	for _, text := range texts {
		want, sound := gitSettings(t, file, text)
		got, err := gitconfig.Parse(text)
		switch {
		case sound != (err == nil):
			t.Errorf("%q: %v, but git reads it: %t", text, err, sound)
		case !sound:
			refused++
		case !equalSettings(got, want):
			t.Errorf("%q: %q, git reads %q", text, got, want)
		case len(want) > 0:
			read++
		}
	}
	if read < gittest.Sample(150) || refused < gittest.Sample(150) {
		t.Errorf("%d were read and %d refused: too few to tell", read, refused)
	}
}

// equalSettings takes all blanks in values for the same: git before 2.45 makes
// spaces of tabs within a value.
func equalSettings(a, b []gitconfig.Setting) bool {
	if len(a) != len(b) {
		return false
	}
	blanks := strings.NewReplacer("\t", " ", "\r", " ")
	for i := range a {
		if a[i].Name != b[i].Name || blanks.Replace(a[i].Value) != blanks.Replace(b[i].Value) {
			return false
		}
	}
	return true
}

// FuzzParse: of any text come names that settings can have, or an error.
func FuzzParse(f *testing.F) {
	for _, text := range configTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := gitconfig.Parse(text)
		if err != nil && settings != nil {
			t.Errorf("%q and %v", settings, err)
		}
		for _, s := range settings {
			if s.Name == "" || strings.Contains(s.Name+s.Value, "\x00") || len(s.Name)+len(s.Value) > len(text)+
				len("true") {
				t.Errorf("%q", s)
			}
		}
	})
}

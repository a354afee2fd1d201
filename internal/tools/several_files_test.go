package tools_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// The files of one call are those of git, whole or some lines of them, each with a mark before it.
func TestSeveralFilesAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	s := open(t, samples)
	r := rand.New(rand.NewPCG(5, 6))
	files := 0
	for range 60 {
		repository := []string{"hello", "history", "large-tree", "team/tools"}[r.IntN(4)]
		head := strings.TrimSpace(git(t, repository, "rev-parse", "HEAD"))
		paths := strings.Split(strings.TrimSuffix(git(t, repository, "ls-tree", "-r", "-z", "HEAD"), "\x00"), "\x00")
		var requests []any
		var want strings.Builder
		for range 1 + r.IntN(6) {
			facts, path, _ := strings.Cut(paths[r.IntN(len(paths))], "\t")
			text := git(t, repository, "cat-file", "blob", strings.Fields(facts)[2])
			if !strings.HasPrefix(facts, "100") || len(text) > 4000 || strings.Contains(text, "\x00") {
				continue
			}
			files++
			lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
			first := 1 + r.IntN(len(lines))
			last := first + r.IntN(len(lines)-first+1)
			switch r.IntN(3) {
			case 0:
				requests = append(requests, path)
				fmt.Fprintf(&want, "==> %s of %s at %s <==\n%s", path, repository, head, text)
			case 1:
				requests = append(requests, args{"path": path, "ref": head[:12]})
				fmt.Fprintf(&want, "==> %s of %s at %s <==\n%s", path, repository, head, text)
			default:
				requests = append(requests, args{"path": path, "lines": fmt.Sprintf("%d-%d", first, last)})
				part := strings.Join(lines[first-1:last], "")
				if last == len(lines) && strings.HasSuffix(text, "\n") {
					part += "\n"
				}
				fmt.Fprintf(&want, "==> %s of %s at %s, lines %d to %d of %d <==\n%s", path, repository, head, first, last,
					len(lines), part)
			}
			if !strings.HasSuffix(want.String(), "\n") && len(requests) > 0 {
				want.WriteByte('\n')
			}
		}
		if len(requests) == 0 {
			continue
		}
		got := s.call("get_file_contents", args{"repo": repository, "files": requests})
		if got.failed || strings.TrimSuffix(got.content, "\n") != strings.TrimSuffix(want.String(), "\n") {
			t.Errorf("%v:\n%s\nwant\n%s", requests, got.text, &want)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were compared", files)
	}
	t.Logf("%d files", files)
}

// All files of a call share the room of a result: short ones stay whole.
func TestSeveralFilesShareTheRoom(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "one.git"))
	folder := strings.Repeat(strings.Repeat("\u200b<", 60)+"/", 6)
	var files []gittest.File
	var all []any
	for i := range 20 {
		long := fmt.Sprint(folder, i)
		files = append(files, gittest.Regular(long, strings.Repeat(fmt.Sprintf("line \xe9 %d\n", i), 4000)),
			gittest.Regular(fmt.Sprint("short", i), fmt.Sprintf("short %d\n", i)))
		all = append(all, long)
	}
	files = append(files, gittest.Regular("binary", "\x00"), gittest.Symlink("link", "x"))
	repo.Commit("main", files...)
	s := open(t, root)
	if r := s.call("get_file_contents", args{"repo": "one", "files": all}); r.failed ||
		strings.Count(r.content, "==>") != 20 || strings.Count(r.content, "[Cut here. Go on with path and start_line=") != 20 {
		t.Errorf("20 long files: %d marks, %.300s", strings.Count(r.content, "==>"), r.text)
	}
	mixed := []any{all[0], "short1", all[1], "short2", "nothing", "binary", "link", args{"path": "short3", "lines": "9"},
		args{"path": "short4", "ref": "nowhere"}}
	r := s.call("get_file_contents", args{"repo": "one", "files": mixed})
	for _, want := range []string{
		"\nshort 1\n", "\nshort 2\n", "==> nothing is not shown: There is no nothing in one at ",
		"==> binary is not shown: binary is not a text file.", "==> link is not shown: link is a symbolic link.",
		"==> short3 is not shown: short3 has 1 line.", "==> short4 is not shown: There is no branch, tag or commit nowhere",
	} {
		if !strings.Contains(r.content, want) {
			t.Errorf("%q is not in %s", want, r.text)
		}
	}
	if len(r.content) < 24<<10 {
		t.Errorf("two long files take only %d bytes", len(r.content))
	}
	for name, c := range map[string]struct {
		arguments args
		want      string
	}{
		"too many":     {args{"files": append(all, "short1")}, "The argument files has more than 20 files."},
		"both":         {args{"files": all, "path": "short1"}, "Give path or files, not both."},
		"no list":      {args{"files": "short1"}, "The argument files must be a list."},
		"no path":      {args{"files": []any{args{"ref": "main"}}}, "wrong in its file 1: The argument path is missing."},
		"unknown name": {args{"files": []any{args{"path": "a", "x": 1}}}, "wrong in its file 1: There is no argument x."},
		"a number":     {args{"files": []any{"short1", 7}}, "wrong in its file 2: "},
		"none":         {args{"files": []any{"nothing", "binary"}}, "None of the files can be shown. There is no nothing in one"},
	} {
		c.arguments["repo"] = "one"
		if r := s.call("get_file_contents", c.arguments); !r.failed || !strings.Contains(r.text, c.want) {
			t.Errorf("%s: %s\nwant %s", name, r.text, c.want)
		}
	}
}

const functions = `#include <x.h>

/* a adds. */
static int a(int x)
{
	return x;
}

/* b calls a. */
int b(void)
{
	return a(1);
}
`

func TestSymbolsAndOutlines(t *testing.T) {
	s, repo := single(t)
	long := strings.Repeat("def f(a):\n    return a\n\n", 4000) + "def g():\n" + strings.Repeat("    x = 1\n", 9000)
	repo.Commit("main", gittest.Regular("a.c", functions), gittest.Regular("a.py", long),
		gittest.Regular("a.xyz", "def f\n"), gittest.Regular("bad.py", "\x00"), gittest.Regular("empty.py", ""),
		gittest.Regular("m.go", "package m\n\n// T is.\ntype T struct {\n\tx int\n}\n\nfunc (t T) M() {}\n"),
		gittest.Regular("h.h", "namespace n {\n  // A is.\n  class A {\n  };\n}\n#define ADD(a, b) \\\n\t((a) + (b))\n"),
		gittest.Regular("a.js", "const limit = 5\n\n// read reads.\nexport function read() {\n  return limit\n}\n"),
		gittest.Regular("Makefile", "a.o: a.c\n\tcc -c a.c\n..: x\n"), gittest.Symlink("link", "a.c"))
	get := func(more args) reply {
		more["repo"] = "one"
		return s.call("get_file_contents", more)
	}
	for name, c := range map[string]struct {
		arguments args
		want      string // of the repository
	}{
		"symbol":       {args{"path": "a.c", "symbol": "a"}, "/* a adds. */\nstatic int a(int x)\n{\n\treturn x;\n}\n"},
		"a method":     {args{"path": "m.go", "symbol": "T.M"}, "func (t T) M() {}\n"},
		"a type":       {args{"path": "m.go", "symbol": "T"}, "// T is.\ntype T struct {\n\tx int\n}\n"},
		"a dot":        {args{"path": "Makefile", "symbol": "a.o"}, "a.o: a.c\n\tcc -c a.c\n"},
		"its case":     {args{"path": "Makefile", "symbol": "A.o"}, "a.o: a.c\n\tcc -c a.c\n"},
		"another case": {args{"path": "h.h", "symbol": "add"}, "#define ADD(a, b) \\\n\t((a) + (b))\n"},
		"a macro":      {args{"path": "h.h", "symbol": "ADD"}, "#define ADD(a, b) \\\n\t((a) + (b))\n"},
		"inside":       {args{"path": "h.h", "symbol": "n.A"}, "  // A is.\n  class A {\n  };\n"},
		"JavaScript":   {args{"path": "a.js", "symbol": "read"}, "// read reads.\nexport function read() {\n  return limit\n}\n"},
		"its outline":  {args{"path": "a.js", "outline": true}, "1-1: const limit = 5\n4-6: export function read() {\n"},
		"outline":      {args{"path": "a.c", "outline": true}, "4-7: static int a(int x)\n10-13: int b(void)\n"},
		"some lines":   {args{"path": "a.c", "outline": true, "start_line": 5}, "10-13: int b(void)\n"},
		"empty":        {args{"path": "empty.py", "outline": true}, ""},
		"several": {args{"files": []any{"a.c", "m.go"}, "outline": true}, "==> a.c of one at ID <==\n" +
			"4-7: static int a(int x)\n10-13: int b(void)\n==> m.go of one at ID <==\n4-6: type T struct {\n" +
			"8-8: func (t T) M() {}\n"},
		"in several": {args{"files": []any{"a.c", "m.go"}, "symbol": "M"}, "==> a.c is not shown: a.c of one at ID does " +
			"not define M. See what it defines with outline=true. <==\n==> m.go of one at ID <==\nfunc (t T) M() {}\n"},
	} {
		r := get(c.arguments)
		if got := strings.ReplaceAll(r.content, repo.Git("rev-parse", "main"), "ID"); r.failed || got != c.want {
			t.Errorf("%s: %s\nwant %s", name, r.text, c.want)
		}
	}
	for name, c := range map[string]struct {
		arguments args
		want      string
	}{
		"no symbol":   {args{"path": "a.c", "symbol": "bb"}, "a.c of one at "},
		"only dots":   {args{"path": "Makefile", "symbol": ".."}, "does not define"},
		"of a macro":  {args{"path": "h.h", "symbol": "ADDD"}, "Did you mean ADD"},
		"a suggested": {args{"path": "m.go", "symbol": "t.m"}, "does not define t.m."},
		"no pattern":  {args{"path": "a.xyz", "symbol": "f"}, "There is no pattern for the definitions of files such as a.xyz"},
		"binary":      {args{"path": "bad.py", "outline": true}, "There is no pattern for the definitions"},
		"a folder":    {args{"symbol": "f"}, "/ is a folder, which has no definitions."},
		"a link":      {args{"path": "link", "outline": true}, "/link is a symbolic link"},
		"both":        {args{"path": "a.c", "symbol": "f", "outline": true}, "Give symbol or outline, not both."},
	} {
		if r := get(c.arguments); !r.failed || !strings.Contains(r.text, c.want) {
			t.Errorf("%s: %s\nwant %s", name, r.text, c.want)
		}
	}
	// Outlines and definitions that are cut go on where they ended.
	rows, arguments := 0, args{"path": "a.py", "outline": true}
	for {
		r := get(arguments)
		shown, next, cut := strings.Cut(r.content, "[Cut here. Go on with start_line=")
		if rows += strings.Count(shown, "\n"); !cut {
			break
		}
		arguments["start_line"], _, _ = strings.Cut(next, "]")
	}
	if rows != 4001 {
		t.Errorf("the pages of an outline have %d rows, want 4001", rows)
	}
	r := get(args{"path": "a.py", "symbol": "g"})
	var first, last int
	shown, next, _ := strings.Cut(r.content, "[Cut here. Go on with ")
	if _, err := fmt.Sscanf(next, "start_line=%d and end_line=%d instead of symbol]", &first, &last); err != nil {
		t.Fatalf("%v: %s", err, r.text)
	}
	if strings.Count(shown, "\n") != first-12001 || last != 21001 || !strings.HasPrefix(shown, "def g():\n    x = 1\n") {
		t.Errorf("%d lines before line %d, the last is %d", strings.Count(shown, "\n"), first, last)
	}
	if r := get(args{"path": "a.py", "symbol": "f"}); r.failed || !strings.Contains(r.text, "There is no room for the") {
		t.Errorf("of many definitions: %.300s", r.text[len(r.text)-300:])
	}
}

package tools_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// randomSource returns a file of C with needles in signatures and bodies.
func randomSource(r *rand.Rand, functions int, needle func() string) string {
	var b strings.Builder
	b.WriteString("#include \"a.h\"\n\n")
	for n := range functions {
		if r.IntN(2) == 0 {
			b.WriteString("/*\n * A comment.\n */\n")
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "static int f%d(int a,\n\t\tint %s)\n{\n", n, needle())
		} else {
			fmt.Fprintf(&b, "int f%d(void)\n{\n", n)
		}
		for range 1 + r.IntN(20) {
			b.WriteString([]string{"\ta++;\n", "\n", "\tif (a) {\n\t\tb();\n\t}\n", "out:\n\treturn;\n",
				"#ifdef X\n\tc();\n#endif\n", "\t" + needle() + ";\n"}[r.IntN(6)])
		}
		b.WriteString("\t" + needle() + ";\n}\n\n")
	}
	return b.String()
}

var shownLine = regexp.MustCompile(`(?m)^  (\d+)(?:- |:\d+[:=] )(.*)$`)

// A function begins where that of git grep -W does, has its lines, and ends with its bracket.
func TestFunctionsAroundLinesAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	s, repo := single(t)
	r := rand.New(rand.NewPCG(7, 8))
	needles, compared := 0, 0
	source := randomSource(r, 60, func() string {
		needles++
		return fmt.Sprintf("needle_%d_", needles)
	})
	repo.Commit("main", gittest.Regular("a.c", source))
	attributes := filepath.Join(repo.Dir, "info", "attributes")
	if err := os.MkdirAll(filepath.Dir(attributes), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(attributes, []byte("*.c diff=cpp\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	gits := regexp.MustCompile(`(?m)^main:a\.c[-:=](\d+)[-:=](.*)$`)
	for n := 1; n <= needles; n++ {
		query := fmt.Sprintf("needle_%d_", n)
		if !strings.Contains(source, query) {
			continue
		}
		compared++
		content := s.call("search_code", args{"query": query, "syntax": "text", "show": "function"}).content
		git := gits.FindAllStringSubmatch(repo.Git("grep", "-n", "-W", query, "main"), -1)
		got := shownLine.FindAllStringSubmatch(content, -1)
		if len(got) < 3 || len(git) < len(got) {
			t.Fatalf("%s: %s", query, content)
		}
		for i := range got {
			if !slices.Equal(got[i][1:], git[i][1:]) {
				t.Fatalf("%s: line %q, git has %q", query, got[i], git[i])
			}
		}
		if last := got[len(got)-1][2]; last != "}" {
			t.Errorf("%s ends with %q", query, last)
		}
	}
	if compared < 100 {
		t.Errorf("%d needles", compared)
	}
}

func TestFunctionsOfAllSearches(t *testing.T) {
	s, repo := single(t)
	python := "import needle\n\n# F finds.\ndef find(a):\n    x = needle(a)\n    return needle(x)\n\nclass Box:\n    size = 1\n" +
		"    def needle(self):\n        pass\n"
	repo.Commit("main", gittest.Regular("a.py", python), gittest.Regular("b.txt", "the needle\n"),
		gittest.Regular("c.go", "package c\n\n// G is\n// needle.\nfunc G() int {\n\treturn 1\n}\n"))
	find := "  3- # F finds.\n  4- def find(a):\n  5:9:     x = needle(a)\n  6"
	method := "  10:9=     def needle(self):\n  11-         pass\n"
	for query, c := range map[string]struct {
		more       args
		want, note string
	}{
		"needle":           {nil, "--\n" + method + "  1 line more\n", "1 file (no pattern"},
		"symbol:needle":    {nil, "a.py\n" + method, ""},
		"need[l]e\\b":      {args{"syntax": "regexp", "path": "a.py"}, find, "1 line (outside of definitions)"},
		"needle(":          {args{"syntax": "text"}, find, ""},
		"import needle":    {args{"syntax": "text"}, "a.py\n  1:1: import needle\n", "1 line (outside of definitions)"},
		"needle path:.go":  {nil, "c.go\n  3- // G is\n  4:4: // needle.\n  5- func G() int {\n  6- \treturn 1\n  7- }\n", ""},
		"needle path:.txt": {nil, "b.txt\n  1:5: the needle\n", "1 file (no pattern"},
	} {
		arguments := args{"query": query, "show": "function"}
		for name, value := range c.more {
			arguments[name] = value
		}
		r := s.call("search_code", arguments)
		if !strings.Contains(r.content, c.want) || !strings.Contains(r.text, c.note) ||
			c.note == "" && strings.Contains(r.text, "single lines") {
			t.Errorf("%s: %s, want %s%s", query, r.text, c.want, c.note)
		}
	}
	r := s.call("search_code", args{"query": "symbol:find", "show": "function"})
	file := r.data["files"].([]any)[0].(args)
	if got := fmt.Sprint(file["functions"]); !strings.Contains(got, "# F finds.\ndef find(a):\n    x = needle(a)\n") ||
		!strings.Contains(got, "end_line:6 start_line:3") {
		t.Errorf("data: %s", got)
	}
	for _, wrong := range []args{{"sort": "path"}, {"context_lines": 2}} {
		wrong["query"], wrong["show"] = "needle", "function"
		if r := s.call("search_code", wrong); !r.failed {
			t.Errorf("%v: %s", wrong, r.text)
		}
	}
}

var cutFunction = regexp.MustCompile(`\[Cut here\. Read the rest with get_file_contents repo=(\S+) ref=(\S+) path=(\S+) start_line=(\d+) end_line=(\d+)\]`)

// A function without room is cut, and the call that the cut names reads the rest; every file comes once.
func TestFunctionsKeepToTheSizeOfAResult(t *testing.T) {
	gittest.Long(t)
	s, repo := single(t)
	var files []gittest.File
	whole := make(map[string]string)
	for i := range 30 {
		var b strings.Builder
		fmt.Fprintf(&b, "def needle_%d(a):\n", i)
		for n := range 1 + i*20 {
			fmt.Fprintf(&b, "    call(\"%d\", \"\\\\\")\n", n)
		}
		path := fmt.Sprintf("file%02d.py", i)
		whole[path] = b.String()
		files = append(files, gittest.Regular(path, b.String()))
	}
	repo.Commit("main", files...)
	for _, perPage := range []int{0, 30, 100} {
		arguments := args{"query": "needle", "show": "function"}
		most := 4 << 10
		if perPage > 0 {
			arguments["perPage"], most = perPage, maxResult
		}
		seen, cuts := map[string]bool{}, 0
		for {
			r, paths, texts, data := s.found(arguments)
			if texts > most || data > most {
				t.Errorf("%v: %d bytes of text, %d of data", arguments, texts, data)
			}
			for i, path := range paths {
				_, shown, _ := strings.Cut(r.content, path+"\n")
				if i+1 < len(paths) {
					shown, _, _ = strings.Cut(shown, paths[i+1]+"\n")
				}
				var text strings.Builder
				for _, l := range shownLine.FindAllStringSubmatch(shown, -1) {
					text.WriteString(l[2] + "\n")
				}
				if cut := cutFunction.FindStringSubmatch(shown); cut != nil {
					cuts++
					start, _ := strconv.Atoi(cut[4])
					end, _ := strconv.Atoi(cut[5])
					rest := s.call("get_file_contents", args{"repo": cut[1], "ref": cut[2], "path": cut[3], "start_line": start,
						"end_line": end})
					text.WriteString(rest.content)
				}
				if seen[path] || text.String() != whole[path] {
					t.Fatalf("%v: %s: %s", arguments, path, r.content)
				}
				seen[path] = true
			}
			if arguments["cursor"] = r.data["nextCursor"]; arguments["cursor"] == nil {
				break
			}
		}
		if len(seen) != len(files) || cuts == 0 {
			t.Errorf("%d files, %d cuts", len(seen), cuts)
		}
	}
}

// Twenty files are parsed for a result at most, and the others for the next one.
func TestFunctionsOfManySmallFiles(t *testing.T) {
	s, repo := single(t)
	var files []gittest.File
	for i := range 50 {
		files = append(files, gittest.Regular(fmt.Sprintf("f%d.py", i), "def needle():\n    pass\n"))
	}
	repo.Commit("main", files...)
	arguments, seen := args{"query": "needle", "show": "function", "perPage": 100}, map[string]bool{}
	for pages := 1; ; pages++ {
		r, paths, _, _ := s.found(arguments)
		if len(paths) > 20 || strings.Count(r.content, "-     pass\n") != len(paths) {
			t.Errorf("%d files: %s", len(paths), r.text)
		}
		for _, path := range paths {
			seen[path] = true
		}
		if arguments["cursor"] = r.data["nextCursor"]; arguments["cursor"] == nil {
			if len(seen) != 50 || pages != 3 {
				t.Errorf("%d files on %d pages", len(seen), pages)
			}
			return
		}
	}
}

// The call that a result ends with reads the best files.
func TestSearchesEndWithTheCallThatReads(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a.py", strings.Repeat("\n", 99)+"def needle():\n    pass\n"),
		gittest.Regular("b \"c\".txt", "the needle\n"))
	r := s.call("search_code", args{"query": "needle"})
	_, call, ok := strings.Cut(r.text, "Read the best with get_file_contents ")
	if !ok || strings.Contains(call, "\n") {
		t.Fatalf("%s", r.text)
	}
	read := s.call("get_file_contents", roundTrip[args](t, json.RawMessage(call)))
	for _, want := range []string{"==> a.py of one", "lines 60 to 101 of 101 <==", "def needle()", "the needle"} {
		if !strings.Contains(read.text, want) {
			t.Errorf("no %q in %s", want, read.text)
		}
	}
}

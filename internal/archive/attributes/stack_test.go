package attributes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/gittest"
)

// evaluate looks a path up as a walk does: files are contents of
// .gitattributes by folder, "" or with a slash at the end. A path with a slash
// at its end is a folder.
func evaluate(s *attributes.Stack, files map[string]string, path string) attributes.Attributes {
	entry, folder := strings.CutSuffix(path, "/")
	pushed := 1
	s.Push(nil, []byte(files[""]))
	for i, c := range entry {
		if c == '/' {
			s.Push([]byte(entry[:i+1]), []byte(files[entry[:i+1]]))
			pushed++
		}
	}
	got := s.Lookup([]byte(entry), folder)
	for range pushed {
		s.Pop()
	}
	return got
}

// list shows attributes that are not unspecified, as they are written.
func list(a attributes.Attributes) string {
	var words []string
	for _, v := range []struct {
		name  string
		value attributes.Value
	}{
		{"export-ignore", a[attributes.ExportIgnore]}, {"export-subst", a[attributes.ExportSubst]},
		{"text", a[attributes.Text]}, {"crlf", a[attributes.CRLF]},
		{"eol", a[attributes.EOL]}, {"ident", a[attributes.Ident]}, {"filter", a[attributes.Filter]},
		{"working-tree-encoding", a[attributes.WorkingTreeEncoding]}, {"diff", a[attributes.Diff]},
	} {
		switch v.value.State {
		case attributes.Set:
			words = append(words, v.name)
		case attributes.Unset:
			words = append(words, "-"+v.name)
		case attributes.Valued:
			words = append(words, v.name+"="+v.value.Text)
		}
	}
	return strings.Join(words, " ")
}

func TestRules(t *testing.T) {
	long := strings.Repeat("x", 2040)
	for _, c := range []struct{ name, file, path, want string }{
		{"nothing", "", "f", ""},
		{"set", "f text", "f", "text"},
		{"unset", "f -text", "f", "-text"},
		{"unspecified", "f text\nf !text", "f", ""},
		{"given", "f eol=lf", "f", "eol=lf"},
		{"given nothing", "f eol=", "f", "eol="},
		{"given with an equals sign", "f filter=a=b", "f", "filter=a=b"},
		{"unset with a value", "f -eol=lf", "f", "-eol"},
		{"all", "f export-ignore export-subst text crlf eol ident filter working-tree-encoding diff", "f",
			"export-ignore export-subst text crlf eol ident filter working-tree-encoding diff"},
		{"later words win", "f text -text", "f", "-text"},
		{"later lines win", "f text eol=lf\n* -text", "f", "-text eol=lf"},
		{"other names", "f foo bar=1", "f", ""},
		{"comment", "# f text\n #\nf ident", "f", "ident"},
		{"leading blanks", " \t f text", "f", "text"},
		{"CRLF", "f text\r\nf ident\r\n", "f", "text ident"},
		{"no final line end", "f\ttext", "f", "text"},
		{"invalid name drops the line", "f text a@b\nf ident", "f", "ident"},
		{"lone dash drops the line", "f text -", "f", ""},
		{"lone equals sign drops the line", "f text =x", "f", ""},
		{"two dashes drop the line", "f text --x", "f", ""},
		{"negative pattern", "!f text", "f", ""},
		{"escaped exclamation mark", `\!f text`, "!f", "text"},
		{"quoted", `"a b" text`, "a b", "text"},
		{"quoted escapes", `"\303\251\t\"\\\\" text`, "é\t\"\\", "text"},
		{"quoted and glued", `"f"text`, "f", "text"},
		{"badly quoted", `"f text`, `"f`, "text"},
		{"bad octal", `"\400" text`, `"\400"`, ""},
		{"quoted NUL", `"f\000g" text`, "f", "text"},
		{"NUL ends the file", "f text\nf ident\x00\nf diff", "f", "text ident"},
		{"line of 2047 bytes", "f text " + long, "f", "text"},
		{"line of 2048 bytes", "f text " + long + "x", "f", ""},
		{"byte order mark stays", "\xef\xbb\xbff text", "f", ""},
		{"builtin macro", "f binary", "f", "-text -diff"},
		{"unset macro is not expanded", "f -binary", "f", ""},
		{"given macro is not expanded", "f binary=1", "f", ""},
		{"what is heavier than the macro", "* binary\nf text", "f", "text -diff"},
		{"unset macro hides a lighter one", "* binary\nf -binary", "f", ""},
		{"macro", "[attr]m text eol=lf\nf m", "f", "text eol=lf"},
		{"macro defined later", "f m\n[attr]m text", "f", "text"},
		{"macro defined twice", "[attr]m text\n[attr]m ident\nf m", "f", "ident"},
		{"nested macros", "[attr]m n\n[attr]n o ident\n[attr]o text\nf m", "f", "text ident"},
		{"recursive macros", "[attr]m n\n[attr]n m text\nf m", "f", "text"},
		{"macro of itself", "[attr]m m text\nf m", "f", "text"},
		{"macro before a word", "[attr]m text\nf m -text", "f", "-text"},
		{"macro after a word", "[attr]m text\nf -text m", "f", "text"},
		{"binary redefined", "[attr]binary ident\nf binary", "f", "ident"},
		{"binary emptied", "[attr]binary\nf binary", "f", ""},
		{"macro with the name of an attribute", "[attr]text ident\nf text", "f", "text ident"},
		{"quoted macro", `"[attr]m" text` + "\nf m", "f", "text"},
		{"blank after the prefix is a pattern", "[attr] text", "a", "text"},
		{"invalid macro name", "[attr]-m text\nf m", "f", ""},
		{"basename anywhere", "f text", "a/b/f", "text"},
		{"glob of the basename", "f* text", "a/foo", "text"},
		{"suffix", "*.c text", "a/b.c", "text"},
		{"suffix alone", "*.c text", ".c", "text"},
		{"suffix too long", "*a.c text", ".c", ""},
		{"asterisk", "* text", "a/b", "text"},
		{"rooted", "/f text", "a/f", ""},
		{"rooted here", "/f text", "f", "text"},
		{"with a slash", "a/f text", "a/f", "text"},
		{"with a slash is rooted", "a/f text", "b/a/f", ""},
		{"asterisk stops at slashes", "a/* text", "a/b/c", ""},
		{"two asterisks", "a/** text", "a/b/c", "text"},
		{"two asterisks after a letter", "/a**/c text", "ab/x/c", ""},
		{"trailing slash and a file", "f/ text", "f", ""},
		{"trailing slash and a folder", "d/ text", "a/d/", "text"},
		{"folder without one", "d text", "d/", "text"},
		{"not what is below a folder", "d/ text", "d/f", ""},
		{"below a folder", "d/** text", "d/", ""},
		{"slash alone", "/ text", "d/", ""},
		{"case", "F text", "f", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := list(evaluate(attributes.NewStack(nil), map[string]string{"": c.file}, c.path))
			if got != c.want {
				t.Errorf("%q has %q, want %q", c.path, got, c.want)
			}
		})
	}
}

func TestFilesOfFolders(t *testing.T) {
	for _, c := range []struct{ name, root, folder, info, path, want string }{
		{"deeper wins", "* text", "f -text", "", "d/f", "-text"},
		{"root stays", "* ident", "f text", "", "d/f", "text ident"},
		{"rooted in the folder", "", "/f text", "", "d/f", "text"},
		{"relative to the folder", "", "d/f text", "", "d/f", ""},
		{"info wins", "* text", "* text", "f -text", "d/f", "-text"},
		{"info is rooted at the top", "", "", "/d/f text", "d/f", "text"},
		{"macro of a folder is ignored", "", "[attr]m text\nf m", "", "d/f", ""},
		{"macro of the root in the folder", "[attr]m text", "f m", "", "d/f", "text"},
		{"macro of info in the folder", "", "f m", "[attr]m ident", "d/f", "ident"},
		{"macro of info wins", "[attr]m text", "f m", "[attr]m ident", "d/f", "ident"},
		{"macro of the root in info", "[attr]m text", "", "f m", "d/f", "text"},
		{"byte order mark of info", "", "", "\xef\xbb\xbff text", "d/f", "text"},
		{"NUL ends a line of info", "", "", "f text\x00 @\nf ident", "d/f", "text ident"},
		{"folder's own file does not count for it", "", "d/ text\nd text", "", "d/", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"": c.root, "d/": c.folder}
			if got := list(evaluate(attributes.NewStack([]byte(c.info)), files, c.path)); got != c.want {
				t.Errorf("%q has %q, want %q", c.path, got, c.want)
			}
		})
	}
}

func TestLargeFilesAreIgnored(t *testing.T) {
	content := make([]byte, attributes.MaxFile)
	copy(content, "* text\n")
	for n, want := range map[int]string{attributes.MaxFile - 1: "text", attributes.MaxFile: ""} {
		s := attributes.NewStack(nil)
		s.Push(nil, content[:n])
		if got := list(s.Lookup([]byte("f"), false)); got != want {
			t.Errorf("a file of %d bytes gives %q, want %q", n, got, want)
		}
	}
}

func TestQuiet(t *testing.T) {
	s := attributes.NewStack([]byte("* foo\n"))
	s.Push(nil, []byte("*.c foo=bar merge\n[attr]m foo\n* m\n"))
	if !s.Quiet() {
		t.Error("rules that cannot matter do")
	}
	s.Push([]byte("d/"), []byte("*.c binary\n"))
	if s.Quiet() {
		t.Error("a rule that matters does not")
	}
	s.Pop()
	if !s.Quiet() {
		t.Error("a folder that was left matters")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	s := attributes.NewStack(nil)
	s.Push(nil, []byte("[attr]m n\n[attr]n text\n**/a*c m\n*.c ident\n/x/*[y] filter=z\n"))
	path := []byte("some/abc")
	s.Push([]byte("some/"), nil)
	if n := testing.AllocsPerRun(100, func() { s.Lookup(path, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Macros that nest as deeply as a file is long, and that all mention all.
func TestHostileMacrosEnd(t *testing.T) {
	gittest.Long(t)
	var deep, wide strings.Builder
	const n = 200_000
	for i := range n {
		fmt.Fprintf(&deep, "[attr]m%d m%d\n", i, i+1)
	}
	fmt.Fprintf(&deep, "[attr]m%d ident\n* m0\n", n)
	for i := range 200 {
		fmt.Fprintf(&wide, "[attr]m%d ident", i)
		for j := range 200 {
			fmt.Fprintf(&wide, " m%d", j)
		}
		wide.WriteByte('\n')
	}
	wide.WriteString("* m0\n")
	for _, file := range []string{deep.String(), wide.String()} {
		if got := list(evaluate(attributes.NewStack(nil), map[string]string{"": file}, "f")); got != "ident" {
			t.Errorf("got %q", got)
		}
	}
}

func TestCanMention(t *testing.T) {
	if attributes.CanMention([]byte("* text\n"), "export-subst") ||
		!attributes.CanMention([]byte("[attr]m export-subst\n"), "export-subst") {
		t.Error("wrong")
	}
}

func FuzzStack(f *testing.F) {
	f.Add("* text\n", "[attr]m text\n\"a\\t\" m\n", "*.c -m\r\n", "d/a.c")
	f.Fuzz(func(t *testing.T, info, root, folder, path string) {
		if path == "" || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
			t.Skip("not a path")
		}
		first, _, _ := strings.Cut(path, "/")
		files := map[string]string{"": root, first + "/": folder}
		s := attributes.NewStack([]byte(info))
		got := evaluate(s, files, path)
		if again := evaluate(s, files, path); again != got {
			t.Errorf("%+v, then %+v", got, again)
		}
		if !s.Quiet() {
			t.Error("rules are left of folders that are left")
		}
		mentioned := false
		for _, file := range []string{info, root, folder} {
			mentioned = mentioned || attributes.CanMention([]byte(file), "export-subst")
		}
		if !mentioned && got[attributes.ExportSubst] != (attributes.Value{}) {
			t.Errorf("export-subst %+v comes from nowhere", got[attributes.ExportSubst])
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	for name, file := range map[string]string{
		"quiet":   "* foo\n",
		"typical": "* text=auto\n*.c diff=cpp\n*.sh eol=lf\n/docs export-ignore\n*.png binary\n",
	} {
		b.Run(name, func(b *testing.B) {
			s := attributes.NewStack(nil)
			s.Push(nil, []byte(file))
			s.Push([]byte("src/"), nil)
			path := []byte("src/main.go")
			for b.Loop() {
				s.Lookup(path, false)
			}
		})
	}
}

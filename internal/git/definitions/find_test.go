package definitions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
)

// outline returns the definitions of a text as "START LINE END DEPTH TEXT".
func outline(t *testing.T, file, text string) (rows []string) {
	t.Helper()
	language, ok := definitions.LanguageOf(file, []byte(text))
	if !ok {
		t.Fatalf("%s has no language", file)
	}
	found, err := language.Find([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		rows = append(rows, fmt.Sprint(d.Start, d.Line, d.End, d.Depth, " ", d.Text))
	}
	return rows
}

func TestWholeDefinitions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"C": {"a.c", `#include <a.h>

/*
 * Adds two numbers,
   and more.
 */
int add(int a, int b)
{
	if (a)
		goto out;
#ifdef X
	b++;
#endif
out:
	return a + b;
}
static int one(void) { return 1; }

// a table
static const int table[] = {
	1,
};
int declared(int a,
	     int b);
struct s {
	int x;
};
`, `3 7 16 0 int add(int a, int b)
17 17 17 0 static int one(void) { return 1; }
19 20 22 0 static const int table[] = {
23 23 24 0 int declared(int a,
25 25 27 0 struct s {`},
		"here-documents of a shell": {"a.sh", `one() {
	cat > file <<EOF && cat <<-'END' | sort
text at the margin
}
EOF
more
	END
	echo $((1 << 2))
}
two() {
	cat <<< word
	echo
}
`, `1 1 9 0 one() {
10 10 13 0 two() {`},
		"here-documents of Ruby": {"a.rb", `class A
  def one
    x = <<~SQL
select
end
    SQL
    list << word
  end

  def two
  end
end
`, `1 1 12 0 class A
2 2 8 1 def one
10 10 11 1 def two`},
		"here-documents of Perl": {"a.pl", `sub one {
	print <<"A", <<'B';
}
A
}
B
	return 1 << 2;
}
sub two {
}
`, `1 1 8 0 sub one {
9 9 10 0 sub two {`},
		"here-documents of PHP": {"a.php", `<?php
class R {
    function one() {
        return f(<<<EOT
}
EOT, 1);
    }
    function two() {
    }
}
`, `2 2 10 0 class R {
3 3 7 1 function one() {
8 8 9 1 function two() {`},
		"strings of Elixir": {"a.ex", `defmodule A do
  def one do
    """
text
end
    """
  end

  def two do
  end
end
`, `1 1 11 0 defmodule A do
2 2 7 1 def one do
9 9 10 1 def two do`},
		"signatures with bodies below": {"a.c", `static int f(int a,
	     int b)
{
	return a;
}

A::A(int a)
    : b(a)
{
}
int declared(int a,
	     int b);

int g(void)
{
}
`, `1 1 5 0 static int f(int a,
7 7 10 0 A::A(int a)
11 11 12 0 int declared(int a,
14 14 16 0 int g(void)`},
		"Python": {"a.py", `import x

# of the class
@decorator(
    1)
class A(B):
    """Text."""

    def f(self,
          a):
        return a

    # of g
    async def g(self):
        def inner():
            pass
        return inner

X = 1

def last(): pass
`, `3 6 17 0 class A(B):
9 9 11 1 def f(self,
13 14 17 1 async def g(self):
15 15 16 2 def inner():
21 21 21 0 def last(): pass`},
		"signatures of several lines": {"a.py", "def f(\n    a,\n):\n    return a\n\ndef g(\n    a\n) -> int:\n    pass\nx = 1\n",
			"1 1 4 0 def f(\n6 6 9 0 def g("},
		"such signatures of C": {"a.c", "int f(\n\tint a\n)\n{\n\treturn a;\n}\nint x = 1;\n",
			"1 1 6 0 int f(\n7 7 7 0 int x = 1;"},
		"text of Python at the margin": {"a.py", `class A:
    def f(self):
        return """
text
def no():
""" + 'it''s' # """

    def g(self):
        pass
`, `1 1 9 0 class A:
2 2 6 1 def f(self):
5 5 5 2 def no():
8 8 9 1 def g(self):`},
		"comments and strings of C at the margin": {"a.c", `int f(void)
{
	char *s = "\
text /*\
";
/*
text it's
*/
	g(
"// more"
	);
	return 1;
}
int g;
`, "1 1 13 0 int f(void)\n4 4 5 1 text /*\\\n6 7 8 1 text it's\n14 14 14 0 int g;"},
		"branches of Ruby": {"a.rb", "def f\n  1\nrescue A\n  2\nensure\n  3\nend\nx = 1\n", "1 1 7 0 def f"},
		"Ruby": {"a.rb", "# M\nmodule M\n  # f\n  def f\n    1\n  end\n\n  def g = 2\nend\nx = 1\n",
			"1 2 9 0 module M\n3 4 6 1 def f\n8 8 8 1 def g = 2"},
		"Rust": {"a.rs", "/// S\n#[derive(Debug)]\npub struct S {\n    x: u8,\n}\n\nimpl S {\n    fn f(&self) -> u8 {\n" +
			"        1\n    }\n}\nfn g() {}\n",
			"1 3 5 0 pub struct S {\n7 7 11 0 impl S {\n8 8 10 1 fn f(&self) -> u8 {\n12 12 12 0 fn g() {}"},
		"Markdown": {"a.md", "# A\n\ntext\n## B\ntext\n\n### C\nx\n## D\ny\n# E\n",
			"1 1 10 0 # A\n4 4 8 1 ## B\n7 7 8 2 ### C\n9 9 10 1 ## D\n11 11 11 0 # E"},
		"Go": {"a.go", `package a

// F does it.
func F() {
}

type (
	// A is one.
	A struct {
		x int
	}
	B = A
)

// R reads.
func (a *A) R() int { return 1 }

const c, d = 1, 2
`, `3 4 5 0 func F() {
7 7 13 0 type (
8 9 11 1 A struct {
12 12 12 1 B = A
15 16 16 0 func (a *A) R() int { return 1 }
18 18 18 0 const c, d = 1, 2`},
		"Go that cannot be parsed": {"a.go", "func F() {\n\tx :=\n}\nfunc G() {\n}\n", "1 1 3 0 func F() {\n4 4 5 0 func G() {"},
		"shell":                    {"a.sh", "# f\nf() {\n  if x; then\n    y\n  fi\n}\nf\n", "1 2 6 0 f() {"},
		"nothing":                  {"a.py", "", ""},
		"no line end":              {"a.py", "def f():\n  x", "1 1 2 0 def f():"},
		"CRLF":                     {"a.py", "def f():\r\n  x\r\n\r\ny\r\n", "1 1 2 0 def f():"},
	} {
		if got := strings.Join(outline(t, c.file, c.text), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestDefinitionsAreFoundByName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, text, name, want string }{
		{"a.c", "int add(struct buf *a);\nstruct buf {\n\tint x;\n};\nstruct buf *add(struct buf *a)\n{\n}\n", "add", "5"},
		{"a.c", "int add(struct buf *a);\nstruct buf {\n\tint x;\n};\nstruct buf *add(struct buf *a)\n{\n}\n", "buf", "2"},
		{"a.c", "int add(int a);\nint added(int add)\n{\n}\n", "add", "1"},
		{"a.c", "static const int table[] = {\n\t1,\n};\n", "table", "1"},
		{"a.c", "typedef struct a b;\n", "b", "1"},
		{"a.cc", "void A::f()\n{\n}\nvoid B::f()\n{\n}\n", "B::f", "4"},
		{"a.py", "class A:\n  def f(self):\n    pass\nclass B:\n  def f(self):\n    pass\n", "f", "2 5"},
		{"a.py", "class A:\n  def f(self):\n    pass\nclass B:\n  def f(self):\n    pass\n", "B.f", "5"},
		{"a.py", "class A:\n  def f(self):\n    pass\nclass B:\n  def f(self):\n    pass\n", "C.f", ""},
		{"a.py", "class A(Base):\n  pass\nclass Base:\n  pass\n", "Base", "3"},
		{"a.go", "package a\nfunc (r *R) Read() {}\nfunc (w *W) Read() {}\nfunc Read(r R) {}\n", "R.Read", "2"},
		{"a.go", "package a\nfunc (r *R) Read() {}\nfunc Reader() { Read() }\n", "Read", "2"},
		{"a.go", "package a\nvar x, y = 1, 2\n", "y", "2"},
		{"a.java", "class A {\n  int f(B b) {\n  }\n  B g() {\n  }\n}\n", "g", "4"},
		{"a.rs", "impl A for B {\n    fn f() {\n    }\n}\nfn f() {\n}\n", "B::f", "2"},
		{"a.java", "class A<T extends B<T>> {\n  class C {\n    int f() {\n    }\n  }\n}\nrecord D(int x) {\n}\n", "A.f", "3"},
		{"a.java", "class A<T extends B<T>> {\n}\npublic record D(int x) {\n}\n", "D", "3"},
		{"a.rs", "pub async unsafe fn f() {\n}\nconst unsafe extern \"C\" fn g(\n) {\n}\n", "g", "3"},
		{"a.cs", "class A\n{\n  public List<int> F<T, U>(\n    int x)\n  {\n  }\n}\n", "A.F", "3"},
		{"a.cc", "A::A(int a) : b(a)\n{\n}\n", "A::A", "1"},
		{"a.kt", "object A {\n  fun f() {\n  }\n}\n", "A.f", "2"},
		{"a.php", "final readonly class A {\n  function f() {\n  }\n}\n", "A::f", "2"},
		{"a.sh", "function f\n{\n}\nfunction g() #\n{\n}\n", "g", "4"},
		{"a.py", "def f(): pass\n", "", ""}, {"a.py", "def f(): pass\n", "..", ""},
		{"a.rb", "def foo-bar(x)\nend\n", "foo", "1"},
		{"a.md", "# The Title\n## Other\n", "Title", "1"},
	} {
		language, _ := definitions.LanguageOf(c.file, []byte(c.text))
		found, err := language.Find([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, d := range definitions.Named(c.name, found) {
			lines = append(lines, fmt.Sprint(d.Line))
		}
		if got := strings.Join(lines, " "); got != c.want {
			t.Errorf("%s in %q is in the lines %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// namesOf returns the definitions of the names of lines as "START LINE END DEPTH NAME".
func namesOf(t *testing.T, language, text string) (rows []string) {
	t.Helper()
	found, err := definitions.NamerOf(language).Find([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		rows = append(rows, fmt.Sprint(d.Start, d.Line, d.End, d.Depth, " ", strings.Join(d.Names(), " ")))
	}
	return rows
}

func TestDefinitionsOfTheNamesOfLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ language, text, want string }{
		"JavaScript": {"JavaScript", `const limit = 5
const other = 6

/**
 * Reads.
 */
export async function read(x) {
  const inner = () => {
    return 1
  }
/* function no() {
*/
  return inner()
}

class Reader {
  read(x) {
    if (x) {
    }
  }
}
read()
`, `1 1 1 0 limit
2 2 2 0 other
4 7 14 0 read
8 8 10 1 inner
16 16 21 0 Reader
17 17 20 1 read`},
		"macros and indented types of C": {"C", `#define ONE 1
#include <a.h>
// adds
#define ADD(a, b) do { \
	a += b; \
} while (0)
int x;
namespace n {
  class A {
    int b;
  };
}
`, `1 1 1 0 ONE
3 4 6 0 ADD
8 8 12 0 n
9 9 11 1 A`},
		"a blank line before a body": {"Vim Script", "fun! a#B()\n\n  call c()\nendfun\nlet x = 1\n", "1 1 4 0 B"},
		"lines of Python":            {"Python", "A = 1\nf()\nB = [\n    1,\n]\nf()\n", "1 1 1 0 A\n3 3 5 0 B"},
		"types of C with names at their ends": {"C", `typedef struct {
	struct {
		int x;
	} in;
} buf, *bufs;

// list is a list.
typedef struct list
{
	int y;
} list_t;
int z = 1;
#define SOME \
	5
`, `1 1 5 0 buf
7 8 11 0 list list_t
13 13 14 0 SOME`},
		"signatures of several lines": {"Kotlin", `class Cache internal constructor(
  directory: Path,
) : Closeable,
  Flushable {
  fun find(
    name: String,
  ): Boolean =
    names.any { it == name }

  fun read() {
  }
}
val x = 1
`, `1 1 12 0 Cache
5 5 8 1 find
10 10 11 1 read
13 13 13 0 x`},
		"parameters and conditions of types": {"Swift", `func read<
    T: Reader,
>(from: T) -> Int?
{
    1
}
func write<T>(to: T) throws
where T: Writer {
    2
}
let x = 1
`, `1 1 6 0 read
7 7 10 0 write
11 11 11 0 x`},
		"a type and a template": {"TypeScript", "type A = Pick<\n  B,\n  'c'\n>\nconst d = `\n}\nfunction no() {\n`\ntype E = F\n",
			`1 1 4 0 A
5 5 8 0 d
9 9 9 0 E`},
		"strings of Rust": {"Rust", `fn one<'a>(x: &'a str) -> char {
    let _ = "
fn no() {
";
    let _ = r##"
"# }
fn no() {
"##;
    let _ = ['"', '\'', '\u{22}'];
}
pub fn two<T>(x: T) -> Result<T>
where
    T: Clone,
{
}
`, `1 1 10 0 one
11 11 15 0 two`},
		"strings of Lisp": {"Emacs Lisp", `(defun one (x)
  "Do it; don't
(defun no ()\" as said."
  ;; a " in a comment
  (eq x ?\"))
(defvar two 'x)
`, `1 1 5 0 one
6 6 6 0 two`},
		"a text block": {"Java", `class A {
  void b() {
    c("""
}
""");
  }
}
`, `1 1 7 0 A
2 2 6 1 b`},
		"Go in a string": {"Go", "package a\n\nvar s = `\nfunc no() {\n`\n", "3 3 5 0 s"},
		"no namer":       {"Markdown", "# A\n", ""},
	} {
		if got := strings.Join(namesOf(t, c.language, c.text), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// FuzzFind finds that the lines of definitions are lines of the text, in their order.
func FuzzFind(f *testing.F) {
	for file := range samples {
		f.Add("a."+file, samples[file].lines)
	}
	f.Add("a.c", "a\n/*\n*/\n*/ b {\n}\n")
	f.Add("a.rs", `fn a() { r#" "; '\'' '\ `)
	f.Add("a.rb", "def foo-bar(x)\n") // the word before the parenthesis is a part of the name
	f.Fuzz(func(t *testing.T, file, text string) {
		for _, name := range []string{file, "a.c", "a.py", "a.md", "a.go"} {
			language, ok := definitions.LanguageOf(name, []byte(text))
			if !ok {
				continue
			}
			found, err := language.Find([]byte(text))
			if err != nil {
				t.Skip()
			}
			check(t, name, text, found)
		}
		for _, name := range []string{"C", "JavaScript", "Python", "Rust", "Emacs Lisp"} {
			found, err := definitions.NamerOf(name).Find([]byte(text))
			if err != nil {
				t.Skip()
			}
			check(t, name, text, found)
		}
	})
}

// check holds that definitions are lines of a text in their order, and that they are found by name.
func check(t *testing.T, name, text string, found []definitions.Definition) {
	t.Helper()
	last := 0
	for _, d := range found {
		if d.Start < 1 || d.Start > d.Line || d.Line > d.End || d.End > strings.Count(text, "\n")+1 ||
			d.Line < last || d.Depth < 0 {
			t.Fatalf("%s, %q: %+v after line %d", name, text, d, last)
		}
		last = d.Line
		definitions.Named(d.Text, found)
	}
}

package definitions_test

import (
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Strings of several lines end no definition, whatever is at the beginning of their lines. The definitions begin with
// the lines that have "one" and "two", and the first one ends in the line before that with "two".
func TestStringsEndNoDefinition(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][]string{
		"C#": {
			"void one()\n{\n\tf(@\"\\\n}\n\"\"x\n}\n\");\n}\nvoid two()\n{\n}\n", "void one()\n{\n\tf($\"\"\"\"\n}\n\"\"\"\n}\n\"\"\"\");\n}\nvoid two()\n{\n}\n",
			"void one()\n{\n\tf(@$\"\n}\n\");\n\tg('\"');\n}\nvoid two()\n{\n}\n",
		},
		"C++": {
			"void one()\n{\n\tf(R\"(\n}\n\")\");\n}\nvoid two()\n{\n}\n", "void one()\n{\n\tf(u8R\"x(\n}\n)\"\n}\n)x\", FOR\"(\");\n}\nvoid two()\n{\n}\n",
		},
		"Rust": {
			"fn one() {\n    f(r#\"\n}\n\"\\\n}\n\"#);\n}\nfn two() {\n}\n", "fn one() {\n    f(br\"\\\", \"\n}\n\");\n}\nfn two() {\n}\n",
		},
		"Java":       {"void one() {\n  f(\"\"\"\n}\n\\\"\"\"\n}\n\"\"\");\n}\nvoid two() {\n}\n"},
		"Kotlin":     {"fun one() {\n  f(\"\"\"\n}\n\\\"\"\")\n}\nfun two() {\n}\n"},
		"Scala":      {"def one() = {\n  f(\"\"\"\n}\n\\\"\"\")\n}\ndef two() = {\n}\n"},
		"Swift":      {"func one() {\n  f(#\"\"\"\n}\n\"\"\"\n}\n\"\"\"#)\n  g(#\"\"\"#)\n}\nfunc two() {\n}\n", "func one() {\n  f(\"\"\"\n}\n\"\"\")\n}\nfunc two() {\n}\n"},
		"Python":     {"def one():\n    f('''\nx\n''')\ndef two():\n    pass\n", "def one():\n    f(r\"\"\"\nx\n\\\"\"\"\nx\n\"\"\")\ndef two():\n    pass\n"},
		"TypeScript": {"function one() {\n  f(`\n}\n\\`\n}\n`)\n}\nfunction two() {\n}\n"},
		"JavaScript": {"function one() {\n  f(`\n}\n'\n}\n`)\n  g(/[/*]/)\n}\nfunction two() {\n}\n"},
		"Go":         {"func one() {\n\tf(`\n}\n\\`\n}\nfunc two() {\n\tx :=\n}\n"},
		"Lua":        {"function one()\n  f([[\nend\n]])\n--[==[\nend\n]]\nend\n]==]\nend\nfunction two()\nend\n"},
		"PHP":        {"function one() {\n  f(\"\n}\n\\\"'\n}\n\"); # don't\n  ?>\n}\nit's\n  <?php\n}\nfunction two() {\n}\n"},
		"Shell": {
			"one() {\n  awk '\n}\n\\' x \"\n}\n\\\" \" ${#x} $'\n}\n\\'' # don't\n}\ntwo() {\n}\n",
			"one() {\n# don't\n  echo ${x#y} \\'\n}\ntwo() {\n}\n",
		},
		"Elixir": {"def one do\n  f(~s'''\nend\n''')\nend\ndef two do\nend\n"},
	} {
		for _, text := range texts {
			found, err := definitions.NamerOf(language).Find([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			before, _, _ := strings.Cut(text, "two")
			first := strings.Count(before, "\n")
			if len(found) != 2 || found[0].End != first || found[1].Line != first+1 {
				t.Errorf("%s: %+v in\n%s", language, found, text)
			}
		}
	}
}

// What stands in a string is no part of the definitions around, and may be one itself.
func TestDefinitionsInStrings(t *testing.T) {
	t.Parallel()
	for file, c := range map[string][2]string{
		"a.sh": {"eval '\none() {\n\tx\n}\n# two\ntwo() {\n\tx\n}\nx'\nx\n", "2 2 4 0 one() {\n5 6 8 0 two() {"},
		"a.pl": {"sub one {\n}\n\n=head1 A\n\nText\nand more.\n\n=cut\n\nsub two {\n}\n",
			"1 1 2 0 sub one {\n4 4 9 0 =head1 A\n11 11 12 0 sub two {"},
		"a.kt": {"class A\n// of the constructor\ninternal constructor(b: B) {\n  fun c() = 1\n  fun d() = 2\n  val e = 3\n}\n",
			"1 1 7 0 class A\n4 4 4 1 fun c() = 1\n5 5 5 1 fun d() = 2"},
		"a.rb": {"def one() = 1\nx\n", "1 1 1 0 def one() = 1"},
	} {
		if got := strings.Join(outline(t, file, c[0]), "\n"); got != c[1] {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, c[1])
		}
	}
}

// Comments, attributes and types that belong to a definition are shown with it.
func TestDefinitionsBeginWithWhatBelongsToThem(t *testing.T) {
	t.Parallel()
	for file, c := range map[string][2]string{
		"a.java": {"}\n/** A. */\n@B(\n    c = 1,\n    d = {\n        2\n    })\n@E(f = 1,\n   g = 2)\nclass H \n{\n  @I\n  int j() {\n  }\n}\n",
			"2 10 15 0 class H\n12 13 14 1 int j() {"},
		"a.cs": {"int a;\n[B(\n    1)]\n[C]\nclass D\n{\n}\n", "2 5 7 0 class D"},
		"a.rs": {"use a;\n/// B\n#[cfg(\n    c\n)]\npub fn d() {\n}\n", "2 6 7 0 pub fn d() {"},
		"a.py": {"class A:\n    \"\"\"B.\n\n    C.\n    \"\"\"\n    @d(\n        1\n    )\n    def e(self):\n        pass\n",
			"1 1 10 0 class A:\n6 9 10 1 def e(self):"},
		"a.ex": {"  x\n  @doc \"\"\"\n  A\n  \"\"\"\n  @spec b(\n    c\n  ) :: d\n  def b(c) do\n  end\n", "2 8 9 0 def b(c) do"},
		"a.sh": {"a() {\n# b\n\tc\n}\nd() {\n}\n", "1 1 4 0 a() {\n5 5 6 0 d() {"},
		"a.cc": {`int a;
// B
template <typename C,
          typename D>
[[nodiscard]]
static E *
f(C c)
{
}
template class G<1>;
int h(int i,
      int j);
int k = {
	1 };
int l;
`, "1 1 1 0 int a;\n2 7 9 0 f(C c)\n10 10 10 0 template class G<1>;\n11 11 12 0 int h(int i,\n13 13 14 0 int k = {\n15 15 15 0 int l;"},
	} {
		if got := strings.Join(outline(t, file, c[0]), "\n"); got != c[1] {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, c[1])
		}
	}
}

// No line makes a search for strings take the square of its length: the test would not end.
func TestLongLinesOfBeginningsAreReadOnce(t *testing.T) {
	gittest.Long(t)
	const length = 256 << 10
	for _, file := range []string{
		"a.c", "a.cs", "a.swift", "a.java", "a.kt", "a.rs", "a.js", "a.py", "a.rb", "a.pl", "a.php", "a.sh", "a.lua", "a.sql",
		"a.ex", "a.scala", "a.clj", "a.dart", "a.ts", "a.go", "a.css", "a.m",
	} {
		for _, piece := range []string{
			"#", "$", `R"`, `"`, `'`, "`", "[=", "[", "r#", `r"`, `@"`, `$@"`, "<<A", "<<", "/*", "*/", `\`, `'\`, "?>",
			"--[", "${", "%q(", "#[",
		} {
			text := []byte("f() {\n" + strings.Repeat(piece, length/len(piece)) + "\n}\nint g() {\n}\n")
			if language, ok := definitions.LanguageOf(file, nil); ok {
				if _, err := language.Find(text); err != nil {
					t.Errorf("%s, %q: %v", file, piece, err)
				}
			}
		}
	}
}

// A comment with a blank line is one, and belongs to the definition below.
func TestCommentsWithBlankLinesBelongToDefinitions(t *testing.T) {
	for file, text := range map[string]string{
		"a.c":  "int f(void)\n{\n}\n\n/* One.\n\n   Two.\n\n */\nint g(void)\n{\n}\n",
		"b.c":  "/*\n\n*/\nint g(void)\n{\n}\n",
		"a.cs": "/* One.\n\n*/\nclass g\n{\n}\n",
	} {
		language, _ := definitions.LanguageOf(file, nil)
		found, err := language.Find([]byte(text))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", file, err)
		}
		if d := found[len(found)-1]; d.Start != strings.Count(text[:strings.Index(text, "/*")], "\n")+1 {
			t.Errorf("%s: it begins in line %d: %+v", file, d.Start, d)
		}
	}
}

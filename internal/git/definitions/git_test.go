package definitions_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/gittest"
)

// samples are lines of each language, some of which are definitions: the test puts their words
// together at random as well.
var samples = map[string]struct{ file, lines string }{
	"ada": {"a.adb", `procedure Main is|function F (X : Integer) return Integer is|package body P is|with Ada.Text_IO;|
   task type T is|  protected Obj is|package Q is new R (Integer);|procedure P renames Q;|begin|end Main;|
function G is separate;|PROCEDURE Upper|type T is new Integer;|  procedure  Inner (A : in out B);`},
	"bash": {"a.sh", `foo() {|foo () {|function foo {|function foo() {|  inner_1() (|if foo; then|foo()|function bar ((|
bar() [[ x ]]|echo "foo() {"|9a() {|foo.bar() {|function foo|baz ( ) { :; }|} # end`},
	"bibtex": {"a.bib", `@article{knuth84,|@Book {a:b,|  author = "K",|@misc(|@string{x = "y"}|} |title = {@x}|@{x`},
	"cpp": {"a.c", `int main(void)|static void f(int a, char *b) {|struct a {|  int x;|out:|default: /* x */|::ns::f()|
class A : public B|label: x = 1;|#define X|}|namespace a {|public:|template <typename T>|_t x|A::~A()|typedef int b;|
	if (x)|  label:|9x|std::vector<int> v;|// comment|/* c|a: // b|case 1:`},
	"csharp": {"a.cs", `public class A|    public static void Main(string[] args)|  private int x|  public int X|if (a)|
    return foo(b)|namespace A.B|  internal sealed record R(int A);|  List<int> F<T>(T a)|using System;|  new Foo(x)|
  async Task<int> G()|  int x = f(1);|  public A(int b)|  string this[int i]|  enum E {|} |  foreach (var x in y)`},
	"css": {"a.css", `a {|.class, #id {|@media print {|:root {|  color: red;|[data-x] {|h1:hover|x: y;|*{|}|A:|#ID|_x {`},
	"dts": {"a.dts", `/ {|&uart0 {|  node@1 {|  prop = <1>;|/dts-v1/;|	label: node {|  compatible;|#include|a = b {|	/  {`},
	"elixir": {"a.ex", `defmodule A do|  def f(x) do|  defp g, do: 1|test "x" do|defmacro m(x)|  default = 1|defimpl P do|end|
  defprotocol P do|deftest x|	def	x|  defguard is_x(y)|testing x|	defmacrop z do`},
	"fortran": {"a.f90", `program main|  subroutine f(x)|integer function g(x)|module m|end module m|  module procedure p|C comment|
* comment|! subroutine x|  block data b|real x|  end subroutine f|pure elemental function h(y)|'x' function y|call f(x)|
      FUNCTION F(X)|  recursive subroutine 9x|PROGRAM P`},
	"fountain": {"a.fountain", `INT. HOUSE - DAY|EXT. GARDEN|.A HEADING|..no|int./ext. car|I/E. ROOM|est. city|Internal|INT HOUSE|extra|
.  x|i/e room|int/ext. x`},
	"golang": {"a.go", `func main() {|func (r *R) Read(p []byte) (int, error) {|type A struct {|type B interface {|type C int|var x = 1|
	func inner() {|functional|type D = struct{}|	f := func() {|// func|type  E[T any] struct|func|funcx(|type structx`},
	"html": {"a.html", `<h1>Title</h1>|  <h2 class="x">A</h2>|<p>x</p>|<H3>|<h7>|<h1|x <h1>y</h1>|<h4	id=x>|<h5x>|<h6>`},
	"java": {"A.java", `public class A {|  public static void main(String[] args) {|  int x = f(1);|  return g(x)|interface B {|
  if (a) {|  List<String> f(Map<K, V> m)|  new A(b) {|  private int[] g(int a)|enum E {|
  @Override|  x.y(z)|  record R(int a) {|
  void f(int a,|  catch (E e) {|  Foo bar(baz);|  <T> T id(T t) {|  non-sealed class X|  throw new X(y)|  else if (x)`},
	"kotlin": {"a.kt", `fun main() {|  private fun f(x: Int): Int = 1|class A(val x: Int) {|interface I|val x = 1|  data class D|
object O {|  Fun x|if (x)|  override suspend fun g()|funny x|enum class E|	inline	fun	x`},
	"markdown": {"a.md", `# Title|## Section|   ### Three|    # code|#tag|text|####### seven|  #	x|###### six|#|`},
	"matlab":   {"a.m", `function y = f(x)|classdef A|  function g|%% Section|% comment|## x|%%% y|x = 1;|functional|%%x|##x|end`},
	"objc": {"a.mm", `- (void)viewDidLoad {|+ (id)make:(int)x|@implementation A|@interface B : C|@end|int main(int argc, char **argv)|
  if (x) {|  return f(x)|static void f(int a)|  foo(bar);|int x;|-(NSString *)name|@protocol P <Q>|
@property int x|  do x(y)|
  [self foo:bar]|  else g(x)`},
	"pascal": {"a.pas", `procedure P;|function F(X: Integer): Integer;|class function G: Integer;|constructor Create;|interface|implementation|
  TA = class(TB)|TR = record|  procedure Inner;|begin|end;|initialization|x := 1;|destructor Destroy; override;|
TB =class|
class procedure X|uses A;|finalization`},
	"perl": {"a.pl", `package Foo;|sub bar {|sub baz($x) {|sub qux : lvalue {|BEGIN {|=head1 NAME|  sub inner {|my $x = sub {|sub x;|
END|AUTOLOAD {|=cut|sub a::b|sub c # d|DESTROY { x|sub y { 1 }|=head9|=heady z|package|sub e:f;`},
	"php": {"a.php", `<?php|function f($x) {|  public static function g() {|class A {|  abstract class B|interface I|  trait T {|
  final class C|$x = function() {|  private $y;|enum E|  protected function h()|return 1;|classy|  interfacex|  abstract function z`},
	"python": {"a.py", `def f(x):|class A(B):|  async def g():|    def h(self):|@decorator|x = 1|definition|class|  class C:|async  def x()|
async def|asyncdef x|	def	y|# def z|return def x`},
	"ruby": {"a.rb", `def f|class A < B|module M|  def self.g(x)|end|attr :x|define x|  class << self|modules|	def	y|class|x.def y`},
	"rust": {"a.rs", `fn main() {|pub fn f<T>(x: T) -> T {|impl<T> A<T> {|  pub(crate) async fn g()|struct S;|struct S {|mod tests {|
trait T {|macro_rules! m {|use a::b;|  unsafe extern "C" fn h() {|let x = 1;|enum E {|union U {|fnx|impl A for B {|
  const fn c() -> u8|pub const X: u8 = 1;|extern "C" {|fn	x`},
	"scheme": {"a.scm", `(define (f x)|(define-syntax m|  (define x 1)|(defstruct s|(library (a b)|(let ((x 1))|(module m|(defun f|
(struct point (x y))|(class* a|(defmethod (g x)|(def x|(definex y|(defrules x|(define/contract x|(def-x y|(defalias-y`},
	"tex": {"a.tex", `\section{A}|\subsection{B}|\subsubsection*{C}|\chapter{D}|\part{E}|  \section{F}|\paragraph{G}|text|\section|
\subchapter{x}|\sections{y}|\chapter*{H}`},
}

// newer are the patterns of a later git than many machines have, or those that take more than git's.
var newer = map[string]string{
	"bash": `^[ \t]*([a-zA-Z_][a-zA-Z0-9_]*[ \t]*\([ \t]*\)|` +
		`function[ \t]+[a-zA-Z_][a-zA-Z0-9_]*([ \t]*\([ \t]*\)|[ \t]+)).*$`,
	"csharp": `!^[ \t]*(do|while|for|foreach|if|else|new|default|return|switch|case|throw|catch|using|lock|fixed|` +
		`await|from|where|orderby|join|group|into|select|yield)([^[:alnum:]_]|$)` + "\n" + `^[ \t]*(([][[:alnum:]@_.](<[][[:alnum:]@_, \t<>]+>)?)+([ \t]+([][[:alnum:]@_.]` +
		`(<[][[:alnum:]@_, \t<>]+>)?)+)+[ \t]*\([^;]*)$` + "\n" + `^[ \t]*(([][[:alnum:]@_.](<[][[:alnum:]@_, \t<>]+` +
		`>)?)+([ \t]+([][[:alnum:]@_.](<[][[:alnum:]@_, \t<>]+>)?)+)+[^;=:,()]*)$` + "\n" + `^[ \t]*(((static|public|` +
		`internal|private|protected|new|unsafe|sealed|abstract|partial)[ \t]+)*(class|enum|interface|struct|record)` +
		`[ \t]+.*)$` + "\n" + `^[ \t]*(namespace[ \t]+.*)$`,
	"java": `!^[ \t]*(catch|do|for|if|instanceof|new|return|switch|throw|while)` + "\n" +
		`^[ \t]*(([a-z-]+[ \t]+)*(class|enum|interface|record)[ \t]+.*)$` + "\n" +
		`^[ \t]*(([A-Za-z_<>&][][?&<>.,A-Za-z_0-9]*[ \t]+)+[A-Za-z_][A-Za-z_0-9]*[ \t]*\([^;]*)$`,
	"kotlin": `^[ \t]*(([a-z]+[ \t]+)*(fun|class|interface|object)[ \t]+.*)$`,
	"php": `^[ \t]*(((public|protected|private|static|abstract|final)[ \t]+)*function.*)$` + "\n" +
		`^[ \t]*(((final|abstract|readonly)[ \t]+)*class|enum|interface|trait).*$`,
	"rust": `^[ \t]*((pub(\([^\)]+\))?[ \t]+)?((async|const|unsafe|extern([ \t]+"[^"]+"))[ \t]+)*` +
		`(struct|enum|union|mod|trait|fn|impl|macro_rules!)[< \t]+[^;]*)$`,
}

// A line is a definition if git takes it for one.
func TestDefinitionsAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	if names := definitions.LanguageNames(); len(names) != len(samples) {
		t.Fatalf("%d languages, and samples of %d", len(names), len(samples))
	}
	compared, defined := 0, 0
	for _, name := range definitions.LanguageNames() {
		sample := samples[name]
		lines := append(strings.Split(strings.ReplaceAll(sample.lines, "|\n", "|"), "|"), mixed(name, sample.lines)...)
		want := definedByGit(t, name, sample.file, lines)
		var text strings.Builder
		for _, line := range lines {
			text.WriteString(line + "\n\n")
		}
		language, ok := definitions.LanguageOf(sample.file, []byte(text.String()))
		if !ok || language.Name != name {
			t.Fatalf("%s is not of %s", sample.file, name)
		}
		found, err := language.Find([]byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[int]bool)
		for _, d := range found {
			got[(d.Line-1)/2] = true
		}
		wrong := 0
		for i, line := range lines {
			if got[i] != want[i] && wrong < 10 {
				wrong++
				t.Errorf("%s: %q is a definition: %t, for git: %t", name, line, got[i], want[i])
			}
		}
		if len(want) < 5 {
			t.Errorf("%s: git finds only %d definitions", name, len(want))
		}
		compared, defined = compared+len(lines), defined+len(want)
	}
	if compared < 8000 || defined < 1500 {
		t.Errorf("only %d lines were compared, of which %d are definitions", compared, defined)
	}
	t.Logf("%d lines, %d definitions", compared, defined)
}

// mixed returns lines that have the words of samples in other places.
func mixed(seed, lines string) (made []string) {
	r := rand.New(rand.NewPCG(uint64(len(lines)), uint64(len(seed))))
	words := slices.Compact(regexp.MustCompile(`\w+|[ \t]+|[^\w\s]`).FindAllString(strings.ReplaceAll(lines, "\n", ""), -1))
	words = slices.DeleteFunc(words, func(word string) bool { return word == "|" })
	all := strings.Split(strings.ReplaceAll(lines, "|\n", "|"), "|")
	for range gittest.Volume(400, 4000) {
		line := ""
		switch r.IntN(3) {
		case 0:
			for range 1 + r.IntN(6) {
				line += words[r.IntN(len(words))]
			}
		case 1: // a word more
			of := all[r.IntN(len(all))]
			at := r.IntN(len(of) + 1)
			line = of[:at] + words[r.IntN(len(words))] + of[at:]
		default: // some characters less
			of := all[r.IntN(len(all))]
			at := r.IntN(len(of) + 1)
			line = of[:at] + of[min(at+1+r.IntN(3), len(of)):]
		}
		made = append(made, line)
	}
	return made
}

// definedByGit asks git grep for the definition before each of the marks that follow the lines.
func definedByGit(t *testing.T, name, file string, lines []string) map[int]bool {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line + "\n\t\t0MARK\n")
	}
	for path, content := range map[string]string{file: text.String(), ".gitattributes": "*" + filepath.Ext(file) +
		" diff=" + name + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(arguments ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", arguments...)
		cmd.Dir, cmd.Env = dir, gittest.Env()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", arguments, err)
		}
		return string(out)
	}
	run("init", "-q")
	if pattern := newer[name]; pattern != "" {
		run("config", "diff."+name+".xfuncname", strings.ReplaceAll(pattern, `\t`, "\t"))
	}
	found := make(map[int]bool)
	for row := range strings.Lines(run("grep", "--untracked", "-n", "-p", "-e", "0MARK", "--", file)) {
		number := regexp.MustCompile(`^` + regexp.QuoteMeta(file) + `=(\d+)=`).FindStringSubmatch(row)
		if number != nil {
			n, err := strconv.Atoi(number[1])
			if err != nil {
				t.Fatal(fmt.Errorf("%s: %w", row, err))
			}
			found[(n-1)/2] = true
		}
	}
	return found
}

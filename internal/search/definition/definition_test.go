package definition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/search/definition"
)

// TestNames has lines of each language, with the name that each defines behind an arrow.
func TestNames(t *testing.T) {
	const arrow = " → "
	lines := 0
	for path, text := range map[string]string{
		"a.go": `func Parse(s string) error { → Parse
func (p *Parser[T]) next() bool { → next
type Reader interface { → Reader
var ErrX = errors.New("x") → ErrX
	return parse(x)
	parse(x)`,
		"a.py": `def parse(x): → parse
    async def _read(self): → _read
class Reader(Base): → Reader
LIMIT: int = 5 → LIMIT
    x = 5
if x == parse(y):
return parse(y)`,
		"a.rb": `  def self.parse(x) → parse
class Foo::Bar < Baz → Bar
LIMIT = 5 → LIMIT
parse(x)`,
		"a.js": `function parse(x) { → parse
export default class Reader extends Base { → Reader
export const limit = 5 → limit
const parse = async (x) => { → parse
  async read(x) { → read
exports.parse = parse → parse
app.use = function use(fn) { → use
  if (x) {
  return parse(x)
  } else if (y) {
  parse(x);`,
		"a.ts": `export interface Reader<T> { → Reader
  private async read(x: number): Promise<void> { → read
export type Id = string → Id
  for (const x of y) {`,
		"A.java": `public final class Reader extends Base { → Reader
    public static List<String> read(int x) throws IOException { → read
    @Override public int hashCode() { → hashCode
    private static final int LIMIT = 5; → LIMIT
    return read(x);
    } else if (read(x)) {`,
		"a.cs": `    internal sealed class Reader : Base → Reader
    public async Task<int> ReadAsync(int x) → ReadAsync
    throw new Exception(x);`,
		"a.kt": `data class Reader(val x: Int) → Reader
  override suspend fun read(x: Int) = 5 → read
fun <T> List<T>.second(): T = get(1) → second`,
		"a.swift": `public struct Reader { → Reader
    func read(_ x: Int) -> Int { → read`,
		"a.scala": `case class Reader(x: Int) → Reader
  def read(x: Int): Int = 5 → read`,
		"a.c": `#define LIMIT 5 → LIMIT
static int read_file(const char *name, int size) → read_file
struct reader { → reader
typedef struct reader reader_t; → reader_t
void *xmalloc(size_t size) → xmalloc
	return read_file(name, 5);
	read_file(name, 5);
int read_file(const char *name);
	else if (read_file(name))`,
		"a.cpp": `template <typename T> class Reader : public Base { → Reader
std::string Reader::read(int x) const { → read
Reader::Reader(int x) → Reader
namespace io { → io
  delete x;`,
		"a.rs": `pub(crate) async fn read<T>(x: T) -> u8 { → read
pub struct Reader<'a> { → Reader
pub const LIMIT: usize = 5; → LIMIT
macro_rules! vec { → vec
    let x = read(5);`,
		"a.php": `    public static function read($x) { → read
abstract class Reader { → Reader
    const LIMIT = 5; → LIMIT`,
		"a.pl": `sub read_file { → read_file`,
		"a.sh": `read_file() { → read_file
function read-file { → read-file
LIMIT=5 → LIMIT
	echo read_file`,
		"a.lua":    "local function M.read(x) → read\nM.read = function(x) → read\nread(x)",
		"a.ex":     "  defp read(x) do → read\ndefmodule Foo.Reader do → Reader",
		"a.erl":    "read(X) -> → read\n-record(reader, { → reader",
		"a.hs":     "read :: Int -> Int → read\ndata Reader = Reader → Reader",
		"a.ml":     "let rec read x = → read\ntype reader = { → reader",
		"a.clj":    "(defn read-file [x] → read-file",
		"a.el":     "(defun read-file (x) → read-file",
		"a.r":      "read_file <- function(x) { → read_file",
		"a.jl":     "function read!(x) → read!\nread(x) = 5 → read",
		"a.zig":    "pub fn read(x: u8) u8 { → read",
		"a.nim":    "proc read*(x: int): int = → read",
		"a.ps1":    "function Read-File { → Read-File",
		"a.sql":    "CREATE TABLE IF NOT EXISTS public.readers ( → readers\nselect read(x)",
		"a.proto":  "message Reader { → Reader\n  rpc Read(X) returns (Y); → Read",
		"a.tf":     `resource "aws_instance" "reader" { → reader`,
		"Makefile": "read: x y → read\nLIMIT ?= 5 → LIMIT\n	read x",
		"a.f90":    "  subroutine read_file(x) → read_file",
		"a.dart":   "abstract class Reader extends Base { → Reader",
		"a.sol":    "contract Reader is Base { → Reader",
	} {
		finder := definition.ByPath("dir/" + path)
		for line := range strings.SplitSeq(text, "\n") {
			source, want, defines := strings.Cut(line, arrow)
			start, end, ok := finder.Name([]byte(source))
			if ok != defines || ok && source[start:end] != want {
				t.Errorf("%s: %q defines %q, want %q", path, source, source[start:end], want)
			}
			lines++
		}
	}
	if lines < 100 {
		t.Errorf("only %d lines", lines)
	}
}

func TestLanguagesWithoutPatterns(t *testing.T) {
	for _, path := range []string{"README.md", "a.unknown", "LICENSE", "a.json"} {
		if f := definition.ByPath(path); f != nil || f.Language() != "" {
			t.Errorf("%s is in %s", path, f.Language())
		}
	}
	if _, _, ok := (*definition.Finder)(nil).Name([]byte("def f():")); ok || definition.Knows("Markdown") ||
		!definition.Knows("Go") {
		t.Error("a language without patterns has definitions")
	}
	if _, _, ok := definition.ByPath("a.py").Name([]byte("def f(): " + strings.Repeat("x", 1000))); ok {
		t.Error("a line of data is a definition")
	}
}

func TestGoIsParsed(t *testing.T) {
	text := "package p\n\nconst (\n\tA, B = 1, 2\n)\n\n// func no() {\nvar s = `\nfunc no() {\n`\n\nfunc (t *T[X]) M() {\n\tC := 1\n}\n\n" +
		"type (\n\tT[X any] struct{ f int }\n)\n"
	want := map[int][]string{4: {"A", "B"}, 8: {"s"}, 12: {"M"}, 17: {"T"}}
	for _, c := range []struct {
		text string
		want map[int][]string
	}{{text, want}, {"package p\nfunc broken( {\nfunc f() {}\n", map[int][]string{2: {"broken"}, 3: {"f"}}}} {
		defined := definition.ByPath("a.go").Definitions([]byte(c.text))
		number := 0
		for line := range strings.Lines(c.text) {
			number++
			if got := defined(number, []byte(strings.TrimSuffix(line, "\n"))); !slices.Equal(got, c.want[number]) {
				t.Errorf("line %d: %s, want %s", number, fmt.Sprint(got), fmt.Sprint(c.want[number]))
			}
		}
	}
}

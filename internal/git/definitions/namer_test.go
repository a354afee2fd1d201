package definitions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
)

// TestNames has lines of each language, with the name that each defines behind an arrow.
func TestNamesOfLines(t *testing.T) {
	const arrow = " → "
	lines := 0
	for language, text := range map[string]string{
		"Go": `func Parse(s string) error { → Parse
func (p *Parser[T]) next() bool { → next
type Reader interface { → Reader
var ErrX = errors.New("x") → ErrX
	return parse(x)
	parse(x)`,
		"Python": `def parse(x): → parse
    async def _read(self): → _read
class Reader(Base): → Reader
LIMIT: int = 5 → LIMIT
    x = 5
if x == parse(y):
return parse(y)`,
		"Ruby": `  def self.parse(x) → parse
  def delete(x) → delete
  def valid? → valid?
  def name=(x) → name=
  def ==(other) → ==
  def self.[](x) → []
  def -@; end → -@
    def block.each; yield(call) end → each
module ::Reader → Reader
class Foo::Bar < Baz → Bar
LIMIT = 5 → LIMIT
parse(x)`,
		"JavaScript": `function parse(x) { → parse
export default class Reader extends Base { → Reader
export const limit = 5 → limit
const parse = async (x) => { → parse
  async read(x) { → read
exports.parse = parse → parse
app.use = function use(fn) { → use
  if (x) {
  return parse(x)
  } else if (y) {
  function(x) {
  read: function(x) { → read
  read: (x) => x, → read
  @memoized async read(x) { → read
  parse(x);`,
		"TypeScript": `export interface Reader<T> { → Reader
  private async read(x: number): Promise<void> { → read
  read(x: number): Promise<void>; → read
  read(x: number): void → read
  static create<T extends Map<K, V>>(x: T): Reader<T> { → create
  #read<K extends keyof T>(key: K): T[K] { → read
  async *lines<T>(): AsyncGenerator<T> { → lines
  private handle = async <T,>(x: T) => { → handle
  read(x);
@injectable() export class Reader { → Reader
export type Id = string → Id
  for (const x of y) {`,
		"Java": `public final class Reader extends Base { → Reader
    public static List<String> read(int x) throws IOException { → read
    <T extends Comparable<T>> T go(T x) { → go
    Reader(@Named("x") String name) {} → Reader
    @Override public int hashCode() { → hashCode
    private static final int LIMIT = 5; → LIMIT
    List<String> read(int x) throws IOException; → read
    Reader(String name, int x) throws IOException { → Reader
    Reader(name, x);
    return read(x);
    return new Reader(x);
    } else if (read(x)) {`,
		"C#": `    internal sealed class Reader : Base → Reader
    public async Task<int> ReadAsync(int x) → ReadAsync
    public static bool operator ==(Reader a, Reader b) => true; → ==
    public T this[int i] → this
    public readonly record struct Point(int X); → Point
    public static T[] Read<T>(this T[] list, Func<T, bool> takes) → Read
    private (int Size, bool Known) Measure(int x) → Measure
    public delegate object? Factory(Type type); → Factory
    public event EventHandler<EventArgs>? Closed; → Closed
    event EventHandler Closed; → Closed
    public new Guid Id { get; set; } → Id
    int Size { get; } → Size
    where T : class
    get { return size; }
    throw new Exception(x);`,
		"Kotlin": `data class Reader(val x: Int) → Reader
  override suspend fun read(x: Int) = 5 → read
fun <T> List<T>.second(): T = get(1) → second
fun interface Reader { → Reader
actual tailrec fun File.read(): Boolean { → read
  fun ` + "`open`() → open\n  fun `open and read`() {",
		"Swift": `public struct Reader { → Reader
    package final class Reader: Base { → Reader
    associatedtype Element: Sendable → Element
import struct Foundation.Date
    public init?(x: Int) { → init
    subscript(i: Int) -> T { → subscript
    static func == (a: Reader, b: Reader) -> Bool { → ==
    func read(_ x: Int) -> Int { → read`,
		"Scala": `case class Reader(x: Int) → Reader
  def +(x: Reader): Reader = x → +
  private[this] def name_=(x: Int): Unit = { → name_=
given readers: Ordering[Reader] with → readers
  def read(x: Int): Int = 5 → read`,
		"C": `#define LIMIT 5 → LIMIT
static int read_file(const char *name, int size) → read_file
struct reader { → reader
typedef struct reader reader_t; → reader_t
void *xmalloc(size_t size) → xmalloc
	return read_file(name, 5);
	read_file(name, 5);
int read_file(const char *name);
static inline int is_open(int fd) { return fd >= 0; } → is_open
read_file(const char *name, → read_file
read_file( → read_file
do_read(int fd) → do_read
print_all(int fd)	// and more → print_all
while (read_file(name))
typedef int (*read_fn)(const char *name); → read_fn
typedef void (WINAPI *read_fn)(int); → read_fn
typedef void each_file_fn(const char *name, void *data); → each_file_fn
typedef int CALLBACK(read_cb)(const char *name); → read_cb
GIT_INLINE(int) read_file(const char *name) → read_file
extern struct reader { → reader
struct __attribute__ ((__packed__)) header { → header
struct point { int x; int y; }; → point
struct reader;
} reader_t, *reader_p; → reader_t
             void *UNUSED(name))
	else if (read_file(name))`,
		"C++": `template <typename T> class Reader : public Base { → Reader
std::string Reader::read(int x) const { → read
Reader::Reader(int x) → Reader
Reader::Reader(int x) : x_(x) → Reader
  bool operator==(const Reader &other) const { → operator==
int Reader::operator()(int x) const → operator()
  bool operator==(const Reader &other) const;
namespace io { → io
class BASE_EXPORT Reader : public Base { → Reader
class BaseExport Reader → Reader
class [[nodiscard]] Reader { → Reader
class Reader;
template <> struct hash<Reader> { → hash
using Readers = std::vector<Reader>; → Readers
using namespace std;
extern "C" int read_file(const char *name) { → read_file
  double size( void ) const { → size
  explicit Reader(const char* name) → Reader
  explicit Reader(const char* name);
  ~Reader() { close(); } → ~Reader
  Reader(int x) : x_(x) {} → Reader
  std::string read(const char* name, → read
  template <typename T> auto end() const -> typename T::iterator { → end
  bool empty() const noexcept → empty
    return is_open(name,
    std::cout << read(x)
    is_open(x) ? read(x) : write(x);
struct Reader<T, → Reader
struct is_reader : std::false_type {}; → is_reader
class Reader final : public Base { → Reader
  : _name(name)
  delete x;`,
		"Rust": `pub(crate) async fn read<T>(x: T) -> u8 { → read
pub struct Reader<'a> { → Reader
pub const LIMIT: usize = 5; → LIMIT
macro_rules! vec { → vec
    pub fn new() -> Self { → new
    let x = read(5);`,
		"PHP": `    public static function read($x) { → read
abstract class Reader { → Reader
    const LIMIT = 5; → LIMIT`,
		"Perl": `sub read_file { → read_file
sub new { → new
package Foo::Reader; → Reader
use constant LIMIT => 5; → LIMIT
use Foo::Reader;`,
		"Shell": `read_file() { → read_file
function read-file { → read-file
LIMIT=5 → LIMIT
do_install() { → do_install
	echo read_file`,
		"Lua": "local function M.read(x) → read\nM.read = function(x) → read\nread(x)",
		"Elixir": `  defp read(x) do → read
defmodule Foo.Reader do → Reader
  defmacro assert(x) do → assert
  @type reader :: pid → reader
  @callback read(term) :: term → read
  @spec read(term) :: term`,
		"Erlang": `read(X) -> → read
read([Line, Column], → read
-record(reader, { → reader
-module(reader). → reader
    read(X).`,
		"Haskell":         "read :: Int -> Int → read\ndata Reader = Reader → Reader",
		"OCaml":           "let rec read x = → read\ntype reader = { → reader",
		"Clojure":         "(defn read-file [x] → read-file",
		"Emacs Lisp":      "(defun read-file (x) → read-file",
		"R":               "read_file <- function(x) { → read_file",
		"Julia":           "function read!(x) → read!\nread(x) = 5 → read",
		"Zig":             "pub fn read(x: u8) u8 { → read",
		"Nim":             "proc read*(x: int): int = → read",
		"PowerShell":      "function Read-File { → Read-File",
		"SQL":             "CREATE TABLE IF NOT EXISTS public.readers ( → readers\nselect read(x)",
		"Protocol Buffer": "message Reader { → Reader\n  rpc Read(X) returns (Y); → Read",
		"HCL":             `resource "aws_instance" "reader" { → reader`,
		"Makefile":        "read: x y → read\nLIMIT ?= 5 → LIMIT\nexport LIMIT = 5 → LIMIT\ndefine LINES → LINES\n	read x",
		"Vim Script": `function! s:Read(name) abort → Read
fun foo#bar#Read() → Read
export def Read(name: string): bool → Read
class Reader extends Base → Reader
command! -nargs=1 -bang Read call s:Read(<q-args>) → Read
const limit = 5 → limit
call s:Read("x")`,
		"Tcl":       "proc ::io::read {name} { → read\n  read $name",
		"Awk":       "function read(name) { → read\n{ read(x) }",
		"CMake":     "function(read name) → read\nOPTION(READ \"x\" ON) → READ\nread(name)",
		"M4":        "AC_DEFUN([READ_FILE], → READ_FILE\nm4_define([LIMIT], [5]) → LIMIT\nREAD_FILE([x])",
		"SCSS":      "@mixin read($x) { → read\n$limit: 5; → limit\n.read { @include read; }",
		"Batchfile": ":read → read\ncall :read\n:: read",
		"SystemVerilog": `module reader #(parameter W = 8) ( → reader
  function automatic int unsigned read(int x); → read
  task run(); → run
  read(x);`,
		"VHDL":              "entity reader is → reader\n  impure function read(x : integer) return integer is → read\nread(x);",
		"Thrift":            "struct Reader { → Reader\ntypedef i32 Id → Id\n  1: Reader x",
		"GDScript":          "static func read(x): → read\nclass_name Reader → Reader\n@export var limit = 5 → limit\n	read(x)",
		"Gleam":             "pub fn read(x: Int) -> Int { → read\npub type Reader { → Reader",
		"Odin":              "read :: proc(x: int) -> int { → read\nReader :: struct { → Reader",
		"Haxe":              "	public static inline function read(x:Int):Int { → read",
		"VBA":               "Public Function Read(x As Integer) As Integer → Read\nEnd Function",
		"Fortran Free Form": "  subroutine read_file(x) → read_file",
		"Dart":              "abstract class Reader extends Base { → Reader",
		"Solidity":          "contract Reader is Base { → Reader",
	} {
		namer := definitions.NamerOf(language)
		for line := range strings.SplitSeq(text, "\n") {
			source, want, defines := strings.Cut(line, arrow)
			start, end, ok := namer.Name([]byte(source))
			if ok != defines || ok && source[start:end] != want {
				t.Errorf("%s: %q defines %q, want %q", language, source, source[start:end], want)
			}
			lines++
		}
	}
	if lines < 230 {
		t.Errorf("only %d lines", lines)
	}
}

func TestLanguagesWithoutNamers(t *testing.T) {
	t.Parallel()
	if n := definitions.NamerOf("Markdown", "JSON", ""); n != nil || n.Language() != "" {
		t.Errorf("there is a namer of %s", n.Language())
	}
	if _, _, ok := (*definitions.Namer)(nil).Name([]byte("def f():")); ok || definitions.NamerOf("Markdown", "Go") == nil {
		t.Error("a language without patterns has definitions, or hides the next one")
	}
	if _, _, ok := definitions.NamerOf("Python").Name([]byte("def f(): " + strings.Repeat("x", 1000))); ok {
		t.Error("a line of data is a definition")
	}
}

func TestNamesOfGoAreParsed(t *testing.T) {
	text := "package p\n\nconst (\n\tA, B = 1, 2\n)\n\n// func no() {\nvar s = `\nfunc no() {\n`\n\nfunc (t *T[X]) M() {\n\tC := 1\n}\n\n" +
		"type (\n\tT[X any] struct{ f int }\n)\n"
	want := map[int][]string{4: {"A", "B"}, 8: {"s"}, 12: {"M"}, 17: {"T"}}
	for _, c := range []struct {
		text string
		want map[int][]string
	}{{text, want}, {"package p\nfunc broken( {\nfunc f() {}\n", map[int][]string{2: {"broken"}, 3: {"f"}}}} {
		defined := definitions.NamerOf("Go").Names([]byte(c.text))
		number := 0
		for line := range strings.Lines(c.text) {
			number++
			if got := defined(number, []byte(strings.TrimSuffix(line, "\n"))); !slices.Equal(got, c.want[number]) {
				t.Errorf("line %d: %s, want %s", number, fmt.Sprint(got), fmt.Sprint(c.want[number]))
			}
		}
	}
}

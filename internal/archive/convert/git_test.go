package convert

import (
	"archive/tar"
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/gittest"
)

// comparison is one file that git archives and the package converts.
type comparison struct {
	attributes string // as .gitattributes have them: "text eol=crlf"
	content    string
}

// value reads one attribute of a line of .gitattributes.
func value(line, name string) attributes.Value {
	for word := range strings.FieldsSeq(line) {
		key, text, given := strings.Cut(word, "=")
		switch {
		case given && key == name:
			return attributes.Value{State: attributes.Valued, Text: text}
		case word == name:
			return attributes.Value{State: attributes.Set}
		case word == "-"+name:
			return attributes.Value{State: attributes.Unset}
		}
	}
	return attributes.Value{}
}

func attributesOf(line string) attributes.Attributes {
	return attributes.Attributes{
		attributes.Text: value(line, "text"), attributes.CRLF: value(line, "crlf"), attributes.EOL: value(line, "eol"),
		attributes.Ident: value(line, "ident"), attributes.Filter: value(line, "filter"),
		attributes.WorkingTreeEncoding: value(line, "working-tree-encoding"),
	}
}

func decide(line string) Conversion {
	c, _ := Decide(attributesOf(line))
	return c
}

func blobID(content string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content))))
}

// source gives a content in pieces of up to seven bytes, or if it is long of up
// to 70 000, others at each reading.
func source(content string, seed uint64) Source {
	most := 7
	if len(content) > 10_000 {
		most = 70_000
	}
	random := rand.New(rand.NewPCG(seed, 0))
	return Source{Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&pieces{strings.NewReader(content), random, most}), nil
	}}
}

type pieces struct {
	r      io.Reader
	random *rand.Rand
	most   int
}

func (p *pieces) Read(b []byte) (int, error) {
	return p.r.Read(b[:min(len(b), 1+p.random.IntN(p.most))])
}

// all returns what each way of converting gives, which is the same.
func all(t testing.TB, c Conversion, content string) string {
	t.Helper()
	id := blobID(content)
	appended, err := c.Append([]byte("before"), []byte(content), id)
	if err != nil {
		t.Fatal(err)
	}
	want := string(bytes.TrimPrefix(appended, []byte("before")))
	for seed, hold := range []int{holdSize, holdSize, 5} { // with hardly anything held, each keyword is a long one
		m, err := c.measure(t.Context(), source(content, uint64(seed+1)), id, hold)
		if err != nil {
			t.Fatal(err)
		}
		var measured bytes.Buffer
		if err := m.CopyTo(&measured); err != nil {
			t.Fatal(err)
		}
		if measured.String() != want || m.Size() != int64(len(want)) {
			t.Errorf("%q, %d held:\nMeasure %d %.300q\nAppend  %d %.300q",
				short(content), hold, m.Size(), short(measured.String()), len(want), short(want))
		}
	}
	return want
}

func short(s string) string { return s[:min(len(s), 400)] }

// oracles are what git makes of the files of a commit, by their paths, beside what this
// package decides.
var oracles = map[string]struct {
	decide func(attributes.Attributes) (Conversion, bool)
	files  func(t *testing.T, repo *gittest.Repo, commit string) map[string]string
}{
	"archive": {Decide, func(t *testing.T, repo *gittest.Repo, commit string) map[string]string {
		found := map[string]string{}
		for tr := tar.NewReader(bytes.NewReader(repo.Archive("--format=tar", commit))); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				return found
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			found[h.Name] = string(content)
		}
	}},
	"checkout": {DecideCheckout, func(t *testing.T, repo *gittest.Repo, commit string) map[string]string {
		found, dir := map[string]string{}, repo.Checkout(commit)
		for path := range strings.SplitSeq(repo.Git("ls-tree", "-r", "--name-only", commit), "\n") {
			content, err := os.ReadFile(filepath.Join(dir, path))
			if err != nil {
				t.Fatal(err)
			}
			found[path] = string(content)
		}
		return found
	}},
}

// compare has git archive and check out all files in one commit, and converts each. It
// fails if too few were looked at, or if git changed too few of them.
func compare(t *testing.T, cases []comparison, least, leastChanged int) {
	t.Helper()
	var attributeLines strings.Builder
	folders := map[string]string{}
	files := make([]gittest.File, 0, len(cases)+1)
	byPath := map[string]comparison{}
	for i, c := range cases {
		if folders[c.attributes] == "" {
			folders[c.attributes] = fmt.Sprintf("d%04d", len(folders))
			fmt.Fprintf(&attributeLines, "/%s/* %s\n", folders[c.attributes], c.attributes)
		}
		path := fmt.Sprintf("%s/f%06d", folders[c.attributes], i)
		byPath[path] = c
		files = append(files, gittest.Regular(path, c.content))
	}
	files = append(files, gittest.Regular(".gitattributes", attributeLines.String()))
	repo := gittest.New(t)
	commit := repo.Commit("main", files...)

	for name, oracle := range oracles {
		compared, changed, wrong := 0, 0, 0
		for path, want := range oracle.files(t, repo, commit) {
			c, ok := byPath[path]
			if !ok {
				continue
			}
			compared++
			if want != c.content {
				changed++
			}
			conversion, _ := oracle.decide(attributesOf(c.attributes))
			if got := all(t, conversion, c.content); got != want {
				t.Errorf("%s, %s: %.300q\n got %.300q\nwant %.300q", name, c.attributes, c.content, got, want)
				if wrong++; wrong > 10 {
					t.Fatal("and more")
				}
			}
		}
		t.Logf("%s: %d files compared, of which git changed %d", name, compared, changed)
		if compared < least || changed < leastChanged {
			t.Errorf("%s: %d files compared, of which git changed %d: too few", name, compared, changed)
		}
	}
}

// endings are contents for the questions of line endings.
var endings = []string{
	"", "\n", "\r", "\r\n", "\n\r", "\r\r\n", "\n\n", "a", "a\n", "\na", "a\nb", "a\r\nb\r\n", "a\r\nb\n", "a\rb\n",
	"a\rb",
	"a\nb\r", "a\r\n\nb", "a\n\r\nb", "a\nb\x00c\n", "\x00", "\x00\n", "a\n\x1a", "\x1a", "\n\x1a", "a\x1ab\n",
	"\x1a\x1a\n", "\n\x1a\x1a",
	"a\nb", "caf\u00e9\n", "\u65e5\u672c\u8a9e\n\u65e5\n", "bad \xff utf-8\n", "cut \xe3\x81\n", "cut\n\xe3\x81",
	"\ufefftext\n", "\x7f\n", "\b\t\x1b\f\n",
	strings.Repeat("x", 127) + "\x01\n", strings.Repeat("x", 128) + "\x01\n", strings.Repeat("x", 129) + "\x01\n",
	strings.Repeat("x", 255) + "\x01\x02\n", strings.Repeat("x", 256) + "\x01\x02\n", strings.Repeat("x", 128) +
		"\x7f\n",
	strings.Repeat("x", 127) + "\x01\n\x1a", strings.Repeat("x", 128) + "\x01\n\x1a", strings.Repeat("x", 128) +
		"\x01\n\x1a\n",
	strings.Repeat("x", 127) + "\x01\n\xff", strings.Repeat("\x01", 50) + "\n",
}

// long are contents of more than one piece, and keywords of more than is held.
var long = []string{
	strings.Repeat("line\n", 20_000),
	strings.Repeat("a", 65_535) + "\r\n", strings.Repeat("a", 65_536) + "\n", strings.Repeat("a", 65_535) + "\n" +
		strings.Repeat("b", 65_536) + "\r",
	"$Id: " + strings.Repeat("x", 70_000) + " $\n$Id$", "$Id: " + strings.Repeat("x", 70_000) + " y$\n$Id$", "$Id: " +
		strings.Repeat("x", 200_000),
	"$Id: " + strings.Repeat("x", 70_000) + "\n$\n$Id$", "$Id:" + strings.Repeat("x", 65_532) + "$", "$Id:" +
		strings.Repeat("x", 65_533) + " $", "$Id:" + strings.Repeat("x", 65_531) + " $",
	strings.Repeat("$Id:"+strings.Repeat("x", 66_000)+"$\n$Id:"+strings.Repeat("y", 66_000)+"\n", 3),
	strings.Repeat("$Id$\n", 5_000), strings.Repeat("$Id:", 20_000),
	strings.Repeat("$Idx", 30_000) + "$Id: y$", strings.Repeat("$Idx", 30_000) + "$Id$ and more",
	strings.Repeat("$Idx", 30_000), "$Idx$Id: " + strings.Repeat("y", 70_000) + "\n$Id: z$",
}

// idents are contents for the questions of keywords.
var idents = []string{
	"$Id$", "$Id$\n", "a $Id$ b\n", "$Id:$\n", "$Id: $\n", "$Id:  $\n", "$Id:   $\n", "$Id: x $\n", "$Id: x$\n",
	"$Id:x $\n", "$Id:x$\n", "$Id:x y$\n", "$Id: x  $\n",
	"$Id: a b $\n", "$Id: a b$\n", "$Id: a,v 1.2 2020 $\n", "$Id: 1234567890123456789012345678901234567890 $\n",
	"$Id", "$Id:", "$Id: ", "$Id: x", "$Id: x ", "$Id: x \n$", "$Id: x\n$Id$\n", "$Id: x\r\n$Id$\r\n", "$Id:\n$",
	"$Id: \n$",
	"$", "$$", "$I", "$I$Id$", "$$Id$", "$$Id$$", "$Id$$Id$", "$Id$Id$", "$Id: x$Id$", "$Id: x y$Id$",
	"$Id: x y$Id: z$", "$Id: $Id$\n", "$Id:$Id:$Id$",
	"$ID$", "$id$", "$Id $", "$Id  $", "$Idx$", "$Idx$Id$", "$Id\n$", "$Id:\x00$\n", "$Id: \x00 $", "$Id: x\ty $",
	"$Id: x\r$\n", "$Id: \u00e9 $\n", "$Id: \xff $\n",
	"$Id\x00$Id$", "$Id\x00", "$Id\x00\x00$Id$", "$Id: x\x00 y $", "$Id: x \x00$", "$Id: \x00 y $", "$Id: \t$", "$Id:\tx y $",
	"$Idx$Id: y$", "$Idx$Id: y z$", "$Idx$Id: y\n", "$Idx$Idy$Id: z$", "$Idx$Ix", "$Idx$", "a$Idx$Id", "$Idx$Id\x00$",
	"$Id: x\r\n$", "$Id: x\ry$", "$Id: x \r$", "$Id: x\f y$", "$Id:: $", "$Id:$$", "$Id:$Id:$",
}

func TestLineEndingsAndIdentAsGit(t *testing.T) {
	gittest.Long(t)
	var cases []comparison
	each := func(contents []string, attributes ...string) {
		for _, a := range attributes {
			for _, c := range contents {
				cases = append(cases, comparison{a, c})
			}
		}
	}
	few := []string{"a\nb\n", "a\r\nb\n", "a\r\nb\r\n", "a\nb\r", "a\nb\x00", "a\n\x1a"}
	for _, text := range []string{"!text", "text", "-text", "text=auto", "text=input", "text=crlf", "text="} {
		for _, crlf := range []string{"!crlf", "crlf", "-crlf", "crlf=auto", "crlf=input", "crlf=other"} {
			for _, eol := range []string{"!eol", "eol=lf", "eol=crlf", "eol=CRLF", "eol", "-eol"} {
				each(few, text+" "+crlf+" "+eol)
			}
		}
	}
	each(endings, "eol=crlf", "text=auto eol=crlf", "text eol=crlf", "text=auto", "text", "-text eol=crlf", "eol=lf",
		"filter=lfs")
	both := slices.Concat(endings, idents)
	each(both, "ident", "ident eol=crlf", "ident text=auto eol=crlf", "-ident eol=crlf", "ident=yes", "ident -text",
		"ident filter=lfs")
	each(both, "ident eol=crlf working-tree-encoding=UTF-16", "ident working-tree-encoding=ISO-8859-1",
		"ident text=auto eol=crlf working-tree-encoding=UTF-8")
	each(long, "ident")
	few = long[:gittest.Volume(5, len(long))]
	each(few, "text=auto eol=crlf", "ident text=auto eol=crlf working-tree-encoding=UTF-16LE-BOM")
	compare(t, cases, 2700, 700)
}

func TestRandomContentsAsGit(t *testing.T) {
	gittest.Long(t)
	random := rand.New(rand.NewPCG(1, 2))
	lines := []string{
		"eol=crlf", "text=auto eol=crlf", "ident", "ident eol=crlf", "ident text=auto eol=crlf",
		"working-tree-encoding=UTF-16",
		"ident eol=crlf working-tree-encoding=UTF-16LE-BOM", "ident text=auto eol=crlf working-tree-encoding=Shift_JIS",
		"eol=crlf working-tree-encoding=latin-1", "ident working-tree-encoding=gb18030",
	}
	// git reads beyond the end of a content with "$Id:$", which can crash
	// where many are in its memory.
	for range gittest.Volume(2, 8) {
		cases := make([]comparison, 750)
		for i := range cases {
			cases[i] = comparison{lines[random.IntN(len(lines))], randomContent(random)}
		}
		compare(t, cases, len(cases), len(cases)/4)
	}
}

// randomContent is made of the parts that matter.
func randomContent(random *rand.Rand) string {
	parts := []string{
		"$", "Id", ":", " ", "\n", "$Id$", "$Id:", "x", "text of a line", "$Id: x $", "\u00e9", "\u3042",
		strings.Repeat("0123456789abcdef", 20),
		"\r", "\r\n", "\x00", "\x1a", "\x01", "\xff", "\xe3\x81", "\U0001f600", // the last ones forbid most conversions
	}
	allowed := len(parts) - random.IntN(9)
	var b strings.Builder
	for range random.IntN(30) {
		b.WriteString(parts[random.IntN(allowed)])
	}
	return b.String()
}

// encodings are names as .gitattributes have them, each with characters that the
// encoding has, beside ASCII.
var encodings = map[string]string{
	"UTF-16": "\u00e9\u0434\u65e5\U0001f600", "utf-16le": "\u00e9\U0001f600", "UTF16BE": "\u00e9\U0001f600",
	"UTF-16LE-BOM": "\u65e5", "utf16be-bom": "\u65e5",
	"UTF-32": "\u00e9\U0001f600", "UTF-32LE": "\U0001f600", "utf32be": "\U0001f600",
	"latin-1": "\u00e9\u00ff\u0085", "ISO-8859-1": "\u00a0\u00e9", "iso8859-2": "\u0141\u017e",
	"ISO_8859-5": "\u0434\u0416", "ISO-8859-7": "\u03b1\u03a9", "ISO-8859-9": "\u011f\u0130",
	"ISO-8859-15": "\u20ac\u0153\u0085", "windows-1250": "\u0141\u20ac", "cp1251": "\u0434\u0416",
	"CP1252": "\u20ac\u201c", "windows-1253": "\u03b1", "windows-1254": "\u011f", "windows-1257": "\u0173",
	"KOI8-R": "\u0434\u0416\u2500", "koi8-u": "\u0454\u0457", "IBM437": "\u00e9\u2588", "IBM850": "\u00e9\u00d8",
	"IBM866": "\u0434\u2588", "macintosh": "\u00e9\u2202",
	"UCS-2": "\u65e5", "UCS-4": "\u65e5\U0001f600", "UNICODE": "\u65e5", "LATIN9": "\u20ac", "cp1253": "\u03b1",
	"Shift_JIS": "\u3042\u65e5\u672c", "SHIFT-JIS": "\u3042\u65e5\u672c\u301c", "ms932": "\u3042\u65e5\u301c",
	"EUC-JP": "\u3042\u65e5\u672c", "ISO-2022-JP": "\u3042\u65e5\u672c", "CP949": "\ub620", "EUC-KR": "\ud55c\uad6d",
	"GB2312": "\u4e2d\u6587", "GBK": "\u4e2d\u570b", "GB18030": "\u4e2d\u570b\U0001f600", "Big5": "\u4e2d\u570b",
}

// TestEncodingsAsGit writes characters that each encoding has, and some that it
// does not have, after which the content stays as it is.
func TestEncodingsAsGit(t *testing.T) {
	long := gittest.Volume(10_000, 40_000)
	var cases []comparison
	for name, letters := range encodings {
		add := func(content string) {
			cases = append(cases, comparison{"working-tree-encoding=" + name, content})
		}
		add("")
		add("text\n")
		add("a line\n" + letters + "\n")
		add(strings.Repeat("ab"+letters+"\n", 300))
		add(letters + strings.Repeat("ab\n", long))
		for _, r := range letters {
			add(string(r))
		}
		for _, missing := range []string{"\u0e01", "\u0434", "\u65e5", "\U0001f600", "\ufffd", "\xff", "\xe3\x81",
			"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80"} {
			if name == "Big5" && missing == "\u0434" {
				continue // which browsers have there, and golang.org/x/text with them
			}
			if name == "UCS-4" && missing == "\xf4\x90\x80\x80" {
				continue // which iconv has there, although Unicode ends before it
			}
			add(letters + missing)
		}
		add(letters + strings.Repeat("ab\n", long) + "\xff")
	}
	for _, name := range []string{"UTF-8", "utf8", "", "none", "UTF-8-BOM", "UTF-16-BOM", "utf--16", "latin-2x",
		"UTF-32LE-BOM"} {
		cases = append(cases, comparison{"working-tree-encoding=" + name, "\u00e9\n"},
			comparison{"eol=crlf working-tree-encoding=" + name, "\u00e9\n"})
	}
	for _, line := range []string{"-working-tree-encoding", "!working-tree-encoding",
		"eol=crlf working-tree-encoding=UTF-16"} {
		cases = append(cases, comparison{line, "\u00e9\n"})
	}
	compare(t, cases, 500, 170)
}

func TestGitRefusesASetEncoding(t *testing.T) {
	for _, content := range []string{"", "text\n"} {
		repo := gittest.New(t)
		commit := repo.Commit("main", gittest.Regular(".gitattributes", "f working-tree-encoding\n"),
			gittest.Regular("f", content))
		cmd := exec.CommandContext(t.Context(), "git", "archive", "--format=tar", commit)
		cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
		if out, err := cmd.CombinedOutput(); err == nil ||
			!bytes.Contains(out, []byte("true/false are no valid working-tree-encodings")) {
			t.Errorf("git: %v %.200q", err, out)
		}
		c := decide("working-tree-encoding")
		if _, err := c.Append(nil, []byte(content), blobID(content)); !errors.Is(err, ErrEncodingValue) {
			t.Errorf("Append: %v", err)
		}
		if _, err := c.Measure(t.Context(), source(content, 1), ""); !errors.Is(err, ErrEncodingValue) {
			t.Errorf("Measure: %v", err)
		}
	}
}

func TestGitCopiesAboveTheThreshold(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.Commit("main", gittest.Regular(".gitattributes", "* eol=crlf\n"), gittest.Regular("f", "a\nb\n"),
		gittest.Regular("g", "a\n"))
	repo.Git("config", "core.bigFileThreshold", "3")
	want := map[string]string{"f": "a\nb\n", "g": "a\r\n"}
	for tr := tar.NewReader(bytes.NewReader(repo.Archive("--format=tar", commit))); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(tr)
		if w, ok := want[h.Name]; ok && w != string(content) {
			t.Errorf("%s: %q, want %q", h.Name, content, w)
		}
		delete(want, h.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in the archive: %v", want)
	}
	checkout := repo.Checkout(commit, "core.bigFileThreshold=3")
	if content, err := os.ReadFile(filepath.Join(checkout, "f")); err != nil || string(content) != "a\r\nb\r\n" {
		t.Errorf("git checkout wrote %q, %v", content, err)
	}
	archived, checkedOut := decide("eol=crlf"), Conversion{checkout: true}
	if archived.Converts(bigFileThreshold+1) || !archived.Converts(bigFileThreshold) ||
		!checkedOut.Converts(bigFileThreshold+1) {
		t.Error("another threshold")
	}
}

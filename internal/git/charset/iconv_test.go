package charset

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

var update = flag.Bool("update", false, "write testdata/iconv.txt anew")

// samples are texts that some encodings have and others have not.
var samples = []struct{ name, text string }{
	{"ascii", "plain text, 0123 {[<~$#@^`|>]} \\"},
	{"latin", "déjà vu, Straße, señor, Ærø"},
	{"central", "Łódź, žluťoučký, őű"},
	{"turkish", "ğüşıöçİ"},
	{"baltic", "ąčęėįšųū"},
	{"vietnamese", "Tiếng Việt"},
	{"greek", "αβγ Ωμέγα"},
	{"cyrillic", "Привет, мир"},
	{"ukrainian", "Їжак, ґанок, є"},
	{"hebrew", "שלום"},
	{"arabic", "مرحبا"},
	{"thai", "สวัสดี"},
	{"japanese", "日本語の文章 テキスト"},
	{"katakana", "ﾃｷｽﾄ"},
	{"jis", "〜−‖¢£¬"},
	{"windows", "～－∥￠￡￢"},
	{"korean", "한국어 문서"},
	{"syllables", "똠방각하"},
	{"chinese", "中文文件"},
	{"simplified", "简体汉字"},
	{"traditional", "繁體漢字"},
	{"rare", "㐀䶵"},
	{"quotes", "“…” – ‘•’"},
	{"euro", "€"},
	{"yen", "¥ ‾"},
	{"boxes", "─│█"},
	{"signs", "× ÷ § °"},
	{"controls", "\u0085\u009f\u00a0"},
	{"emoji", "\U0001f600 \U00020000"},
}

// namesOfIconv are all names by which the iconv of this machine, which is git's, knows an
// encoding.
func namesOfIconv(t *testing.T) []string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "iconv", "--version").Output()
	if err != nil || !bytes.Contains(version, []byte("GLIBC")) {
		t.Skip("there is no iconv of glibc, whose names and tables are compared")
	}
	out, err := exec.CommandContext(t.Context(), "iconv", "-l").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		names = append(names, strings.TrimSuffix(strings.TrimSpace(line), "//"))
	}
	return names
}

// gitArchives returns what git makes of each sample in each encoding: the sample
// itself where git cannot convert it.
func gitArchives(t *testing.T, names []string) [][]string {
	t.Helper()
	var files []gittest.File
	for i, name := range names {
		files = append(files, gittest.Regular(fmt.Sprintf("%05d/.gitattributes", i), "s* working-tree-encoding="+name))
		for j, sample := range samples {
			files = append(files, gittest.Regular(fmt.Sprintf("%05d/s%02d", i, j), sample.text))
		}
	}
	repo := gittest.New(t)
	archived := make([][]string, len(names))
	for tr := tar.NewReader(bytes.NewReader(repo.Archive("--format=tar", repo.Commit("main", files...)))); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return archived
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		var i, j int
		if n, _ := fmt.Sscanf(h.Name, "%05d/s%02d", &i, &j); n == 2 {
			archived[i] = append(archived[i], string(content))
		}
	}
}

// stored is a commit's message in an encoding.
type stored struct{ name, sample, text string }

// gitShows returns the messages as git log has them.
func gitShows(t *testing.T, messages []stored) []string {
	t.Helper()
	var in bytes.Buffer
	for _, m := range messages {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter A U Thor <author@example.com> 1700000000 +0000\n"+
			"encoding %s\ndata %d\n%s\n", m.name, len(m.text), m.text)
	}
	repo := gittest.New(t)
	repo.GitInput(in.Bytes(), "fast-import", "--quiet")
	shown := strings.Split(repo.Git("log", "-z", "--reverse", "--format=%B", "main"), "\x00")
	for i := range shown {
		shown[i] = strings.TrimSuffix(shown[i], "\n")
	}
	if len(shown) < len(messages) {
		t.Fatalf("git log has %d messages of %d", len(shown), len(messages))
	}
	return shown[:len(messages)]
}

// differences say by name in what this package and git differ: in which samples and how,
// and by how many characters the tables of both do.
type differences map[string][]string

func (d differences) add(name, format string, arguments ...any) {
	d[name] = append(d[name], fmt.Sprintf(format, arguments...))
}

// TestEveryNameOfIconv compares what becomes of texts in every encoding that iconv knows,
// or that is known here, with what git archive and git log make of them. All differences
// are written down, so that no name and no character is lost unseen.
func TestEveryNameOfIconv(t *testing.T) {
	if testing.Short() {
		t.Skip("git converts thirty thousand files")
	}
	accepted := readDifferences(t)
	iconv := namesOfIconv(t)
	names := slices.Clone(iconv)
	for name := range accepted {
		if !slices.Contains(iconv, name) && slices.Equal(accepted[name], []string{notInIconv}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	found := differences{}
	converted, compared := 0, 0
	known := tables{}
	var messages []stored
	for i, archived := range gitArchives(t, names) {
		name := names[i]
		if len(archived) != len(samples) {
			t.Fatalf("git archived %d of %d samples in %s", len(archived), len(samples), name)
		}
		_, ok := Find(name)
		if !ok || !slices.Contains(iconv, name) {
			compareUnconverted(t, found, name, ok, archived)
			continue
		}
		for j, sample := range samples {
			compareSample(found, name, sample.name, sample.text, archived[j])
			if archived[j] == sample.text {
				continue
			}
			converted++
			if archived[0] == samples[0].text { // git log converts the header of a commit, too
				messages = append(messages, stored{name, sample.name, archived[j]})
			}
		}
		compared += known.compareTable(t, found, name)
	}
	for i, shown := range gitShows(t, messages) {
		if m := messages[i]; Decode(m.text, m.name) != shown {
			found.add(m.name, "log:%s", m.sample)
		}
	}
	t.Logf("%d names, %d texts that git converted, %d messages, %d tables", len(names), converted, len(messages), compared)
	if len(names) < 1200 || converted < 1700 || len(messages) < 900 || compared < 300 {
		t.Errorf("too few were compared")
	}
	if *update {
		writeDifferences(t, found)
		return
	}
	for name := range maps.Keys(found) {
		if !slices.Equal(found[name], accepted[name]) {
			t.Errorf("%s: differs from git in %q, accepted are %q", name, found[name], accepted[name])
		}
	}
	for name := range accepted {
		if slices.Contains(names, name) && found[name] == nil {
			t.Errorf("%s: is as in git, and accepted are %q", name, accepted[name])
		}
	}
}

const (
	notHere    = "unknown"
	notInIconv = "not-in-iconv"
)

// compareUnconverted is about a name that one of both does not know.
func compareUnconverted(t *testing.T, found differences, name string, known bool, archived []string) {
	t.Helper()
	converted := slices.ContainsFunc(archived, func(text string) bool {
		return !slices.ContainsFunc(samples, func(s struct{ name, text string }) bool { return s.text == text })
	})
	switch {
	case known && converted:
		t.Errorf("%s: iconv -l does not have it, and git converts to it", name)
	case known:
		found.add(name, notInIconv)
	case converted:
		found.add(name, notHere)
	}
}

func compareSample(found differences, name, sample, text, want string) {
	switch got, ok := Encode([]byte(text), name); {
	case ok && string(got) == want, !ok && text == want:
	case !ok:
		found.add(name, "kept:%s", sample)
	case want == text:
		found.add(name, "converted:%s", sample)
	default:
		found.add(name, "other:%s", sample)
	}
}

// characters are those of the table of an encoding that are compared.
func characters(yield func(r rune) bool) {
	for r := rune(' '); r <= 0xffff; r++ {
		if surrogate := 0xd800 <= r && r <= 0xdfff; !surrogate && !yield(r) {
			return
		}
	}
}

// linesOfCharacters has a line for each character.
var linesOfCharacters = sync.OnceValue(func() string {
	var lines strings.Builder
	for r := range characters {
		lines.WriteString(string(r) + "\n")
	}
	return lines.String()
})

// tables caches the lines of all characters in a charset, which has many names. A line is empty if the
// charset lacks its character.
type tables map[Charset][]byte

func (ts tables) get(c Charset, name string, end []byte) []byte {
	if lines, ok := ts[c]; ok {
		return lines
	}
	var lines []byte
	for line := range strings.Lines(linesOfCharacters()) {
		if encoded, ok := Encode([]byte(line), name); ok {
			lines = append(lines, encoded...)
		} else {
			lines = append(lines, end...)
		}
	}
	ts[c] = lines
	return lines
}

// compareTable compares the codes of all characters, in lines of one. It is 0 for
// encodings of Unicode, which have no table.
func (ts tables) compareTable(t *testing.T, found differences, name string) int {
	t.Helper()
	c, _ := Find(name)
	end, ok := Encode([]byte("\n"), name)
	if c == (Charset{}) || !ok || len(end) != 1 {
		return 0
	}
	cmd := exec.CommandContext(t.Context(), "iconv", "-c", "-f", "UTF-8", "-t", name)
	cmd.Stdin = strings.NewReader(linesOfCharacters())
	want, _ := cmd.Output() // it fails where it leaves something out
	got := ts.get(c, name, end)
	if bytes.Equal(got, want) {
		return 1
	}
	ours, theirs := bytes.Split(got, end), bytes.Split(want, end)
	if len(theirs) != len(ours) {
		t.Errorf("%s: iconv wrote %d lines, want %d", name, len(theirs), len(ours))
		return 1
	}
	more, fewer, other := 0, 0, 0
	for i, want := range theirs {
		switch got := ours[i]; {
		case bytes.Equal(got, want):
		case len(got) == 0:
			fewer++
		case len(want) == 0:
			more++
		default:
			other++
		}
	}
	if more+fewer+other > 0 {
		found.add(name, "more=%d", more)
		found.add(name, "fewer=%d", fewer)
		found.add(name, "other=%d", other)
	}
	return 1
}

const differencesFile = "testdata/iconv.txt"

// readDifferences reads what is accepted: a name on each line and in what it differs, and
// comments.
func readDifferences(t *testing.T) differences {
	t.Helper()
	content, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	accepted := differences{}
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			accepted[words[0]] = words[1:]
		}
	}
	return accepted
}

// writeDifferences keeps the comments, which come first.
func writeDifferences(t *testing.T, found differences) {
	t.Helper()
	content, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintln(&out, name, strings.Join(found[name], " "))
	}
	if err := os.WriteFile(differencesFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMarksInNames are ignored where iconv ignores them.
func TestMarksInNames(t *testing.T) {
	names, known := namesOfIconv(t), 0
	if len(names) == 0 {
		t.Fatal("iconv knows no names")
	}
	for mark := byte(' '); mark < 0x7f; mark++ {
		if 'a' <= mark|0x20 && mark|0x20 <= 'z' || '0' <= mark && mark <= '9' {
			continue
		}
		for _, name := range []string{string(mark) + "LATIN1", "LATIN1" + string(mark), "LAT" + string(mark) + "IN1"} {
			command := exec.CommandContext(t.Context(), "iconv", "-f", "UTF-8", "-t", name)
			command.Stdin = strings.NewReader("a")
			knows := command.Run() == nil
			if _, ok := Find(name); ok != knows {
				t.Errorf("%q is known %t, and by iconv %t", name, ok, knows)
			}
			if knows {
				known++
			}
		}
	}
	if known < 60 {
		t.Errorf("iconv knows %d of the names", known)
	}
}

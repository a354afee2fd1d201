package pretty_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/git/subst"
	"github.com/repomcp/repomcp/internal/gittest"
)

// present is what the clock shows to git and to us.
const present = 1_700_500_000

func clock() time.Time { return time.Unix(present, 0) }

func snapshotOf(t testing.TB, repo *gittest.Repo) *git.Snapshot {
	t.Helper()
	return snapshottest.Open(t, repo.Dir)
}

// gitArchive gives the files below fmt/ of an archive in its order, or false
// when git fails.
func gitArchive(t testing.TB, repo *gittest.Repo, commit string) (names []string, contents map[string][]byte, ok bool) {
	t.Helper()
	cmd := exec.Command("git", "archive", commit)
	cmd.Dir = repo.Dir
	cmd.Env = append(gittest.Env(), fmt.Sprintf("GIT_TEST_DATE_NOW=%d", present), "GNUPGHOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Logf("git archive %s: %v: %.300s", commit, err, stderr.String())
		return nil, nil, false
	}
	contents = make(map[string][]byte)
	for r := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, contents, true
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg && strings.HasPrefix(h.Name, "fmt/") {
			names = append(names, h.Name)
			contents[h.Name] = content
		}
	}
}

// treeOf records a tree with a file for each content, all marked export-subst.
func treeOf(t testing.TB, repo *gittest.Repo, mailmap string, contents []string) string {
	t.Helper()
	files := []gittest.File{gittest.Regular(".gitattributes", "fmt/* export-subst\n")}
	if mailmap != "" {
		files = append(files, gittest.Regular(".mailmap", mailmap))
	}
	for i, content := range contents {
		files = append(files, gittest.Regular(fmt.Sprintf("fmt/%05d", i), content))
	}
	commit := repo.Commit("trees", files...)
	tree := repo.Git("rev-parse", commit+"^{tree}")
	if err := os.Remove(filepath.Join(repo.Dir, "refs", "heads", "trees")); err != nil {
		t.Fatal(err)
	}
	return tree
}

func store(t testing.TB, repo *gittest.Repo, kind, content string) string {
	t.Helper()
	return repo.Store(kind, content)
}

// compare expands all files of an archive and compares them with git's. It
// gives how many were compared.
func compare(t *testing.T, repo *gittest.Repo, label, commit string, sources []string) int {
	t.Helper()
	names, want, ok := gitArchive(t, repo, commit)
	if !ok {
		t.Errorf("%s: git archive failed", label)
		return 0
	}
	id, err := git.ParseID(commit)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := snapshotOf(t, repo)
	raw, err := snapshot.RawCommit(id)
	if err != nil {
		t.Fatal(err)
	}
	noMessage := !bytes.Contains(raw, []byte("\n\n"))
	formatter := pretty.New(snapshot, id, clock)
	wrong, compared := 0, 0
	for i, name := range names {
		if noMessage && wholeMessage.MatchString(sources[i]) {
			continue
		}
		compared++
		got, err := subst.Append(t.Context(), formatter, []byte("before"), []byte(sources[i]))
		if err != nil {
			t.Errorf("%s: %q: %v", label, sources[i], err)
			continue
		}
		if string(got) != "before"+string(want[name]) {
			if wrong++; wrong <= 8 {
				t.Errorf("%s: %q\n got %q\nwant %q", label, sources[i], got[len("before"):], want[name])
			}
		}
	}
	if wrong > 8 {
		t.Errorf("%s: %d more differ", label, wrong-8)
	}
	return compared
}

// wholeMessage is %B. In a commit that ends with its header, git reads it from
// behind the end of its buffer, so that what it prints there differs by run.
var wholeMessage = regexp.MustCompile(`%[-+ ]?B`)

const mailmap = `# people
Proper Name <author@example.com>
Other Name <right@example.com> <wrong@example.com>
<only@example.com> <mail@example.com>
Joe Right <joe@right.org> Joe Wrong <joe@wrong.org>
Jane Right <jane@right.org> JANE wrong <joe@wrong.org>
 Spaced   <SPACED@example.com>	
broken <line
Empty <to@nobody.org> <>
Z <z@z.z> Z <z@old.z> trailing
Ünïcode <u@example.com>
`

// people are the lines of commits; the interesting ones are broken.
var people = []string{
	"A U Thor <author@example.com> 1700000000 +0000",
	"Joe Wrong <joe@wrong.org> 1699999999 -0500",
	"jane WRONG <JOE@wrong.ORG> 1700499000 +0545",
	"Nobody Known <wrong@example.com> 1700400000 +1400",
	" Leading <spaced@EXAMPLE.com> 1700300000 -1200",
	"<nameless@example.com> 1690000000 +0100",
	" <> 1234567890 +0000",
	"No At <plain> 100000 +0000",
	"Ünïcode Nämé <u@example.com> 1650000000 +0200",
	"日本 語 <mail@example.com> 1500000000 +0900",
	"Far Future <far@example.com> 4102444800 +0000",
	"Farther <far@example.com> 253402300800 +0000",
	"Beyond gmtime <far@example.com> 67768036191676800 +0000",
	"Beyond <far@example.com> 9223372036854775808 +0100",
	"Overflow <far@example.com> 99999999999999999999999 -0700",
	"Negative <old@example.com> -1000000 +0000",
	"No Zone <z@example.com> 1700000000",
	"No Date <z@example.com>",
	"Bad Zone <z@example.com> 1700000000 UTC",
	"Odd Zone <z@example.com> 1700000000 -0001",
	"Absurd Zone <z@example.com> 1700000000 +9999",
	"Long Zone <z@example.com> 1700000000 +1234567",
	"Huge Zone <z@example.com> 1700000000 +99999999999",
	"Twice <a@b> <c@d> 1700000000 +0000",
	"Extra > bracket <a@b>> 1700000000 +0100",
	"No Mail 1700000000 +0000",
	"No End <a@b 1700000000 +0000",
	"Zero <a@b> 0 +0000",
	"Padded <a@b>   0001700000000   +0130   rest",
	"Today <a@b> 1700499990 +0000",
	"An hour <a@b> 1700496400 +0000",
	"Yesterday <a@b> 1700413600 +0000",
	"Four days <a@b> 1700154400 +0300",
	"Two weeks <a@b> 1699290400 +0000",
	"Months <a@b> 1690000400 +0000",
	"This year <a@b> 1680000400 +0000",
	"Years <a@b> 1640000400 +0000",
	"Many years <a@b> 1440000400 +0000",
	"tab\tinside <a\tb@c> 1700000000 +0000",
	"\"quoted, name\" <q'q@example.com> 1700000000 +0000",
}

// messages are what comes after the header, the blank line included.
var messages = []string{
	"\nsubject\n",
	"\nsubject",
	"\n",
	"",
	"\n\n\n  \n\nlate subject\n\nbody\n",
	"\nsubject over\ntwo lines  \n\nbody one\n\nbody two\n\n\n",
	"\nsubject\r\n\r\nbody\r\n",
	"\n  indented: weird--.._subject...  (x) \n\nbody",
	"\n日本語の件名 with wide ｗｉｄｅ characters\n\nÜmläute e\u0301 \u200b zero\n",
	"\ninvalid \xff\xfe utf8\n\nbody \xc3\n",
	"\n" + strings.Repeat("very long line ", 300) + "\n\n" + strings.Repeat("x", 3000) + "\n",
	"\nsubject\n\nbody\n\nSigned-off-by: A <a@b>\nReviewed-by: B <b@c>\nsigned-off-by:   C\n",
	"\nsubject\n\nKey: value\n folded\n\tmore\nOther:x\nBug #43: no\nEmpty:\n",
	"\nsubject\n\ntext line\nother line\nthird\nSigned-off-by: A <a@b>\n",
	"\nsubject\n\nt1\nt2\nt3\nt4\nSigned-off-by: A <a@b>\n",
	"\nsubject\n\ntext\n(cherry picked from commit 1234)\nKey: v\n# comment\n\n",
	"\nsubject\n\nKey: v\nKey2 : w\n# a comment\n\n  \n\n",
	"\nKey: in the subject\n",
	"\nsubject\n\nKey: v\n\nConflicts:\n\tfile\n\tother\n",
	"\nsubject\n\nKey: v\n# ------------------------ >8 ------------------------\ndiff\nMore: x\n",
	"\nsubject\n\nKey: v\nnot a trailer\n",
	"\nsubject\n\n continuation first\nKey: v\n",
	"\nsubject\n\nKey: v\n---\nPatch: x\n",
	"\nsubject\n\nA: 1\nB: 2\nA: 3\n\n",
	"\nsubject\n\nKey : spaced\n-dash: d\n: empty\n",
	"\nsubject with % and $ and \\ and \"quotes\"\n\n$Format:%H$ in body\n",
	"\nsubject\x00hidden\n\nbody\n",
	"\n\ttab subject\x1b[31mred\x1b[m\x01 control\n\n\x1b[1mbold\x1b[m\n",
	"\nsubject\n\n\n\npara one\nline two\n- item\n\tindented\n\npara two is a rather long line that will have to be " +
		"wrapped somewhere\n",
	"\n.leading dots...trailing.\n\nb",
}

// placeholders that git knows, and some that it does not.
var placeholders = strings.Fields(`
	H h T t P p an aN ae aE al aL ad aD ar at ai aI as ah cn cN ce cE cl cL cd cD cr ct ci cI cs ch
	d D S e s f b B N GG G? GS GK GF GP GT Gx gD gd gs gn gN ge gE gx n x00 x41 x0a xg x m q ax cz a c g G z
	(trailers) (trailers:key=Signed-off-by) (trailers:key=key,valueonly) (trailers:only) (trailers:only=no)
	(trailers:only=false,unfold=true) (trailers:unfold) (trailers:keyonly) (trailers:valueonly) (trailers:keyonly,valueonly)
	(trailers:separator=%x2C) (trailers:separator=%n%n,unfold) (trailers:separator) (trailers:separator=,only)
	(trailers:key_value_separator=%x3D) (trailers:key=A,key=Key:,separator=%x00|) (trailers:key) (trailers:key=)
	(trailers:bogus) (trailers:only=bogus) (trailers:only=bogus,unfold) (trailers:only=1k,) (trailers:,) (trailers:) (trailers
	(trailers:only (trailersx) (trailers:only=0x1) (trailers:unfold=off,valueonly=on,separator=;) (trailers:separator=%q%%%x4)
	(trailers:key=a,only=no) (trailers:key=reviewed-by,separator=%n)
	(decorate) (decorate:prefix=x) (unknown) Cred Cgreen Cblue Creset Cyellow C C( C(red) C(auto) C(auto,blue) C(always,red)
	C(always,bold_red) C(always,) C(always,reset) C(bogus) C(auto,bogus) C(always,#ff0010) C(always,214) C(always,12)
	C(always,normal) C(always,brightblue) C(always,default) C(always,nobold) C(always,no-ul) C(always,-1)
	w() w(20) w(20,4) w(20,4,8) w(0,2,4) w(20,) w(x) w(20 w(99999) w(,3) w(-1) w(7,1,x) w(30,16385) w(1)
	<(10) <(20,trunc) <(8,ltrunc) <(9,mtrunc) <(1,trunc) <(0) <(-5) <|(30) <|(-10) <|(-90) <(99999) <(16384 <(5,bogus) <( <() <(x)
	<(4294967306) >(10) >(20,trunc) >>(12) >>(30,ltrunc) >|(40) >>|(25) ><(15) ><|(50) ><(16,mtrunc) >>>(3) <(5x) <(,trunc) >(+7)
	`)

// surrounded puts a format between text as files have it. There is no blank before
// one with %>>, which git takes from the file: TestTakesBlanksOfItsOwnFormatOnly.
func surrounded(format string, i int) string {
	before, between := "text before ", ""
	if strings.Contains(format, ">>") {
		before, between = "text before:", "|"
	}
	format = "$Format:" + strings.ReplaceAll(format, "_", " ") + "$"
	switch i % 4 {
	case 0:
		return format
	case 1:
		return before + format + " text after\n"
	case 2:
		return "line\n\n\n" + format + "\n\nlast"
	default:
		return "größe 日本 \t" + format + between + format + "x"
	}
}

// formatFiles are the contents of the files of an archive.
func formatFiles() []string {
	var files []string
	add := func(format string) { files = append(files, surrounded(format, len(files))) }
	for _, p := range placeholders {
		add("%" + p)
		add("[%+" + p + "|%-" + p + "|% " + p + "]")
		if !strings.HasPrefix(p, ">>") {
			add("%<(12)%" + p + "|%>(9,trunc)%" + p + "|%><(30)%" + p + "|%<|(40,ltrunc)%" + p + "|")
		}
		add("a   %>>(14)%" + p + "|%w(24,2,4)%" + p + "%w()end")
	}
	for i := range 600 {
		add(randomFormat(rand.New(rand.NewPCG(7, uint64(i)))))
	}
	files = append(files, fixedFiles...)
	return files
}

// fixedFiles are contents that are not one format in some text.
var fixedFiles = []string{
	"", "$Format:", "$Format:%H", "$Format$", "$format:%H$", "$$Format:%H$$", "$Format:$", "$Format:%$", "$Format:%%$",
	"$Format:%H$Format:%T$", "$Format:%h\n%t\n$", "no format at all\n",
	"NUL\x00$Format:%<|(20)%an$|$Format:%an\x00%cn$",
	"$Format:%s$\x00\x00$Format:%<|(60)%s$", "$Format:%-s$", "a\n\n$Format:%-d$b", "\n\n\n$Format:%-N$",
	"$Format:100% sure$", "$Format:%+$", "$Format:%<(10)$after", "$Format:%<(10)%$", "$Format:%<(10)%%%an|$",
	"$Format:%<(10)%<(20)%an|%an$", "$Format:%<(20)%C(always,red)%an%C(always,reset)|$",
	"$Format:%C(always,red)ab   %C(always,blue)   %>>(20)%s|$", "$Format:%<(8)%C(red)%Cgreen%s|$",
	"text to wrap that was there before $Format:%<(9)%w(10)%s and more$", "$Format:%w(12)a%x00b %s$",
	"\xff\xfe invalid $Format:%<|(30)%an|%w(20)%b$", "$Format:   %>>(30)%an$", "$Format:%>>(5)%s|$",
	"m$Format:%>>(40)%s$",
	"$Format:%C(always,bold red ul)x%C(always,reset green)y%C(always,1 2)z%C(always,normal 3)w$",
	"$Format:%w(10,2)$$Format:%s$", "é$Format:%e %s$é$Format:%s$é", "日本$Format:%s$", "é$Format:%H$é", "é$Format:%q$é",
	"é$Format:%xzz$", "$Format:%C(always,dim italic blink reverse strike noblink)$",
}

// randomFormat combines placeholders in unlikely ways.
func randomFormat(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(8) {
		switch r.IntN(6) {
		case 0:
			b.WriteString([]string{" ", "\n", "text", "é", "日本", "%", "%%", "  ", "\n\n",
				"a b c d e f g h"}[r.IntN(10)])
		case 1:
			b.WriteString("%" + []string{"+", "-", " "}[r.IntN(3)] + placeholders[r.IntN(len(placeholders))])
		default:
			b.WriteString("%" + placeholders[r.IntN(len(placeholders))])
		}
	}
	format := b.String()
	if strings.Contains(format, "%>>|") { // where git may give up: TestGivesUpWhereGitDoes
		format = strings.NewReplacer("%+", "%-", "% ", "%-").Replace(format)
	}
	return format
}

// messagePieces are what trailers, subjects and wrapping are about.
var messagePieces = strings.Split("word|a longer word |\n|\n\n| |  |\t|Key: value\n|Signed-off-by: A <a@b>\n|# "+
	"comment\n|Conflicts:\n|"+
	"\tpath\n| folded\n|日本|é|\x1b[31m|\x1b[m|\xff|.|-|Other-Key : x\n|(cherry picked from commit "+
	"1)\n|---\n|\r\n|\x01|not a trailer\n|"+
	"Fixes #1\n|: x\n|x\n|  \n", "|")

func randomMessage(r *rand.Rand) string {
	var b strings.Builder
	for range 3 + r.IntN(25) {
		b.WriteString(messagePieces[r.IntN(len(messagePieces))])
	}
	return b.String()
}

// shares divides contents at random and gives the tree of each share.
func shares(t *testing.T, repo *gittest.Repo, contents []string, count int) (trees []string, files [][]string) {
	t.Helper()
	order := rand.New(rand.NewPCG(5, 5)).Perm(len(contents))
	files = make([][]string, count)
	for i, at := range order {
		files[i%count] = append(files[i%count], contents[at])
	}
	for _, share := range files {
		trees = append(trees, treeOf(t, repo, mailmap, share))
	}
	return trees, files
}

// TestExpandsAsGitArchive expands with each commit a share of the formats, and
// all of them where there is time. It fails when few were compared: then the
// test lost its cases.
func TestExpandsAsGitArchive(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	trees, files := shares(t, repo, formatFiles(), gittest.Volume(8, 1))
	commits := 0
	tree := trees[0]
	root := store(t, repo, "commit", "tree "+tree+"\nauthor "+people[0]+"\ncommitter "+people[0]+"\n\nroot\n")
	compared := 0
	check := func(label, content string) string {
		commit := store(t, repo, "commit", content)
		decorate(t, repo, commit, commits)
		compared += compare(t, repo, label, commit, files[commits%len(files)])
		commits++
		tree = trees[commits%len(trees)]
		return commit
	}
	last := root
	for i := range max(len(people), len(messages)) {
		author, committer := people[i%len(people)], people[(i*7+3)%len(people)]
		message := messages[i%len(messages)]
		parents := "parent " + last + "\n"
		if i%3 == 0 {
			parents += "parent " + root + "\n"
		}
		if i%11 == 5 {
			parents = ""
		}
		last = check(fmt.Sprintf("commit %d", i),
			"tree "+tree+"\n"+parents+"author "+author+"\ncommitter "+committer+"\n"+message)
	}
	for i, encoding := range encodings {
		header := "tree " + tree + "\nauthor " + encoding.name + " <a@b> 1700000000 +0000\ncommitter " +
			people[8] + "\nencoding " + encoding.encoding + "\n"
		check(fmt.Sprintf("encoding %d %s", i, encoding.encoding), header+"\n"+encoding.message)
	}
	for i := range 25 {
		message := randomMessage(rand.New(rand.NewPCG(11, uint64(i))))
		check(fmt.Sprintf("message %d %q", i, message),
			"tree "+tree+"\nauthor "+people[i%5]+"\ncommitter "+people[i%9]+"\n\n"+message)
	}
	if least := gittest.Volume(14_000, 100_000); compared < least {
		t.Errorf("%d comparisons, want %d", compared, least)
	}
	t.Logf("%d comparisons over %d commits", compared, commits)
}

var encodings = []struct{ encoding, name, message string }{
	{"ISO-8859-1", "J\xf6rg", "gr\xfc\xdfe\n\nk\xf6rper\n\nKey: \xe4\n"},
	{"iso8859-15", "J\xf6rg", "euro \xa4\n\nbody\n"},
	{"UTF-8", "Jörg", "grüße\n"},
	{"utf8", "Jörg", "grüße\n"},
	{"windows-1251", "\xcf\xf0", "\xcf\xf0\xe8\xe2\xe5\xf2\n"},
	{"KOI8-R", "\xf0", "\xf0\xd2\xc9\n\nx\n"},
	{"EUC-JP", "\xc6\xfc\xcb\xdc", "\xc6\xfc\xcb\xdc\xb8\xec\n"},
	{"Shift_JIS", "\x93\xfa\x96\x7b", "\x93\xfa\x96\x7b\n"},
	{"GBK", "\xc4\xe3", "\xc4\xe3\xba\xc3\n"},
	{"no-such-encoding", "J\xf6rg", "gr\xfc\xdfe\n"},
	{"US-ASCII", "plain", "not \xe4scii\n"},
	{"US-ASCII", "plain", "ascii\n"},
	{"", "empty", "name\n"},
	{"EUC-JP", "broken", "\xc6 \xff\n"},
	{"latin-1", "J\xf6rg", "gr\xfc\xdfe\n"},
	{"EUC-KR", "\xb1\xe8", "\xb1\xe8\n"},
	{"GB18030", "\xd6\xd0", "\xd6\xd0\xce\xc4\n"},
	{"ISO-2022-JP", "\x1b$BF|K\\\x1b(B", "\x1b$BF|K\\\x1b(B\n"},
	{"windows-1252", "\x80 euro", "\x93quoted\x94 \x81\n"},
	{"windows-1252", "\x80 euro", "\x93quoted\x94\n"},
	{"GB2312", "\xd6\xd0", "\xd6\xd0\xce\xc4\n"},
	{"GB2312", "\xd6\xd0", "\x81\x40\n"},
	{"ISO-8859-2", "\xb1", "\xb1\x85\n"},
	{"macintosh", "\x8a", "\x8a\n"},
	{"IBM850", "\x84", "\x84\n"},
}

// annotate makes a tag object with a ref of its name, and gives its id.
func annotate(t testing.TB, repo *gittest.Repo, name, kind, target string, date int64) string {
	t.Helper()
	id := tagObject(t, repo, name, kind, target, date)
	repo.SetRef("refs/tags/"+name, id)
	return id
}

func tagObject(t testing.TB, repo *gittest.Repo, name, kind, target string, date int64) string {
	t.Helper()
	return store(t, repo, "tag", fmt.Sprintf("object %s\ntype %s\ntag %s\ntagger T <t@t> %d +0000\n\nmessage\n", target,
		kind, name, date))
}

// decorate gives the commit names of all kinds.
func decorate(t testing.TB, repo *gittest.Repo, commit string, i int) {
	kinds := []string{
		"refs/heads/main", "refs/heads/topic/%d", "refs/tags/light-%d", "refs/remotes/origin/r%d",
		"refs/notes/n%d", "refs/pull/%d/head", "refs/heads/b%d", "refs/changes/%d",
	}
	for j, kind := range kinds {
		if (i>>(j%4))&1 == j&1 {
			if strings.Contains(kind, "%d") {
				kind = fmt.Sprintf(kind, i)
			}
			repo.SetRef(kind, commit)
		}
	}
	switch i % 5 {
	case 1:
		inner := annotate(t, repo, fmt.Sprintf("v%d", i), "commit", commit, 1700000000)
		annotate(t, repo, fmt.Sprintf("vv%d", i), "tag", inner, 1700000000)
	case 2:
		repo.SetRef("HEAD", commit)
	case 3:
		repo.SetRef("HEAD", "ref: refs/heads/main")
		repo.Git("pack-refs", "--all")
	case 4:
		repo.SetRef("refs/heads/main", commit)
	}
}

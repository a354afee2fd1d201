package zip

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// bigFile is from what size on git streams in these tests.
const bigFile = 50_000

// nasty is a tree of everything that a zip member can be.
func nasty() []gittest.File {
	noise := gittest.Noise(bigFile + 1000)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 1000)
	long := strings.Repeat("long/", 40)
	return []gittest.File{
		gittest.Regular(".gitattributes", "*.astext diff\n*.asbinary -diff\n*.driver diff=own\n*.macro binary\n"+
			strings.Repeat("# long enough for any deflate\n", 10)),
		gittest.Regular("binary/at-0", "\x00"+text),
		gittest.Regular("binary/at-7999", text[:7999]+"\x00"+text),
		gittest.Regular("binary/at-8000", text[:8000]+"\x00"+text),
		gittest.Regular("binary/forced.asbinary", text),
		gittest.Regular("binary/forced.astext", "\x00"+text),
		gittest.Regular("binary/driver.driver", "\x00"+text),
		gittest.Regular("binary/macro.macro", text),
		gittest.Executable("bin/run", "#!/bin/sh\n"+text),
		gittest.Executable("bin/empty", ""),
		gittest.Executable("bin/noise", noise[:1000]),
		gittest.Executable("big/run", text+noise),
		gittest.Regular("big/binary", "\x00"+text+text),
		gittest.Regular("big/binary-at-7999", text[:7999]+"\x00"+text+text),
		gittest.Regular("big/binary-at-8000", text[:8000]+"\x00"+text+text),
		gittest.Regular("big/forced.asbinary", text+text),
		gittest.Regular("big/forced.astext", "\x00"+text+text),
		gittest.Regular("big/noise", noise),
		gittest.Regular("empty", ""),
		gittest.Regular("one-byte", "x"),
		gittest.Regular("short", "short\n"),
		gittest.Regular("noise", noise[:3000]),
		gittest.Regular("text", text),
		gittest.Regular(long+"file", "deep\n"),
		gittest.Regular(strings.Repeat("n", 4000), "long\n"),
		gittest.Regular("names/a \"q\"\\\n\t'*?", "quotes\n"),
		gittest.Regular("names/latin1-\xe9", "latin\n"),
		gittest.Regular("names/utf8-\u00e9-\u65e5\u672c-\U0001F600", "utf8\n"),
		gittest.Regular("names/overlong-\xc0\xaf", "x\n"),
		gittest.Regular("names/surrogate-\xed\xa0\x80", "x\n"),
		gittest.Regular("names/beyond-\xf4\x90\x80\x80", "x\n"),
		gittest.Regular("names/cut-\xe6\x97", "x\n"),
		gittest.Regular("names/fffd-\uFFFD", "x\n"),
		gittest.Regular("names/fffe-\uFFFE", "x\n"),
		gittest.Regular("names/ffff-\uFFFF", "x\n"),
		gittest.Regular("names/plane-1-fffe-\U0001FFFE", "x\n"),
		gittest.Regular("names/control-\x01\x7f", "x\n"),
		gittest.Regular("names/\xc3\xa9/inside", "x\n"),
		gittest.Regular("names/\xff/inside", "x\n"),
		gittest.Symlink("links/relative", "../text"),
		gittest.Symlink("links/absolute", "/nonexistent"),
		gittest.Symlink("links/l\u00efnk.asbinary", "caf\u00e9"),
		gittest.Symlink("links/long", strings.Repeat("t/", 1000)),
		gittest.Gitlink("module", "1234567890123456789012345678901234567890"),
		gittest.Gitlink("modules/\u00fc", "1234567890123456789012345678901234567890"),
	}
}

// commitAt makes a commit of a tree with any text as its time.
func commitAt(repo *gittest.Repo, tree, when string) string {
	who := "A U Thor <author@example.com> "
	body := fmt.Sprintf("tree %s\nauthor %s0 +0000\ncommitter %s%s +0000\n\nmessage\n", tree, who, who, when)
	return repo.Store("commit", body)
}

// attribute is what .gitattributes of nasty says of a path.
func attribute(path string) Content {
	switch {
	case strings.HasSuffix(path, ".astext"):
		return Text
	case strings.HasSuffix(path, ".asbinary"), strings.HasSuffix(path, ".macro"):
		return Binary
	default:
		return Guess
	}
}

// inputs reads what git archives of a tree, in its order. Files above big are
// streamed.
func inputs(repo *gittest.Repo, tree string, big int) []input {
	var list []input
	contents := make(map[string]string)
	for line := range strings.SplitSeq(repo.Git("ls-tree", "-r", "-t", "-z", tree), "\x00") {
		if line == "" { // after the last
			continue
		}
		meta, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		mode, _ := strconv.ParseUint(fields[0], 8, 32)
		in := input{Member: Member{Path: []byte(path), Mode: uint32(mode), Content: attribute(path)}}
		if fields[1] == "blob" {
			content, ok := contents[fields[2]]
			if !ok {
				// The final newline, which Git drops, is the test's own.
				content = repo.GitInput([]byte(fields[2]+"\n"), "cat-file", "--batch=")
				contents[fields[2]] = content
			}
			in.content = strings.TrimPrefix(content, "\n")
			in.stream = len(in.content) > big && in.Mode != 0o120000
		} else {
			in.Path = append(in.Path, '/')
		}
		list = append(list, in)
	}
	return list
}

// sameMembers compares all that git and we say of each member but what another
// deflate changes, and returns how many there were.
func sameMembers(t *testing.T, got, want []byte, comment int) int {
	t.Helper()
	ours, ourEnds := readMembers(t, got, comment)
	gits, gitEnds := readMembers(t, want, comment)
	if len(ours) != len(gits) {
		t.Fatalf("%d members, git has %d", len(ours), len(gits))
	}
	if ourEnds.comment != gitEnds.comment || ourEnds.wide != gitEnds.wide || ourEnds.creator != gitEnds.creator ||
		ourEnds.version != gitEnds.version || ourEnds.entries16 != gitEnds.entries16 {
		t.Errorf("ends %+v, git's %+v", ourEnds, gitEnds)
	}
	for i, g := range gits {
		o := ours[i]
		if o.central.String() != g.central.String() {
			t.Errorf("directory:\n%v\ngit:\n%v", o.central, g.central)
		}
		if o.local.String() != g.local.String() {
			t.Errorf("local header:\n%v\ngit:\n%v", o.local, g.local)
		}
		if (o.local.compressed == o.central.compressed) != (g.local.compressed == g.central.compressed) {
			t.Errorf("%q: %d and %d compressed, git %d and %d", o.central.path, o.local.compressed,
				o.central.compressed, g.local.compressed, g.central.compressed)
		}
		if d := len(o.descriptor); d != len(g.descriptor) || d > 0 &&
			(!bytes.Equal(o.descriptor[:8], g.descriptor[:8]) || !bytes.Equal(o.descriptor[12:], g.descriptor[12:])) {
			t.Errorf("%q: descriptor % x, git's % x", o.central.path, o.descriptor, g.descriptor)
		}
	}
	return len(gits)
}

var dates = []struct {
	when string
	unix int64
}{
	{"0", 0},
	{"1", 1},
	{"86399", 86399},
	{"315532799", 315532799}, // the last second of 1979
	{"315532800", 315532800},
	{"951782399", 951782399}, // 28 February 2000
	{"951782400", 951782400},
	{"1700000001", 1700000001}, // an odd second
	{"2147483647", 1<<31 - 1},  // 2038
	{"2147483648", 1 << 31},
	{"4294967295", 1<<32 - 1}, // 2106
	{"4294967296", 1 << 32},
	{"4354819199", 4354819199}, // the last second of 2107
	{"4354819200", 4354819200},
	{"8589934591", 1<<33 - 1},
	{"1099511627776", 1 << 40},
	{"67767976233532799", 67767976233532799}, // the last year of 32 bits
}

func TestLikeGit(t *testing.T) {
	repo := gittest.New(t)
	repo.Git("config", "core.bigFileThreshold", strconv.Itoa(bigFile))
	tree := repo.Git("rev-parse", repo.Commit("main", nasty()...)+"^{tree}")
	list := inputs(repo, tree, bigFile)
	streamed, compared := 0, 0
	for _, in := range list {
		if in.stream {
			streamed++
		}
	}
	for _, d := range dates {
		commit := commitAt(repo, tree, d.when)
		want := repo.Archive("--format=zip", commit)
		got := newBuilder(t, 2, d.unix).archive(list, 7, commit)
		compared += sameMembers(t, got, want, len(commit))
		if t.Failed() {
			t.Fatalf("at the time %s", d.when)
		}
	}
	t.Logf("%d members compared, %d streams in each archive", compared, streamed)
	if streamed < 8 || compared < 1000 {
		t.Errorf("only %d members were compared, with %d streams in each archive", compared, streamed)
	}
}

// A commit before 1970 has the time of the epoch, where git takes it at all.
func TestNegativeTime(t *testing.T) {
	b := newBuilder(t, 1, -1)
	if !bytes.Equal(b.archive(samples(), 1, ""), newBuilder(t, 1, 0).archive(samples(), 1, "")) {
		t.Error("a negative time is not that of the epoch")
	}
}

// manyFiles makes a commit of empty files in folders, so many entries with them.
// All folders but the last are one tree.
func manyFiles(repo *gittest.Repo, entries int) string {
	const each = 256 // a folder and its files
	blob := repo.Store("blob", "")
	folder := func(size int) string {
		var listing strings.Builder
		for i := range size - 1 {
			fmt.Fprintf(&listing, "100644 blob %s\tf%03d\n", blob, i)
		}
		return repo.GitInput([]byte(listing.String()), "mktree")
	}
	full, last := folder(each), folder(entries%each)
	var listing strings.Builder
	for i := range entries / each {
		fmt.Fprintf(&listing, "040000 tree %s\td%04d\n", full, i)
	}
	fmt.Fprintf(&listing, "040000 tree %s\tlast\n", last)
	return commitAt(repo, repo.GitInput([]byte(listing.String()), "mktree"), "1700000000")
}

// An archive without deflated members is git's to the byte, with the zip64
// records too.
func TestSameBytesAsGit_WhenStored(t *testing.T) {
	gittest.Long(t)
	special := []gittest.File{
		gittest.Executable("run", "x"), gittest.Symlink("sym", "run"), gittest.Regular("\u00fc\xff", "\x00"),
		gittest.Regular("\u00fc", gittest.Noise(10_000)), gittest.Gitlink("sub", strings.Repeat("12", 20)),
	}
	repo := gittest.New(t)
	for _, c := range []struct {
		commit  string
		entries int
	}{
		{repo.Commit("empty"), 0}, {repo.Commit("special", special...), 5},
		{manyFiles(repo, max16-1), max16 - 1}, {manyFiles(repo, max16), max16}, {manyFiles(repo, max16+3), max16 + 3},
	}[:gittest.Volume(4, 5)] {
		commit := c.commit
		mtime, err := strconv.ParseInt(repo.Git("show", "-s", "--format=%ct", commit), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		list := inputs(repo, commit, bigFile)
		if len(list) != c.entries {
			t.Fatalf("%d entries, want %d", len(list), c.entries)
		}
		got := newBuilder(t, 2, mtime).archive(list, 1000, commit)
		if want := repo.Archive("--format=zip", commit); !bytes.Equal(got, want) {
			t.Errorf("%d entries: %d bytes, git's %d, not the same", c.entries, len(got), len(want))
		}
	}
}

// A tree has no commit and its archive no comment.
func TestTreeHasNoComment(t *testing.T) {
	repo := gittest.New(t)
	want := repo.Archive("--format=zip", repo.Commit("main", gittest.Regular("a", ""))+"^{tree}")
	got := newBuilder(t, 1, 10).archive([]input{file("a", "")}, 1, "")
	gits, e := readMembers(t, want, 0)
	ours, o := readMembers(t, got, 0)
	if len(gits) != 1 || len(ours) != 1 || e != o || gits[0].central.path != ours[0].central.path {
		t.Errorf("ends %+v, git's %+v", o, e)
	}
}

// Programs that people have accept what we write.
func TestRealReaders(t *testing.T) {
	gittest.Long(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "a.zip")
	if err := os.WriteFile(name, newBuilder(t, 2, 1_700_000_000).archive(samples(), 3, commitID), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, args := range [][]string{
		{"unzip", "-tqq", name},
		{"python3", "-m", "zipfile", "-t", name},
		{"bsdtar", "-tf", name},
		{"7z", "t", name},
	} {
		path, err := exec.LookPath(args[0])
		if err != nil {
			t.Logf("no %s on the PATH", args[0])
			continue
		}
		ran++
		cmd := exec.CommandContext(t.Context(), path, args[1:]...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args[:2], err, out)
		}
	}
	if ran == 0 {
		t.Skip("none of the programs is here")
	}
}

// unzip makes of an archive what git checks out: modes, links and contents.
func TestUnzip(t *testing.T) {
	gittest.Long(t)
	path, err := exec.LookPath("unzip")
	if err != nil {
		t.Skip("no unzip on the PATH")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "a.zip")
	var list []input
	for _, in := range samples() {
		if in.Path[len(in.Path)-1] != 0xff && !strings.Contains(string(in.Path), "\u00e9") { // unzip renames by the locale
			list = append(list, in)
		}
	}
	if err := os.WriteFile(name, newBuilder(t, 2, 1_700_000_000).archive(list, 3, commitID), 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "out")
	if out, err := exec.CommandContext(t.Context(), path, "-qq", name, "-d", target).CombinedOutput(); err != nil {
		t.Fatalf("unzip: %v\n%s", err, out)
	}
	for _, in := range list {
		p := filepath.Join(target, string(in.Path))
		info, err := os.Lstat(p)
		if err != nil {
			t.Error(err)
			continue
		}
		switch in.Mode {
		case 0o120000:
			if link, err := os.Readlink(p); err != nil || link != in.content {
				t.Errorf("%q: link to %q, %v", in.Path, link, err)
			}
		case 0o040000, 0o160000:
			if !info.IsDir() {
				t.Errorf("%q: %v", in.Path, info.Mode())
			}
		default:
			content, err := os.ReadFile(p)
			if err != nil || string(content) != in.content {
				t.Errorf("%q: %d bytes, %v", in.Path, len(content), err)
			}
			if executable := info.Mode()&0o100 != 0; executable != (in.Mode == 0o100755) ||
				info.ModTime().Unix() != 1_700_000_000 {
				t.Errorf("%q: %v at %v", in.Path, info.Mode(), info.ModTime())
			}
		}
	}
}

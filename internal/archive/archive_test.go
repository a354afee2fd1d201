package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// plan makes the plan of a revision of a repository.
func plan(t *testing.T, repo *gittest.Repo, revision string, options archive.Options) *archive.Plan {
	t.Helper()
	p, err := tryPlan(t, repo, revision, options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryPlan(t *testing.T, repo *gittest.Repo, revision string, options archive.Options) (*archive.Plan, error) {
	t.Helper()
	o := open(t, repo)
	commit, err := o.snapshot.ResolveTreeish(t.Context(), revision)
	if err != nil {
		t.Fatal(err)
	}
	return o.engine.Plan(t.Context(), o.snapshot, commit, options)
}

func write(t *testing.T, p *archive.Plan) []byte {
	t.Helper()
	var out gittest.Output
	if err := p.WriteTo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gunzip(t *testing.T, content []byte) []byte {
	t.Helper()
	zr, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// trees are what archives of the two programs are compared over.
func trees() map[string][]gittest.File {
	deep := strings.Repeat("d/", 300)
	many := make([]gittest.File, 0, 500)
	for i := range 500 {
		many = append(many, gittest.Regular(fmt.Sprintf("dir%02d/file%03d.txt", i%20, i), strings.Repeat("x", i*7)))
	}
	return map[string][]gittest.File{
		"nothing":  {},
		"one file": {gittest.Regular("a", "content\n")},
		"modes": {gittest.Regular("r", "1"), gittest.Executable("x", "2"), gittest.Symlink("s", "r"),
			gittest.Gitlink("g", strings.Repeat("a", 40))},
		"gitlink in folder": {gittest.Gitlink("a/b/g", strings.Repeat("b", 40))},
		"order of names": {gittest.Regular("a", ""), gittest.Regular("a-b", ""), gittest.Regular("a.b/c", ""),
			gittest.Regular("a0", ""), gittest.Regular("B", "")},
		"odd names": {gittest.Regular("new\nline", "1"), gittest.Regular("\xff\xfe", "2"),
			gittest.Regular("tab\there", "3"), gittest.Regular(" ", "4"), gittest.Regular("-rf", "5"),
			gittest.Regular("ünï/cödé", "6"), gittest.Regular("e\u0301", "7"), gittest.Regular("é", "8")},
		"case pairs":      {gittest.Regular("README", "1"), gittest.Regular("readme", "2")},
		"deep":            {gittest.Regular(deep+"f", "deep")},
		"name of 100":     {gittest.Regular(strings.Repeat("n", 100), "")},
		"name of 101":     {gittest.Regular(strings.Repeat("n", 101), "")},
		"name of 255":     {gittest.Regular(strings.Repeat("n", 255), "x")},
		"path of 155+100": {gittest.Regular(strings.Repeat("p", 155)+"/"+strings.Repeat("n", 100), "")},
		"path of 156+100": {gittest.Regular(strings.Repeat("p", 156)+"/"+strings.Repeat("n", 100), "")},
		"path of 155+101": {gittest.Regular(strings.Repeat("p", 155)+"/"+strings.Repeat("n", 101), "")},
		"folder of 99":    {gittest.Regular(strings.Repeat("p", 99)+"/a", "")},
		"folder of 100":   {gittest.Regular(strings.Repeat("p", 100)+"/a", "")},
		"long link": {gittest.Symlink("l100", strings.Repeat("t", 100)),
			gittest.Symlink("l101", strings.Repeat("t", 101)), gittest.Symlink(strings.Repeat("n", 120),
				strings.Repeat("t", 300))},
		"links out": {gittest.Symlink("abs", "/etc/passwd"), gittest.Symlink("up", "../../.."),
			gittest.Symlink("nl", "a\nb")},
		"sizes": {gittest.Regular("0", ""), gittest.Regular("511", strings.Repeat("a", 511)),
			gittest.Regular("512", strings.Repeat("b", 512)), gittest.Regular("513", strings.Repeat("c", 513))},
		"a full block":      {gittest.Regular("a", strings.Repeat("a", 10240-512*4))},
		"almost full block": {gittest.Regular("a", strings.Repeat("a", 10240-512*5))},
		"large": {gittest.Regular("large", strings.Repeat("0123456789abcdef", 200_000)),
			gittest.Regular("z", "after")},
		"many": many,
	}
}

func TestTarIsGitArchiveToTheByte(t *testing.T) {
	t.Parallel()
	compared := 0
	for name, files := range trees() {
		repo := gittest.New(t)
		commit := repo.Commit("main", files...)
		for _, packed := range []bool{false, true} {
			if packed {
				repo.Git("repack", "-adfq")
			}
			prefixes := []string{"", "p/", "a/b/c/", "glued-", "x//", strings.Repeat("q", 120) + "/"}
			if packed { // a prefix has nothing to do with it
				prefixes = prefixes[:gittest.Volume(1, 6)]
			}
			if testing.Short() {
				prefixes = prefixes[:1]
			}
			for _, prefix := range prefixes {
				got := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar, Prefix: prefix}))
				if want := repo.Archive("--format=tar", "--prefix="+prefix, commit); !bytes.Equal(got, want) {
					t.Errorf("%s, prefix %.10q, packed %v: tar differs", name, prefix, packed)
					gittest.DiffTar(t, gittest.ReadTar(t, bytes.NewReader(got)),
						gittest.ReadTar(t, bytes.NewReader(want)))
				}
				measure, err := plan(t, repo, "main", archive.Options{Format: archive.Tar, Prefix: prefix}).Measure(
					t.Context())
				if entries := gittest.ReadTar(t, bytes.NewReader(got)); err != nil ||
					measure.Bytes != int64(len(got)) || measure.Entries != int64(len(entries))-1 {
					t.Errorf("%s, prefix %.10q: measured %+v, %v; the archive has %d bytes and %d entries", name,
						prefix, measure, err, len(got), len(entries)-1)
				}
				compared++
			}
		}
	}
	want := len(trees()) * gittest.Volume(7, 12)
	if testing.Short() {
		want = len(trees()) * 2
	}
	if compared != want {
		t.Errorf("compared %d archives, want %d", compared, want)
	}
}

// TestTarOfLongNamesIsGitArchive compares names and links of every length around
// those where a header is laid out otherwise: where a field is full, and where the
// number before a pax record gets another digit.
func TestTarOfLongNamesIsGitArchive(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	var files []gittest.File
	for _, around := range [][2]int{{90, 270}, {960, 1010}, {9_970, 10_010}} {
		for length := around[0]; length <= around[1]; length++ {
			files = append(files, gittest.Regular("f"+strings.Repeat("n", length-1), "x"),
				gittest.Regular("d/"+strings.Repeat("n", length-2), "x"))
			if length < 8_000 { // no system follows a longer link
				files = append(files, gittest.Symlink(fmt.Sprintf("l%d", length), strings.Repeat("t", length)),
					gittest.Symlink("m"+strings.Repeat("n", length-1), strings.Repeat("t", 1500-length)))
			}
		}
	}
	// A folder's path has another length with each prefix.
	files = append(files, gittest.Regular(strings.Repeat("e/", 495)+"x", ""))
	commit := repo.Commit("main", files...)
	compared := 0
	for _, prefix := range []string{"", "p/", "glued-", strings.Repeat("q", 12) + "/", strings.Repeat("r", 990) + "/",
		strings.Repeat("r/", 495)} {
		if compareTar(t, "long names", repo, commit, archive.Options{Prefix: prefix}) {
			compared++
		}
	}
	if len(files) < 1000 || compared != 6 {
		t.Errorf("%d files, compared %d archives", len(files), compared)
	}
}

func TestTarOfEmptyFoldersIsGitArchive(t *testing.T) {
	repo := gittest.New(t)
	empty := repo.GitInput(nil, "mktree")
	blob := repo.GitInput([]byte("x"), "hash-object", "-w", "--stdin")
	inner := repo.GitInput([]byte("040000 tree "+empty+"\tnothing\n100644 blob "+blob+"\tsome\n"), "mktree")
	tree := repo.GitInput([]byte("040000 tree "+empty+"\ta\n040000 tree "+inner+"\tb\n040000 tree "+empty+"\tc\n"),
		"mktree")
	commit := repo.Git("commit-tree", "-m", "empty folders", tree)
	repo.Git("update-ref", "refs/heads/main", commit)
	got := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar}))
	if !bytes.Equal(got, repo.Archive("--format=tar", commit)) {
		t.Error("tar differs")
	}
}

func TestGzipHoldsTheTarAndNamesNoTime(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.Commit("main", trees()["many"]...)
	p := plan(t, repo, "main", archive.Options{Format: archive.TarGz})
	got := write(t, p)
	if want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}; !bytes.Equal(got[:10], want) {
		t.Errorf("gzip header % x, want % x", got[:10], want)
	}
	if !bytes.Equal(gunzip(t, got), repo.Archive("--format=tar", commit)) {
		t.Error("the tar inside differs")
	}
	if again := write(t, p); !bytes.Equal(again, got) {
		t.Error("a second run gave other bytes")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "a": true, "a/": true, "a/b-": true, "a//": true, "/": false, "/a": false, "..": false, "../a": false,
		"a/../b": false,
		"a/..":   false, ".": false, "./a": false, "a//b": false, "a\x00b": false, strings.Repeat("a", 1025): false,
	} {
		for name, options := range map[string]archive.Options{"prefix": {Format: archive.Tar, Prefix: prefix},
			"strip": {Format: archive.Tar, Strip: prefix}} {
			if err := options.Check(); (err == nil) != ok || err != nil && !errors.Is(err, archive.ErrOption) {
				t.Errorf("%s %q: %v", name, prefix, err)
			}
		}
	}
	for name, options := range map[string]archive.Options{
		"prefix": {Format: archive.Tar, Prefix: strings.Repeat("a", 1025)},
		"strip":  {Format: archive.Tar, Strip: strings.Repeat("a", 1025)},
	} {
		if err := options.Check(); err == nil || !strings.Contains(err.Error(), name+`" has 1025 bytes; at most 1024`) {
			t.Errorf("a long %s: %v, want the limit", name, err)
		}
	}
	if err := (archive.Options{Format: archive.Tar, Prefix: strings.Repeat("a", 1024)}).Check(); err != nil {
		t.Errorf("a prefix of 1024 bytes: %v", err)
	}
	for _, options := range []archive.Options{{}, {Format: "rar"}, {Format: archive.Tar, Profile: "other"},
		{Format: archive.Tar, Paths: []string{"../a"}}, {Format: archive.Tar, Exclude: []string{":(nonsense)a"}}} {
		if err := options.Check(); !errors.Is(err, archive.ErrOption) {
			t.Errorf("%+v: %v, want it refused", options, err)
		}
	}
	var o archive.Options
	for _, c := range []struct {
		name, value string
		ok          bool
	}{{"prefix", "a/", true}, {"prefix", "a/", false}, {"path", "a", true}, {"path", "b", true}, {"path", "",
		false}, {"strip", "", true}, {"Prefix", "x", false}, {"level", "9", false}} {
		if err := o.Set(c.name, c.value); (err == nil) != c.ok || err != nil && !errors.Is(err, archive.ErrOption) {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
}

func TestMissingObjectMidStreamIsAnErrorWithoutTrailer(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", "first"), gittest.Regular("m/b", "missing"), gittest.Regular("z", "last"))
	whole := write(t, plan(t, repo, "main", archive.Options{Format: archive.TarGz}))
	for _, object := range []string{"main:m/b", "main:m", "main:z"} {
		id := repo.Git("rev-parse", object)
		file := filepath.Join(repo.Dir, "objects", id[:2], id[2:])
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, repo, "main", archive.Options{Format: archive.TarGz})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = p.WriteTo(t.Context(), &out)
		if !errors.Is(err, git.ErrCorrupt) || errors.Is(err, io.EOF) {
			t.Errorf("%s is missing: %v, want damage", object, err)
		}
		if out.Len() >= len(whole) {
			t.Errorf("%s is missing: %d bytes written, the whole has %d", object, out.Len(), len(whole))
		}
		if zr, err := gzip.NewReader(bytes.NewReader(out.Bytes())); err == nil {
			if _, err := io.Copy(io.Discard, zr); err == nil {
				t.Errorf("%s is missing: the gzip stream ends cleanly", object)
			}
		}
		if err := os.WriteFile(file, content, 0o444); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelledArchiveStops(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("large", strings.Repeat("0123456789abcdef", 1_000_000)))
	p := plan(t, repo, "main", archive.Options{Format: archive.Tar})
	ctx, cancel := context.WithCancel(t.Context())
	out := &cancelAfter{bytes: 1 << 20, cancel: cancel}
	if err := p.WriteTo(ctx, out); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want cancelled", err)
	}
	if out.written > 2<<20 {
		t.Errorf("%d bytes were written after the context ended at 1 MiB", out.written)
	}
}

type cancelAfter struct {
	bytes, written int
	cancel         context.CancelFunc
}

func (c *cancelAfter) Write(p []byte) (int, error) {
	if c.written += len(p); c.written >= c.bytes {
		c.cancel()
	}
	return len(p), nil
}

func TestFormatNames(t *testing.T) {
	for name, want := range map[string]struct {
		stem   string
		format archive.Format
		ok     bool
	}{
		"main.tar.gz": {"main", archive.TarGz, true}, "v1.tgz": {"v1", archive.TarGz, true},
		"v1.0.tar":     {"v1.0", archive.Tar, true},
		"a.tar.tar.gz": {"a.tar", archive.TarGz, true}, ".tar.gz": {".tar", "", false}, "main": {"", "", false},
		"main.zip": {"main", archive.Zip, true}, "main.tar.zst": {"main", archive.TarZst, true},
		"main.tar.xz": {"main", archive.TarXz, true}, "main.tar.lz": {"", "", false},
	} {
		stem, format, ok := archive.SplitName(name)
		if ok != want.ok || ok && (stem != want.stem || format != want.format) {
			t.Errorf("SplitName(%q) = %q, %q, %v", name, stem, format, ok)
		}
	}
}

// A tag that cannot be read may be of any commit: an archive that names the refs
// of its commit is refused instead of being without it.
func TestDecorationsAreNotShortOverDamage(t *testing.T) {
	for _, format := range []string{"%d", "%(describe)"} {
		repo := gittest.New(t)
		repo.Commit("main", gittest.Regular(".gitattributes", "v export-subst\n"),
			gittest.Regular("v", "$Format:"+format+"$"))
		repo.Git("tag", "-a", "-m", "x", "v1", "main")
		tag := repo.Git("rev-parse", "v1")
		if got, want := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar})), repo.Archive(
			"--format=tar", "main"); !bytes.Equal(got, want) {
			t.Fatalf("%s: other bytes than git's", format)
		}
		if err := os.Remove(filepath.Join(repo.Dir, "objects", tag[:2], tag[2:])); err != nil {
			t.Fatal(err)
		}
		p, err := tryPlan(t, repo, "main", archive.Options{Format: archive.Tar})
		if err == nil {
			err = p.WriteTo(t.Context(), io.Discard)
		}
		if !errors.Is(err, git.ErrCorrupt) {
			t.Errorf("%s: %v, want damage", format, err)
		}
	}
}

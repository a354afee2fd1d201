package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// varied is a tree with files of all kinds and sizes, of which some have the same content.
func varied() []gittest.File {
	return []gittest.File{
		gittest.Regular(".gitattributes", "*.bat eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE-BOM eol=crlf\n"),
		gittest.Regular("a.bat", "one\ntwo\n"), gittest.Regular("a.id", "$Id$\n"), gittest.Regular("a.u16", "h\u00e4llo\n"),
		gittest.Regular("again", "the same"), gittest.Regular("d/again", "the same"), gittest.Symlink("d/link", "the same"),
		gittest.Executable("run.sh", "#!/bin/sh\n"), gittest.Regular("empty", ""),
		gittest.Regular("held", gittest.Noise(200<<10)), gittest.Regular("large.bat", strings.Repeat("line\n", 60_000)),
		gittest.Regular("streamed", gittest.Noise(5<<20)), gittest.Regular("text", strings.Repeat("text and more\n", 500_000)),
		gittest.Gitlink("module", strings.Repeat("a", 40)), gittest.Regular("z", "last"),
	}
}

func TestCheckoutsOfLargeFilesAreClones(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", append(varied(), gittest.Regular("old", gittest.Noise(5<<20+1)),
		gittest.Regular("old.bat", strings.Repeat("older\n", 60_000)))...)
	repo.Commit("main", varied()...)
	clones := map[string]*example{}
	for _, depth := range []string{"1", "2"} {
		clones[depth] = exampleOf(t, clone(t, repo, "--depth="+depth))
	}
	for _, options := range []archive.Options{
		{Depth: "1"}, {Depth: "2"}, {Depth: "2", Objects: archive.ObjectsConverted}, {Prefix: "p/q/"},
		{Format: archive.TarGz}, {Format: archive.TarZst}, {Format: archive.TarXz, Objects: archive.ObjectsConverted},
	} {
		depth := max(options.Depth, "1")
		command := map[archive.Format][]string{
			archive.TarGz:  {"tar", "-xzf", "-", "-C"},
			archive.TarZst: {"tar", "--zstd", "-xf", "-", "-C"},
			archive.TarXz:  {"tar", "-xJf", "-", "-C"},
		}[options.Format]
		checkout := extract(t, write(t, checkoutPlan(t, repo, "main", options)), command...)
		checkout = gittest.Existing(t, filepath.Join(checkout.Dir, options.Prefix))
		if options.Objects == archive.ObjectsConverted {
			packFiles(t, checkout)
		}
		compareClone(t, fmt.Sprintf("%+v", options), checkout, clones[depth])
	}
}

// The programs that people extract archives with leave a checkout in which nothing is modified.
func TestCheckoutsAreCleanWithEachProgram(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", varied()...)
	archived := write(t, checkoutPlan(t, repo, "main", archive.Options{}))
	for name, command := range map[string][]string{
		"GNU tar": gnuTar, "bsdtar": {"bsdtar", "-xf", "-", "-C"},
		"Python": {"python3", "-c", "import sys, tarfile\n" +
			"tarfile.open(fileobj=sys.stdin.buffer, mode='r|').extractall(sys.argv[1])"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip(err)
			}
			checkout := extract(t, archived, command...)
			// The contents are other ones now: git does not read them.
			overwrite(t, checkout, "a.bat", "text")
			for _, question := range [][]string{{"status", "--porcelain"}, {"fsck", "--strict", "--no-dangling"}} {
				if out := ask(t, checkout, question...); out != "" {
					t.Errorf("git %q says %s", question, out)
				}
			}
		})
	}
}

// overwrite changes files without a trace in their size and their time.
func overwrite(t *testing.T, checkout *gittest.Repo, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(checkout.Dir, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		before := info.ModTime()
		err = os.WriteFile(path, bytes.Repeat([]byte("x"), int(info.Size())), 0o600)
		if err := errors.Join(err, os.Chmod(path, info.Mode()), os.Chtimes(path, before, before)); err != nil {
			t.Fatal(err)
		}
	}
}

// An edit is seen that leaves the length of a file as it is, also within the second of the commit and
// of the extraction.
func TestEditsOfEqualLengthAreSeen(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for range 3 {
		repo := gittest.New(t)
		tree := repo.Commit("main", gittest.Regular("a", "before"), gittest.Regular("b", "same"))
		cmd := exec.CommandContext(t.Context(), "git", "commit-tree", "-m", "now", tree+"^{tree}")
		cmd.Dir = repo.Dir
		for _, setting := range gittest.Env() { // the commit is of this second
			if !strings.Contains(setting, "_DATE=") {
				cmd.Env = append(cmd.Env, setting)
			}
		}
		now, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		repo.Git("update-ref", "refs/heads/main", strings.TrimSpace(string(now)))
		checkout := extract(t, write(t, checkoutPlan(t, repo, "main", archive.Options{})))
		if err := os.WriteFile(filepath.Join(checkout.Dir, "a"), []byte("after!"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := ask(t, checkout, "status", "--porcelain"); out != " M a\n" {
			t.Errorf("git status says %q, want that a is modified", out)
		}
	}
}

// A commit is made in a checkout and pushed, and history is fetched into it.
func TestCheckoutsCommitPushAndFetch(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for _, objects := range archive.Choices("objects") {
		repo := history(t)
		repo.Git("config", "uploadpack.allowFilter", "true")
		repo.Git("config", "uploadpack.allowAnySHA1InWant", "true")
		checkout := extract(t, write(t, checkoutPlan(t, repo, "HEAD", archive.Options{Objects: archive.Objects(objects)})))
		if objects == string(archive.ObjectsConverted) {
			packFiles(t, checkout)
		}
		checkout.Git("config", "remote.origin.url", "file://"+repo.Dir)
		before := checkout.Git("rev-parse", "HEAD")
		if err := os.WriteFile(filepath.Join(checkout.Dir, "a"), []byte("edited"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := checkout.Git("diff", "--stat"); !strings.Contains(out, "1 file changed") {
			t.Errorf("%s: git diff says %s", objects, out)
		}
		checkout.Git("commit", "-q", "-a", "-m", "an edit")
		checkout.Git("push", "-q")
		if got, want := repo.Git("rev-parse", "main"), checkout.Git("rev-parse", "HEAD"); got != want {
			t.Errorf("%s: %s was pushed, want %s", objects, got, want)
		}
		if got := repo.Git("rev-parse", "main^"); got != before {
			t.Errorf("%s: its parent is %s, want %s", objects, got, before)
		}
		checkout.Git("fetch", "-q", "--deepen=1")
		if got := checkout.Git("rev-list", "--count", "HEAD"); got != "5" {
			t.Errorf("%s: the history has %s commits, want 5", objects, got)
		}
		checkout.Git("fetch", "-q", "--unshallow")
		if got, want := checkout.Git("rev-list", "--count", "HEAD"), repo.Git("rev-list", "--count", "main"); got != want {
			t.Errorf("%s: the whole history has %s commits, want %s", objects, got, want)
		}
		repo.Commit("main", gittest.Regular("a", "from elsewhere"))
		checkout.Git("pull", "-q", "--ff-only")
		if out := ask(t, checkout, "status", "--porcelain"); out != "" {
			t.Errorf("%s: git status says %s", objects, out)
		}
		checkout.Git("gc", "-q")
		if out := ask(t, checkout, "fsck", "--strict", "--no-dangling"); out != "" {
			t.Errorf("%s: git fsck says %s", objects, out)
		}
	}
}

// go-git reads refs, objects, the index, the list of cut commits and the configuration.
func TestGoGitOpensCheckouts(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := history(t)
	checkout := extract(t, write(t, checkoutPlan(t, repo, "HEAD", archive.Options{Depth: "2"})))
	opened := filesystem.NewStorage(osfs.New(filepath.Join(checkout.Dir, ".git")), cache.NewObjectLRUDefault())
	head, err := storer.ResolveReference(opened, plumbing.HEAD)
	if err != nil || head.Name() != "refs/heads/main" || head.Hash().String() != repo.Git("rev-parse", "main") {
		t.Fatalf("HEAD is %v, %v", head, err)
	}
	commit, err := object.GetCommit(opened, head.Hash())
	if err != nil {
		t.Fatal(err)
	}
	files, err := commit.Files()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	err = files.ForEach(func(f *object.File) error {
		read++
		content, err := f.Contents()
		if want := repo.Git("cat-file", "blob", f.Hash.String()); content != want {
			t.Errorf("%s is %q, want %q", f.Name, content, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	cut, err := opened.Shallow()
	if err != nil || len(cut) != 3 || len(commit.ParentHashes) != 3 {
		t.Errorf("%v are cut, %v; want the parents %v", cut, err, commit.ParentHashes)
	}
	for _, parent := range commit.ParentHashes {
		if _, err := object.GetCommit(opened, parent); err != nil || !slices.Contains(cut, parent) {
			t.Errorf("the parent %s: %v, and cut are %v", parent, err, cut)
		}
	}
	index, err := opened.Index()
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, e := range index.Entries {
		listed = append(listed, fmt.Sprintf("%06o %s 0\t%s", uint32(e.Mode), e.Hash, e.Name))
	}
	if got, want := strings.Join(listed, "\n"), checkout.Git("ls-files", "--stage"); got != want {
		t.Errorf("the index has\n%s\nwant\n%s", got, want)
	}
	if index.Cache == nil || len(index.Cache.Entries) != 2 {
		t.Errorf("the cached tree is %v, want those of two folders", index.Cache)
	}
	config, err := opened.Config()
	if err != nil || config.Remotes["origin"].URLs[0] != origin || config.Branches["main"].Merge != "refs/heads/main" {
		t.Errorf("the configuration is %+v, %v", config, err)
	}
	if read != len(listed) || read == 0 {
		t.Errorf("%d files were read of %d", read, len(listed))
	}
}

// The index knows the objects of Git LFS as they are in the working tree, and the pack has pointers.
func TestCheckoutsWithLFSAreClean(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	small, large := "the content", gittest.Noise(300<<10)
	repo.Commit("main", gittest.Regular(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n"),
		gittest.Regular("a.bin", pointerTo(small)), gittest.Regular("b.bin", pointerTo(large)),
		gittest.Regular("c.bin", pointerTo("missing")), gittest.Regular("d.bin", "no pointer"))
	store(repo, small, large)
	for _, objects := range archive.Choices("objects") {
		p := checkoutPlan(t, repo, "main", archive.Options{LFS: archive.LFSContent, Objects: archive.Objects(objects)})
		checkout := extract(t, write(t, p))
		if objects == string(archive.ObjectsConverted) {
			packFiles(t, checkout)
		}
		for name, want := range map[string]string{
			"a.bin": small, "b.bin": large, "c.bin": pointerTo("missing"), "d.bin": "no pointer",
		} {
			if got, err := os.ReadFile(filepath.Join(checkout.Dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %s has %d other bytes, %v", objects, name, len(got), err)
			}
			if objects == string(archive.ObjectsBlobless) {
				continue
			}
			if got, want := checkout.Git("rev-parse", "HEAD:"+name), repo.Git("rev-parse", "main:"+name); got != want {
				t.Errorf("%s: %s is %s, want %s", objects, name, got, want)
			}
			checkout.Git("cat-file", "-e", "HEAD:"+name)
		}
		for _, command := range [][]string{{"status", "--porcelain"}, {"update-index", "--really-refresh"},
			{"fsck", "--strict", "--no-dangling"}} {
			if out := ask(t, checkout, command...); out != "" {
				t.Errorf("%s: git %q says %s", objects, command, out)
			}
		}
	}
}

// The bytes are the same for any number of processors, and after a repack.
func TestCheckoutsAreAlwaysTheSameBytes(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", append(varied(), gittest.Regular("old", "1"))...)
	many := trees()["many"]
	repo.Commit("main", append(varied(), many...)...)
	for _, options := range []archive.Options{
		{Format: archive.Tar, Depth: "2"}, {Format: archive.TarGz}, {Format: archive.TarZst, Objects: archive.ObjectsConverted},
	} {
		var want []byte
		var tag string
		for i, count := range []int{1, 2, 8} {
			engine, err := archive.NewEngine(archive.EngineOptions{Workers: count})
			if err != nil {
				t.Fatal(err)
			}
			options.Profile, options.Origin = archive.ProfileCheckout, origin
			snapshot := open(t, repo).snapshot
			head, options, err := archive.Resolve(t.Context(), snapshot, "main", options)
			if err != nil {
				t.Fatal(err)
			}
			p, err := engine.Plan(t.Context(), snapshot, head, options)
			if err != nil {
				t.Fatal(err)
			}
			got, v := write(t, p), validatorOf(t, p)
			if i == 0 {
				want, tag = got, v.Tag
			}
			if !bytes.Equal(got, want) || v.Tag != tag || v.Weak {
				t.Errorf("%+v: %d processors make other bytes, or another tag", options, count)
			}
			engine.Close()
			repo.Git("repack", "-adfq", fmt.Sprint("--depth=", 10*i))
		}
	}
}

// What decides the bytes is in the tag.
func TestTagsOfCheckouts(t *testing.T) {
	t.Parallel()
	repo := history(t)
	seen := map[string]string{}
	for _, revision := range []string{"main", "main~0", "light", "v1.0", "nested", "side/deep"} {
		for _, options := range []archive.Options{
			{}, {Format: archive.TarGz}, {Depth: "2"}, {Objects: archive.ObjectsBlobless},
			{Objects: archive.ObjectsConverted}, {Origin: "https://other.example/a"}, {Origin: archive.OriginNone},
			{PushURL: "ssh://git@other.example/a"}, {Prefix: "p/"}, {LFS: archive.LFSContent},
		} {
			p := checkoutPlan(t, repo, revision, options)
			tag, what := validatorOf(t, p).Tag, fmt.Sprintf("%s with %+v", revision, options)
			if other, ok := seen[tag]; ok {
				t.Errorf("%s and %s have the same tag", what, other)
			}
			seen[tag] = what
			o := p.Options()
			id, err := git.ParseID(p.Head().Revision)
			if err != nil {
				t.Fatal(err)
			}
			if known, strong := p.Engine().Tag(id, o, nil); strong != (options.LFS == "") || strong && known != tag {
				t.Errorf("%s: the tag without the commit is %s, %t; want %s", what, known, strong, tag)
			}
			// By its options and its revision the same archive is found again.
			again := checkoutPlan(t, repo, p.Head().Revision, o)
			if validatorOf(t, again).Tag != tag || !bytes.Equal(write(t, again), write(t, p)) {
				t.Errorf("%s: it is another one by %s and %+v", what, p.Head().Revision, o)
			}
		}
	}
	if len(seen) != 60 {
		t.Errorf("there are %d tags", len(seen))
	}
}

// failing fails after some bytes.
type failing struct{ left int }

var errGone = errors.New("the client is gone")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errGone
	}
	return len(p), nil
}

// checkoutAlone plans a checkout with an engine of its own, so that the temporary files
// of other tests are not counted.
func checkoutAlone(t *testing.T, repo *gittest.Repo) *archive.Plan {
	t.Helper()
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	o := opened{engine, open(t, repo).snapshot}
	p, err := o.plan(t, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileCheckout, Origin: origin})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An archive that ends early has no index, and leaves nothing behind.
func TestCutCheckoutsLookIncomplete(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", trees()["many"]...)
	p := checkoutAlone(t, repo)
	whole := write(t, p)
	for i := range 40 {
		if err := p.WriteTo(t.Context(), &failing{len(whole) * i / 40}); !errors.Is(err, errGone) {
			t.Errorf("the client leaves after %d bytes: %v", len(whole)*i/40, err)
		}
		if used := p.SpilledBytes(); used != 0 {
			t.Fatalf("%d bytes of temporary files are left", used)
		}
	}
	index := bytes.LastIndex(whole, []byte(".git/index\x00"))
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "tar", "-xf", "-", "-C", dir)
	cmd.Stdin = bytes.NewReader(whole[:index])
	_ = cmd.Run() // tar says that the archive is cut
	if out := ask(t, gittest.Existing(t, dir), "status", "--porcelain"); !strings.Contains(out, "D ") {
		t.Errorf("without its end git status says %q", out)
	}
	tr, last := tar.NewReader(bytes.NewReader(whole)), ""
	for {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = header.Name
	}
	if last != ".git/index" {
		t.Errorf("the last member is %s", last)
	}
}

func TestCancelledCheckoutsEnd(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", trees()["many"]...)
	p := checkoutAlone(t, repo)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	if err := p.WriteTo(ctx, io.Discard); !errors.Is(err, errGone) && !errors.Is(err, workers.ErrClosed) {
		t.Errorf("a cancelled archive: %v", err)
	}
	if used := p.SpilledBytes(); used != 0 {
		t.Errorf("%d bytes of temporary files are left", used)
	}
}

// The indexes of the pack are those that git makes of it.
func TestIndexesOfPacksAreGits(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", append(varied(), trees()["many"]...)...)
	checkout := extract(t, write(t, checkoutPlan(t, repo, "main", archive.Options{})))
	packs, err := filepath.Glob(filepath.Join(checkout.Dir, ".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	stem := strings.TrimSuffix(packs[0], ".pack")
	again := filepath.Join(t.TempDir(), "again")
	pack, err := os.ReadFile(packs[0])
	if err := errors.Join(err, os.WriteFile(again+".pack", pack, 0o600)); err != nil {
		t.Fatal(err)
	}
	if sum := checkout.Git("index-pack", "--rev-index", again+".pack"); !strings.HasSuffix(stem, "pack-"+sum) {
		t.Errorf("the pack has the checksum %s, and the name %s", sum, stem)
	}
	for _, suffix := range []string{".idx", ".rev"} {
		got, gotErr := os.ReadFile(stem + suffix)
		want, wantErr := os.ReadFile(again + suffix)
		if err := errors.Join(gotErr, wantErr); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, and git's %d, %v", suffix, len(got), len(want), err)
		}
	}
}

// What is damaged in the mirror ends the archive, wherever it is.
func TestDamageEndsCheckouts(t *testing.T) {
	t.Parallel()
	repo := history(t)
	for _, object := range []string{"main:d/3", "main:d", "main^{tree}", "main", "main~1", "main~1:a", "nested", "v1.0"} {
		revision, options := "main", archive.Options{Depth: "2"}
		if !strings.HasPrefix(object, "main") {
			revision = "nested"
		}
		id := repo.Git("rev-parse", object)
		name := filepath.Join("objects", id[:2], id[2:])
		content, err := os.ReadFile(filepath.Join(repo.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		damaged := bytes.Clone(content)
		damaged[len(damaged)/2] ^= 0x55
		repo.WriteFile(name, damaged)
		p, err := tryCheckout(t, repo, revision, options)
		var out bytes.Buffer
		if err == nil {
			err = p.WriteTo(t.Context(), &out)
		}
		if !errors.Is(err, git.ErrCorrupt) || bytes.Contains(out.Bytes(), []byte(".git/index\x00")) {
			t.Errorf("%s is damaged: %v after %d bytes, want %v", object, err, out.Len(), git.ErrCorrupt)
		}
		repo.WriteFile(name, content)
	}
}

// A full disk ends the archive with an error that says to try again.
func TestFullDisksEndCheckouts(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(1<<20)))
	engine, err := archive.NewEngine(archive.EngineOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	engine.LimitSpace(t.TempDir(), 500_000)
	o := opened{engine, open(t, repo).snapshot}
	p, err := o.plan(t, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileCheckout})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WriteTo(t.Context(), io.Discard); !errors.Is(err, git.ErrBusy) {
		t.Errorf("%v, want %v", err, git.ErrBusy)
	}
	if used := p.SpilledBytes(); used != 0 {
		t.Errorf("%d bytes of temporary files are left", used)
	}
}

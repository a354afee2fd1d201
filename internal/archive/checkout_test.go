package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// origin is where the checkouts of tests say that they come from.
const origin = "https://git.example/a.git"

// checkoutPlan is the plan of a checkout of a revision, as a server makes it.
func checkoutPlan(t *testing.T, repo *gittest.Repo, revision string, options archive.Options) *archive.Plan {
	t.Helper()
	p, err := tryCheckout(t, repo, revision, options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryCheckout(
	t *testing.T, repo *gittest.Repo, revision string, options archive.Options,
) (*archive.Plan, error) {
	t.Helper()
	o := open(t, repo)
	options.Profile = archive.ProfileCheckout
	if options.Format == "" {
		options.Format = archive.Tar
	}
	if options.Origin == "" {
		options.Origin = origin
	}
	head, options, err := archive.Resolve(t.Context(), o.snapshot, revision, options)
	if err != nil {
		return nil, err
	}
	p, err := o.engine.Plan(t.Context(), o.snapshot, head, options)
	if err == nil {
		_, err = p.Validator(t.Context())
	}
	return p, err
}

// extract unpacks an archive with a command that reads it and gets the folder as its last argument.
func extract(t *testing.T, archived []byte, command ...string) *gittest.Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	extractTo(t, dir, archived, command...)
	return gittest.Existing(t, dir)
}

// gnuTar extracts from its standard input.
var gnuTar = []string{"tar", "-xf", "-", "-C"}

func extractTo(t *testing.T, dir string, archived []byte, command ...string) {
	t.Helper()
	if len(command) == 0 {
		command = gnuTar
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:len(command):len(command)], dir)...)
	cmd.Stdin = bytes.NewReader(archived)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
}

// clone is what git clone makes of a repository.
func clone(t *testing.T, repo *gittest.Repo, flags ...string) *gittest.Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	repo.Git(slices.Concat([]string{"-c", "core.autocrlf=false", "-c", "core.eol=lf", "clone", "-q",
		"-c", "advice.detachedHead=false"}, flags, []string{"file://" + repo.Dir, dir})...)
	return gittest.Existing(t, dir)
}

// questions are what a checkout has to answer as a clone: among them HEAD and its upstream.
var questions = [][]string{
	{"rev-parse", "HEAD", "--is-shallow-repository"}, {"ls-files", "--stage"},
	{"for-each-ref", "--format=%(HEAD) %(refname) %(objectname) %(symref) %(upstream)"},
	{"log", "--format=%H %P %s", "--all"}, {"symbolic-ref", "--quiet", "HEAD"},
	{"config", "--get-regexp", "^(branch\\.|remote\\.origin\\.fetch$)"}, {"write-tree"},
}

// ask runs git in a checkout or a clone, and returns its answer, also of a failure.
func ask(t *testing.T, repo *gittest.Repo, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", command...)
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	out, err := cmd.Output()
	if err != nil {
		out = fmt.Append(out, err)
	}
	return string(out)
}

// faults are the lines of git fsck.
func faults(t *testing.T, repo *gittest.Repo) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "fsck", "--strict", "--no-dangling", "--no-progress")
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	out, _ := cmd.CombinedOutput() // a fault is a failure
	return slices.Sorted(strings.Lines(string(out)))
}

// example is what git says of a clone, which checkouts of the same are compared with.
type example struct {
	upstream string
	answers  []string // to the questions
	files    files    // without .git
	touched  string   // the status when the files are read
	faults   []string // of the upstream: trees that git complains about are those of the repository
}

func exampleOf(t *testing.T, clone *gittest.Repo) *example {
	t.Helper()
	e := &example{upstream: clone.Git("config", "remote.origin.url"), files: workingTree(t, clone)}
	for _, question := range questions {
		e.answers = append(e.answers, ask(t, clone, question...))
	}
	touch(t, clone, e.files)
	e.touched = ask(t, clone, "status", "--porcelain")
	e.faults = faults(t, gittest.Existing(t, strings.TrimPrefix(e.upstream, "file://")))
	return e
}

// workingTree are the files of a clone, without .git.
func workingTree(t *testing.T, clone *gittest.Repo) files {
	t.Helper()
	all := filesOfFolder(t, clone.Dir)
	maps.DeleteFunc(all, func(path, _ string) bool { return strings.HasPrefix(path+"/", ".git/") })
	return all
}

// compareClone compares a checkout with what git clone makes of the same, by what git says of both
// and by their files.
func compareClone(t *testing.T, name string, checkout *gittest.Repo, clone *example) {
	t.Helper()
	if out := ask(t, checkout, "status", "--porcelain"); out != "" {
		t.Errorf("%s: git status of the checkout says %s", name, out)
	}
	for i, question := range questions {
		if got, want := ask(t, checkout, question...), clone.answers[i]; got != want {
			t.Errorf("%s: git %q says\n%sand of the clone\n%s", name, question, got, want)
		}
	}
	workingTree(t, checkout).compare(t, name, clone.files)
	if out := ask(t, checkout, "update-index", "--really-refresh"); out != "" {
		t.Errorf("%s: git update-index --really-refresh says %s", name, out)
	}
	for _, fault := range faults(t, checkout) { // files may be missing with a promise
		if !slices.Contains(clone.faults, fault) {
			t.Errorf("%s: git fsck says %s", name, fault)
		}
	}
	checkout.Git("config", "remote.origin.url", clone.upstream)
	// git now reads the files: those that do not survive both conversions are modified in a clone, too.
	touch(t, checkout, clone.files)
	if got := ask(t, checkout, "status", "--porcelain"); got != clone.touched {
		t.Errorf("%s: git status with files read says\n%s, and of the clone\n%s", name, got, clone.touched)
	}
}

// touch gives the files of a working tree another time.
func touch(t *testing.T, repo *gittest.Repo, all files) {
	t.Helper()
	for path, kind := range all {
		if strings.HasPrefix(kind, "file") || strings.HasPrefix(kind, "exec") {
			if err := os.Chtimes(filepath.Join(repo.Dir, path), time.Time{}, time.Unix(1_000_000_000, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// packFiles packs the files of the working tree, as a client of objects=converted has to.
func packFiles(t *testing.T, repo *gittest.Repo) {
	t.Helper()
	inner := gittest.Existing(t, filepath.Join(repo.Dir, ".git"))
	for line := range strings.SplitSeq(strings.TrimSuffix(repo.Git("ls-files", "--stage", "-z"), "\x00"), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		content, err := os.ReadFile(filepath.Join(repo.Dir, path))
		switch meta[:6] {
		case "120000":
			var target string
			target, err = os.Readlink(filepath.Join(repo.Dir, path))
			content = []byte(target)
		case "160000":
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		inner.Store("blob", string(content))
	}
}

func corpora() map[string][]gittest.File {
	all := attributed()
	maps.Copy(all, trees())
	maps.Copy(all, nasty())
	return all
}

func TestCheckoutsAreClones(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	all := corpora()
	compared := map[archive.Objects]int{}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		repo := gittest.New(t)
		repo.Commit("main", gittest.Regular("before", "1"))
		repo.Commit("main", all[name]...)
		repo.Git("config", "uploadpack.allowFilter", "true")
		repo.Git("config", "uploadpack.allowAnySHA1InWant", "true")
		cloned := exampleOf(t, clone(t, repo, "--depth=1"))
		for j, objects := range archive.Choices("objects") {
			if (i+j)%gittest.Volume(3, 1) != 0 { // by turns
				continue
			}
			p := checkoutPlan(t, repo, "main", archive.Options{Objects: archive.Objects(objects)})
			archived := write(t, p)
			checkout := extract(t, archived)
			if objects == string(archive.ObjectsConverted) {
				packFiles(t, checkout)
			}
			compareClone(t, name+", "+objects, checkout, cloned)
			if j == 0 {
				compareRanges(t, name, p, archived)
			}
			compared[archive.Objects(objects)]++
		}
	}
	least := len(all)/gittest.Volume(3, 1) - 1
	if len(all) < 50 || len(compared) != 3 || slices.Min(slices.Collect(maps.Values(compared))) < least {
		t.Errorf("compared %v checkouts of %d trees", compared, len(all))
	}
}

// history is a repository with merges, roots and all kinds of refs.
func history(t *testing.T) *gittest.Repo {
	t.Helper()
	repo := gittest.New(t)
	for i := range 4 {
		repo.Commit("main", gittest.Regular("a", fmt.Sprint("a", i)), gittest.Regular(fmt.Sprint("d/", i), "1"))
	}
	repo.Git("branch", "side/deep", "main~2")
	repo.Commit("side/deep", gittest.Regular("a", "side"), gittest.Regular("e/f", "1"))
	repo.Commit("side/deep", gittest.Regular("a", "side"), gittest.Regular("e/f", "2"))
	repo.Commit("root", gittest.Regular("other", "root"))
	merge := repo.Git("commit-tree", "-p", "main", "-p", "side/deep", "-p", "root", "-m", "merge", "main^{tree}")
	repo.Git("update-ref", "refs/heads/main", merge)
	repo.Git("tag", "light", "main~1")
	repo.Git("tag", "-a", "-m", "one", "v1.0", "side/deep")
	repo.Git("tag", "-a", "-m", "of a tag", "nested", "v1.0")
	repo.Git("branch", "odd\"name;with#", "main~1")
	repo.Git("branch", "\u00fcn\u00ef", "root")
	return repo
}

// cutOf are the commits that a repository has without their parents.
func cutOf(repo *gittest.Repo) []string {
	list, _ := os.ReadFile(filepath.Join(repo.Dir, ".git/shallow")) // none without the file
	return slices.Sorted(slices.Values(strings.Fields(string(list))))
}

// A checkout has no part of a tree, and only a checkout has its options.
func TestOptionsOfCheckoutsAreChecked(t *testing.T) {
	t.Parallel()
	repo := history(t)
	for _, options := range []archive.Options{
		{Paths: []string{"a"}}, {Exclude: []string{"a"}}, {Strip: "d"}, {Prefix: "glued-"}, {Format: archive.Zip},
		{Submodules: archive.SubmodulesContent}, {Objects: "some"}, {Depth: "0"}, {Depth: "-1"}, {Depth: "01"},
		{Depth: "2147483648"}, {Depth: "all"}, {Ref: "main"}, {Ref: "refs/heads/a..b"}, {Ref: "refs/remotes/origin/a"},
		{Ref: "HEAD:refs/tags/v1.0"}, {Ref: "HEAD:"}, {Ref: "refs/heads/a\nb"}, {Origin: "/srv/git/a.git"},
		{Origin: "file:///srv/git/a.git"}, {Origin: "../a.git"}, {Origin: "ext::sh -c true"}, {Origin: "-o"},
		{Origin: "https://user:secret@git.example/a"}, {Origin: "https://token@git.example/a"},
		{Origin: "ssh://git:secret@git.example/a"}, {Origin: "https://git.example/a\n[core]"}, {Origin: "ssh://-oProxyCommand=x/a"},
		{Origin: "-oProxyCommand=x:a"}, {Origin: "C:/a"}, {Origin: "https:///a"}, {PushURL: "file:///a"},
		{Origin: "https://git.example/" + strings.Repeat("a", 1024)}, {Origin: "ssh://-x@git.example/a"},
		{Origin: "javascript:alert(1)\x7f"}, {Objects: archive.ObjectsBlobless, Origin: archive.OriginNone},
	} {
		if _, err := tryCheckout(t, repo, "main", options); !errors.Is(err, archive.ErrOption) {
			t.Errorf("%+v: %v, want %v", options, err, archive.ErrOption)
		}
	}
	for _, url := range []string{"https://git.example/a.git", "http://127.0.0.1:8080/git/a", "ssh://git@git.example:22/a",
		"git@git.example:group/a.git", "git.example:a", "git://git.example/a", archive.OriginNone, "https://[::1]/a"} {
		if _, err := tryCheckout(t, repo, "main", archive.Options{Origin: url, PushURL: url}); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, options := range []archive.Options{
		{Objects: archive.ObjectsBlobless}, {Depth: "2"}, {Ref: "refs/heads/main"}, {Origin: origin}, {PushURL: origin},
	} {
		options.Format, options.Profile = archive.Tar, archive.ProfileWorktree
		if _, err := tryPlan(t, repo, "main", options); !errors.Is(err, archive.ErrOption) {
			t.Errorf("%+v: %v, want %v", options, err, archive.ErrOption)
		}
	}
	if _, err := tryCheckout(t, repo, "main^{tree}", archive.Options{}); !errors.Is(err, archive.ErrOption) {
		t.Errorf("a tree: %v, want %v", err, archive.ErrOption)
	}
}

// No tree is checked out that would write into the .git which comes with it, on any system, nor one
// that has no place in an index.
func TestTreesThatAreNoCheckoutsAreRefused(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	blob := repo.Store("blob", "x")
	entry := func(mode, name string) string {
		id, err := git.ParseID(blob)
		if err != nil {
			t.Fatal(err)
		}
		return mode + " " + name + "\x00" + string(id[:])
	}
	for _, content := range []string{
		entry("100644", "git~1"), entry("100644", "GIT~1"), entry("100644", ".git "), entry("100644", ".git."),
		entry("100644", ".git::$INDEX_ALLOCATION"), entry("100644", ".g\u200cit"), entry("100644", "\ufeff.GIT"),
		entry("100644", `a\.git\config`), entry("100644", `.git\hooks`), entry("120000", ".gitmodules"),
		entry("120000", ".GitModules"), entry("100644", "b") + entry("100644", "a"),
		entry("40000", "a") + entry("100644", "a.b"),
	} {
		tree := repo.Store("tree", content)
		id, err := git.ParseID(tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, root := range []string{tree, repo.Store("tree", "40000 d\x00"+string(id[:]))} {
			commit := repo.Store("commit", "tree "+root+"\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\n")
			repo.SetRef("refs/heads/main", commit)
			if strings.HasPrefix(content, "40000") {
				continue // below
			}
			if _, err := tryCheckout(t, repo, "main", archive.Options{}); !errors.Is(err, archive.ErrOption) {
				t.Errorf("%q: %v, want %v", content, err, archive.ErrOption)
			}
		}
	}
	repo.Commit("other", gittest.Regular(".gitignore", "1"), gittest.Regular("git~", "1"), gittest.Regular("git", "1"),
		gittest.Regular(`a\b`, "1"), gittest.Regular(".gitmodules", ""), gittest.Regular(".github/x", "1"))
	checkout := extract(t, write(t, checkoutPlan(t, repo, "other", archive.Options{})))
	if out := ask(t, checkout, "status", "--porcelain"); out != "" {
		t.Errorf("git status says %s", out)
	}
}

// A manifest lists the files of a checkout, without its .git.
func TestManifestsOfCheckoutsListTheFiles(t *testing.T) {
	t.Parallel()
	repo := history(t)
	m := readManifest(t, write(t, checkoutPlan(t, repo, "main", archive.Options{Format: archive.Manifest})))
	if len(m.Entries) != 3 || m.Origin != origin || m.RefName != "HEAD:refs/heads/main" {
		t.Errorf("the manifest is %+v", m)
	}
	p := checkoutPlan(t, repo, "main", archive.Options{})
	if _, err := p.Measure(t.Context()); !errors.Is(err, archive.ErrUnmeasured) {
		t.Errorf("the measure of a checkout: %v, want %v", err, archive.ErrUnmeasured)
	}
}

// Every branch and tag of the sample mirrors is as a clone has it.
func TestCheckoutsOfMirrorsAreClones(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root, err := filepath.Abs("../../testrepos")
	if err != nil {
		t.Fatal(err)
	}
	seen, compared := 0, 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || !strings.HasSuffix(path, ".git") {
			return err
		}
		repo := gittest.Existing(t, path)
		refs := repo.Git("for-each-ref", "--format=%(refname) %(objecttype) %(*objecttype)", "refs/heads", "refs/tags")
		for line := range strings.Lines(refs) {
			name, kinds, _ := strings.Cut(strings.TrimSpace(line), " ")
			_, short, _ := strings.Cut(strings.TrimPrefix(name, "refs/"), "/")
			if !strings.HasSuffix(kinds, "commit") || strings.HasPrefix(name, "refs/tags/") && strings.Contains(refs, "refs/heads/"+short+" ") {
				continue // a tag of a folder, or one whose name means a branch to git clone
			}
			if seen++; seen%gittest.Volume(2, 1) != 0 { // by turns
				continue
			}
			checkout := extract(t, write(t, checkoutPlan(t, repo, name, archive.Options{})))
			cloned := clone(t, repo, "--depth=1", "--single-branch", "--no-tags", "--branch="+short)
			if ref := checkout.Git("for-each-ref", "refs/remotes/origin/HEAD"); ref != "" {
				cloned.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/"+short)
			}
			compareClone(t, path+" "+name, checkout, exampleOf(t, cloned))
			compared++
		}
		return fs.SkipDir
	})
	if err != nil || seen < 20 || compared < seen/gittest.Volume(2, 1) {
		t.Errorf("compared %d checkouts of %d, %v", compared, seen, err)
	}
}

// Other bytes need another version: see TestBytesAreAPromise.
// TestVersionsOfAFileAreCompressedTogether for clients that unpack the pack on arrival.
func TestVersionsOfAFileAreCompressedTogether(t *testing.T) {
	t.Parallel()
	const versions, size = 20, 50_000
	repo, noise := gittest.New(t), gittest.Noise(size)
	for i := range versions {
		repo.Commit("main", gittest.Regular("log", fmt.Sprint(noise, i)))
	}
	o := archive.Options{Format: archive.TarZst, Depth: strconv.Itoa(versions), Objects: archive.ObjectsConverted}
	if n := len(write(t, checkoutPlan(t, repo, "main", o))); n > 6*size {
		t.Errorf("%d versions of %d bytes are %d bytes", versions, size, n)
	}
}

func TestBytesOfCheckoutsAreAPromise(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	base := repo.Commit("main", trees()["many"]...)
	repo.Git("tag", "-a", "-m", "one", "v1.0", repo.Commit("main", append(varied(), trees()["many"]...)...))
	for _, c := range []struct {
		revision string
		options  archive.Options
		want     string
	}{
		{"main", archive.Options{}, "co6 25aa0de36c1b12bfe4fc6920bd41dde21fadf3529836571e8ddd5dbeca1e6931"},
		{
			"v1.0", archive.Options{Format: archive.TarGz, Depth: "2", Objects: archive.ObjectsBlobless},
			"co6 10d8ca403b589ebcfa8ca060bb8bc83db752ff1a3f5738103d06f1c56a21b114",
		},
		{
			"main", archive.Options{Format: archive.TarZst, Objects: archive.ObjectsConverted, Base: base},
			"co6 aace1933696d7a2ffe732e795203784b915a8b2447cad50e67c4e2db572b55f4",
		},
	} {
		sum := sha256.Sum256(write(t, checkoutPlan(t, repo, c.revision, c.options)))
		if got := archive.CheckoutVersion + " " + hex.EncodeToString(sum[:]); got != c.want {
			t.Errorf("%s with %+v: version and digest\n got %s\nwant %s", c.revision, c.options, got, c.want)
		}
	}
}

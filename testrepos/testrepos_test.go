// Package testrepos_test proves what README.md says about the sample
// repositories: rebuild.sh makes exactly them, git finds nothing wrong with
// them, and each shows what it is there for.
package testrepos_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// The samples travel with every clone of the project, so they stay small.
const (
	maxFiles = 200
	maxBytes = 1_500_000
)

func TestRebuildMakesTheSameBytesEveryTime(t *testing.T) {
	gittest.Long(t)
	committed, first, second := files(t, "."), files(t, rebuild(t)), files(t, rebuild(t))
	compared := compareBytes(t, second, first)
	t.Logf("compared %d files of two rebuilds", compared)

	compared = compareObjects(t, checkout(t, first), checkout(t, committed))
	t.Logf("compared %d refs and objects with the committed ones", compared)

	if with, here := committed["BUILT_WITH"], first["BUILT_WITH"]; with != here {
		t.Logf("bytes are not compared with the committed ones: those are of %s, which may pack otherwise than %s",
			strings.TrimSpace(with), strings.TrimSpace(here))
		return
	}
	compared = compareBytes(t, first, committed)
	t.Logf("compared %d files with the committed ones", compared)
}

func TestSamplesStaySmall(t *testing.T) {
	committed := files(t, ".")
	size := 0
	for _, content := range committed {
		size += len(content)
	}
	if len(committed) > maxFiles || size > maxBytes {
		t.Errorf("%d files with %d bytes, want at most %d and %d", len(committed), size, maxFiles, maxBytes)
	}
	t.Logf("%d files with %d bytes", len(committed), size)
}

// sample is what a repository is expected to show. Branches and tags are in
// the order of git, separated by spaces.
type sample struct {
	head     string // what the file HEAD holds; "commit" when it is a commit id
	branches string
	tags     string // annotated ones with a caret
	entries  int    // files, symbolic links and submodules at HEAD
	commits  int    // reachable from any ref
}

var longBranch = strings.Repeat("n", 120)

var samples = map[string]sample{
	"attributes.git": {"ref: refs/heads/main", "main", "v1.0.0^", 15, 1},
	"detached.git":   {"commit", "main", "", 1, 2},
	"empty.git":      {"ref: refs/heads/main", "", "", 0, 0},
	"fork.git":       {"ref: refs/heads/main", "fix/salt main", "", 15, 47},
	"hello.git":      {"ref: refs/heads/main", "feature/login main", "first v1.0.0^", 7, 5},
	"history.git": {"ref: refs/heads/main",
		"idea/bread idea/curry idea/dumplings idea/pie idea/salad idea/soup idea/sour idea/sweet main pages", "", 15,
		47},
	"large-tree.git": {"ref: refs/heads/main", "main", "before", 2000, 2},
	"loose.git":      {"ref: refs/heads/main", "main", "v1^", 3, 2},
	"media.git":      {"ref: refs/heads/main", "main", "", 13, 1},
	"modes.git":      {"ref: refs/heads/main", "main", "", 13, 1},
	"names.git":      {"ref: refs/heads/main", "main", "", 49, 1},
	"refs.git": {"ref: refs/heads/main",
		"100% a+b deadbeef docs/contents/src feature/login-page feature/login/v2 fix#12 heads/main main nightly " +
			longBranch + " release.tar.gz src v1.0 übung",
		"annotated^ folder^ light nested^ nightly.tar readme^ release/2024/01^ v1.0", 3, 17},
	"team/tools.git":         {"ref: refs/heads/main", "main", "", 2, 1},
	"team/tools/builder.git": {"ref: refs/heads/main", "main", "v0.1.0^", 2, 1},
	"trunk.git":              {"ref: refs/heads/trunk", "branches/1.x trunk", "", 2, 3},
}

func TestSamplesAreWhatTheyAreExpectedToBe(t *testing.T) {
	committed := files(t, ".")
	root := checkout(t, committed)
	if got, want := repositories(committed), slices.Sorted(maps.Keys(samples)); !slices.Equal(got, want) {
		t.Fatalf("repositories %q, want %q", got, want)
	}
	for name, want := range samples {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, filepath.FromSlash(name))
			got := sample{
				head:     strings.TrimSpace(committed[name+"/HEAD"]),
				branches: refs(t, dir, "refs/heads/"),
				tags:     refs(t, dir, "refs/tags/"),
				commits:  number(t, git(t, dir, "rev-list", "--all", "--count")),
			}
			if isID(got.head) {
				got.head = "commit"
			}
			if want.commits > 0 {
				got.entries = strings.Count(git(t, dir, "ls-tree", "-r", "-z", "HEAD"), "\x00")
			}
			if got != want {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestSamplesAreSound(t *testing.T) {
	committed := files(t, ".")
	root := checkout(t, committed)
	for _, name := range repositories(committed) {
		want := ""
		if name == "empty.git" {
			want = "notice: HEAD points to an unborn branch (main)\nnotice: No default references\n"
		}
		// Dangling is what a fork has not taken over from its alternate.
		cmd := command(filepath.Join(root, filepath.FromSlash(name)), "git", "fsck", "--strict", "--no-dangling")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s: git fsck: %v\n%s", name, err, out)
		}
	}
	t.Logf("asked about %d repositories", len(samples))
}

// shape counts what the store of a repository is made of, which the branches,
// tags and entries do not tell.
type shape struct{ packs, loose, looseRefs, packedRefs, alternates int }

func TestSamplesAreStoredInTheWaysGitStores(t *testing.T) {
	want := map[string]shape{
		"hello.git":      {packs: 1, looseRefs: 4},
		"loose.git":      {loose: 9, looseRefs: 2},
		"refs.git":       {packs: 1, looseRefs: 1, packedRefs: 25},
		"fork.git":       {packs: 1, looseRefs: 2, alternates: 1},
		"empty.git":      {},
		"names.git":      {packs: 1, looseRefs: 1},
		"trunk.git":      {packs: 1, looseRefs: 2},
		"modes.git":      {packs: 1, looseRefs: 1},
		"media.git":      {packs: 1, looseRefs: 1},
		"team/tools.git": {packs: 1, looseRefs: 1},
	}
	committed := files(t, ".")
	for name, want := range want {
		if got := shapeOf(committed, name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestPackedRefsAreOlderThanTheLooseRef(t *testing.T) {
	committed := files(t, ".")
	loose := strings.TrimSpace(committed["refs.git/refs/heads/main"])
	packed := committed["refs.git/packed-refs"]
	if !isID(loose) || strings.Contains(packed, loose) || !strings.Contains(packed, " refs/heads/main\n") {
		t.Errorf("main is %q as a loose ref; packed-refs:\n%s", loose, packed)
	}
}

func TestReadmeNamesEveryRepository(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range samples {
		if !bytes.Contains(readme, []byte("| `"+name+"` |")) {
			t.Errorf("README.md has no line for %s", name)
		}
	}
}

// rebuild runs the script and returns the folder that it filled.
func rebuild(t *testing.T) string {
	t.Helper()
	target := t.TempDir()
	if out, err := command("", "sh", "rebuild.sh", target).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("rebuild.sh: %v\n%s", err, out)
	}
	return target
}

// files reads the repositories below root and the note of what built them:
// the contents by path, with slashes. Folders without a file are not there,
// as in a clone of the project.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	contents := make(map[string]string)
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, ".git/") && path != "BUILT_WITH" {
			return err
		}
		content, err := fs.ReadFile(tree, path)
		contents[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(contents) == 0 {
		t.Fatalf("nothing in %s", root)
	}
	return contents
}

// checkout writes files to a new folder, as a clone of the project would. git
// runs there, since it mistrusts repositories of another user.
func checkout(t *testing.T, contents map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range contents {
		path = filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// repositories are the paths of the repositories among files, in byte order.
func repositories(contents map[string]string) []string {
	var names []string
	for path := range contents {
		if name, ok := strings.CutSuffix(path, "/HEAD"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compareBytes returns how many files it compared.
func compareBytes(t *testing.T, got, want map[string]string) int {
	t.Helper()
	for path, content := range want {
		switch rebuilt, ok := got[path]; {
		case !ok:
			t.Errorf("%s is missing", path)
		case rebuilt != content:
			t.Errorf("%s differs (%d bytes, want %d)", path, len(rebuilt), len(content))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s is too many", path)
		}
	}
	return len(want)
}

// compareObjects compares what two folders of repositories mean: HEAD, refs
// and reachable objects. It returns how many of them it compared.
func compareObjects(t *testing.T, got, want string) int {
	t.Helper()
	compared := 0
	for _, name := range repositories(files(t, want)) {
		gotLines, wantLines := meaning(t, filepath.Join(got, name)), meaning(t, filepath.Join(want, name))
		if !slices.Equal(gotLines, wantLines) {
			t.Errorf("%s:\n got %q\nwant %q", name, gotLines, wantLines)
		}
		compared += len(wantLines)
	}
	return compared
}

func meaning(t *testing.T, dir string) []string {
	t.Helper()
	head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{string(head)}
	lines = append(lines, strings.Split(git(t, dir, "for-each-ref"), "\n")...)
	objects := strings.Split(git(t, dir, "rev-list", "--objects", "--all"), "\n")
	slices.Sort(objects)
	return append(lines, objects...)
}

func shapeOf(contents map[string]string, name string) shape {
	var s shape
	for path, content := range contents {
		inside, ok := strings.CutPrefix(path, name+"/")
		if !ok {
			continue
		}
		switch folder, file, _ := strings.Cut(inside, "/"); {
		case strings.HasSuffix(inside, ".pack"):
			s.packs++
		case folder == "objects" && isID(strings.Replace(file, "/", "", 1)):
			s.loose++
		case folder == "refs" && !strings.HasSuffix(file, ".lock"):
			s.looseRefs++
		case inside == "packed-refs":
			s.packedRefs = strings.Count(content, " refs/")
		case inside == "objects/info/alternates":
			s.alternates = strings.Count(content, "\n")
		}
	}
	return s
}

// refs lists the refs below prefix, the annotated tags with a caret.
func refs(t *testing.T, dir, prefix string) string {
	t.Helper()
	var names []string
	for line := range strings.Lines(git(t, dir, "for-each-ref", "--format=%(refname) %(objecttype)", prefix)) {
		name, objectType, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, prefix)), " ")
		if objectType == "tag" {
			name += "^"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func isID(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// git returns what git prints; a word of warning fails the test.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := command(dir, "git", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = gittest.Env()
	return cmd
}

package unpack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestEqualsTar compares what is on the disk with what tar makes of git's archives
// of random trees: in a new folder, and over the tree before, without what is no
// more.
func TestEqualsTar(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(3, 4))
	repo := gittest.New(t)
	for range gittest.Volume(4, 60) {
		p := newPlace(t)
		var before []gittest.File
		for range 2 {
			tree := randomTree(r, 1+r.IntN(150))
			p.remove(t, func(string) bool { return true }, gone(before, tree)...)
			commit := repo.Commit("main", tree...)
			git := repo.Archive("--format=tar", commit)
			wanted := t.TempDir()
			untar(t, wanted, git)
			packed := [][]byte{git, gzipped(t, git), zstandard(t, git)}[r.IntN(3)]
			report, err := p.unpack(t, packed)
			if err != nil {
				t.Fatal(err)
			}
			if report.Comment != commit {
				t.Errorf("the comment is %q", report.Comment)
			}
			p.has(t, listing(t, wanted, "")...)
			before = tree
		}
	}
}

// gone are the paths of files and links that are not in the other tree.
func gone(before, after []gittest.File) (paths []string) {
	stays := map[string]bool{}
	for _, f := range after {
		stays[f.Path] = true
	}
	for _, f := range before {
		if !stays[f.Path] {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func untar(t testing.TB, dir string, archive []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "tar", "xf", "-", "-C", dir)
	cmd.Stdin = bytes.NewReader(archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

var oddNames = []string{
	"a", "b", "A", "README.md", "-rf", "new\nline", "tab\t", "\xff\xfe", "é", "e\u0301", "日本", " ", "a b", "*",
	"x\x1b[31m", ".gitignore", ".env", strings.Repeat("long", 50), "aux.c", `back\slash`, "co:lon", "...",
}

// randomTree has files, empty ones too, that are executable or not, links that stay
// inside, and folders, some of them deep.
func randomTree(r *rand.Rand, count int) []gittest.File {
	folders, taken := []string{""}, map[string]bool{}
	var files []gittest.File
	for len(files) < count {
		name := oddNames[r.IntN(len(oddNames))]
		if r.IntN(2) == 0 {
			name = fmt.Sprint(name, r.IntN(50))
		}
		at := path.Join(folders[r.IntN(len(folders))], name)
		if taken[at] || strings.Count(at, "/") > 20 || len(at) > 3000 {
			continue
		}
		taken[at] = true
		switch r.IntN(6) {
		case 0, 1:
			folders = append(folders, at)
		case 2:
			target := strings.Repeat("../", r.IntN(strings.Count(at, "/")+1)) + oddNames[r.IntN(len(oddNames))]
			files = append(files, gittest.Symlink(at, target))
		case 3:
			files = append(files, gittest.Executable(at, gittest.Text(r, r.IntN(40))))
		default:
			files = append(files, gittest.Regular(at, randomContent(r)))
		}
	}
	return files
}

func randomContent(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return ""
	case 1:
		return gittest.Noise(smallFile + r.IntN(3) - 1)
	case 2:
		return gittest.Noise(r.IntN(4 * smallFile))
	}
	return gittest.Text(r, r.IntN(200))
}

package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// bringIndex gives a checkout the index of the head, as a client of objects=converted has to: here the one of the same
// delta with all objects.
func bringIndex(t *testing.T, checkout, repo *gittest.Repo, head string, options archive.Options) {
	t.Helper()
	options.Objects = archive.ObjectsAll
	tr := tar.NewReader(bytes.NewReader(write(t, checkoutPlan(t, repo, head, options))))
	for {
		header, err := tr.Next()
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == ".git/index" {
			break
		}
	}
	content, err := io.ReadAll(tr)
	if err == nil {
		err = os.WriteFile(filepath.Join(checkout.Dir, ".git", "index"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bring brings an extracted checkout from the base of a delta to its head, with the tar command.
func bring(t *testing.T, checkout *gittest.Repo, delta []byte) {
	t.Helper()
	tr := tar.NewReader(bytes.NewReader(delta))
	header, err := tr.Next()
	for err == nil && header.Name != ".repomcp/manifest.json" {
		header, err = tr.Next()
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(tr)
	if err != nil {
		t.Fatal(err)
	}
	d := readDelta(t, string(content))
	for _, path := range slices.Concat(d.Deleted, d.TypeChanged) {
		if err := os.RemoveAll(filepath.Join(checkout.Dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	extractTo(t, checkout.Dir, delta)
	if err := os.RemoveAll(filepath.Join(checkout.Dir, ".repomcp")); err != nil {
		t.Fatal(err)
	}
}

// namesOf are those of an archive's members.
func namesOf(t *testing.T, archived []byte) (names []string) {
	t.Helper()
	for tr := tar.NewReader(bytes.NewReader(archived)); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

// A delta turns the checkout of one commit into that of another, which git finds clean without
// reading a file, also those that did not change.
func TestDeltasOfCheckoutsAreClones(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	all := corpora()
	names := slices.Sorted(maps.Keys(all))
	compared, whole := 0, 0
	for i, name := range names {
		if i%gittest.Volume(3, 1) != 0 {
			continue
		}
		repo := gittest.New(t)
		repo.Git("config", "uploadpack.allowFilter", "true")
		repo.Git("config", "uploadpack.allowAnySHA1InWant", "true")
		other := names[(i+7)%len(names)]
		base := repo.Commit("main", with(all[other]...)...)
		isParent := i%2 == 0
		if !isParent {
			repo.Commit("main", gittest.Regular("between", "1"))
		}
		head := repo.Commit("main", with(all[name]...)...)
		options := archive.Options{Objects: archive.Objects(archive.Choices("objects")[i/3%3]), Ref: "HEAD:refs/heads/main"}
		what := fmt.Sprintf("%s of %q to %q, parent: %t", options.Objects, other, name, isParent)
		checkout := extract(t, write(t, checkoutPlan(t, repo, base, options)))
		if options.Objects == archive.ObjectsConverted {
			packFiles(t, checkout)
		}
		options.Base = base
		p, err := tryCheckout(t, repo, head, options)
		if needed := (*archive.FullNeededError)(nil); errors.As(err, &needed) {
			whole++
			continue
		} else if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		delta := write(t, p)
		bring(t, checkout, delta)
		if options.Objects == archive.ObjectsConverted {
			bringIndex(t, checkout, repo, head, options)
			packFiles(t, checkout)
		}
		compareDelta(t, what, checkout, clone(t, repo, "--depth=1"), base, isParent)
		compareRanges(t, what, p, delta)
		compared++
	}
	if compared+whole < len(names)/gittest.Volume(3, 1) || compared < 4*whole || compared < 15 {
		t.Errorf("compared %d deltas; %d would be larger than the whole", compared, whole)
	}
}

// compareDelta is compareClone for a checkout that a delta has brought to another commit: it still
// has the objects of the base, and the base's history where that leads to the commit.
func compareDelta(t *testing.T, what string, checkout, cloned *gittest.Repo, base string, isParent bool) {
	t.Helper()
	cut := checkout.Git("rev-parse", "HEAD")
	if isParent {
		if got := checkout.Git("rev-parse", "HEAD^"); got != base {
			t.Errorf("%s: the parent is %s, want the base %s", what, got, base)
		}
		// The clone has one commit less.
		cut = base
		cloned.Git("fetch", "-q", "--deepen=1")
	}
	if shallow := cutOf(checkout); !slices.Contains(shallow, cut) {
		t.Errorf("%s: %q are cut, want %s", what, shallow, cut)
	}
	compareClone(t, what, checkout, exampleOf(t, cloned))
}

// A delta from its own commit has neither objects nor an index, and harms nothing.
func TestDeltasOfNothing(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	head := repo.Commit("main", varied()...)
	checkout := extract(t, write(t, checkoutPlan(t, repo, "main", archive.Options{})))
	delta := write(t, checkoutPlan(t, repo, "main", archive.Options{Base: head}))
	names := namesOf(t, delta)
	if !slices.Contains(names, ".git/HEAD") {
		t.Errorf("the members are %q, want .git/HEAD among them", names)
	}
	for _, name := range names {
		if path.Ext(name) == ".pack" || name == ".git/index" {
			t.Errorf("it has %s, want no such file", name)
		}
	}
	bring(t, checkout, delta)
	compareClone(t, "nothing", checkout, exampleOf(t, clone(t, repo, "--depth=1")))
}

// A delta has what changed, and files that did not change keep their time.
func TestDeltasOfCheckoutsAreSmall(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	var files []gittest.File
	for i := range 300 {
		files = append(files, gittest.Regular(fmt.Sprintf("d%d/f%d", i%20, i), gittest.Noise(500+i)))
	}
	base := repo.Commit("main", files...)
	files[7] = gittest.Regular(files[7].Path, "changed")
	files[8].Path = "renamed"
	repo.Commit("main", files...)
	delta := write(t, checkoutPlan(t, repo, "main", archive.Options{Base: base}))
	var packed int64
	for tr := tar.NewReader(bytes.NewReader(delta)); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(header.Name, ".idx") {
			packed = (header.Size - 8 - 4*256 - 40) / 28
		}
	}
	// The commit, three folders and one file; the renamed file is in the base.
	if packed != 5 {
		t.Errorf("the pack has %d objects, want 5", packed)
	}
	want := []string{"pax_global_header", ".repomcp/manifest.json", "d7/", "d7/f7", "renamed", ".git/"}
	if names := namesOf(t, delta); !slices.Equal(names[:len(want)], want) {
		t.Errorf("the first members are %q, want %q", names[:len(want)], want)
	}
}

// A delta with a history brings the objects of each commit that the base does not have: of folders that are moved,
// of contents that come and go, and of branches that are older than the base.
func TestDeltasBringTheHistory(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	file := func(path string) gittest.File { return gittest.Regular(path, path+gittest.Noise(300)) }
	repo.Commit("main", file("a/b/1"), file("a/b/2"), file("c/3"), file("4"))
	repo.Git("branch", "side")
	base := repo.Commit("main", file("a/b/1"), file("a/b/2"), file("c/3"), file("5"))
	repo.Commit("side", file("a/b/1"), file("side/a/b/2"), file("c/3"), file("4"))
	repo.Commit("main", file("moved/a/b/1"), file("moved/a/b/2"), file("c/a/b/1"), file("5"))
	repo.Commit("main", file("a/b/1"), file("a/b/2"), file("c/3"), file("5"), file("6"))
	merged := repo.Git("commit-tree", "-p", "main", "-p", "side", "-m", "merge", "side^{tree}")
	repo.Git("update-ref", "refs/heads/main", merged)
	repo.Commit("main", file("c/3"), file("side/a/b/1"), file("1"))
	const depth = "20"
	for _, objects := range archive.Choices("objects") {
		options := archive.Options{Depth: depth, Objects: archive.Objects(objects), Ref: "HEAD:refs/heads/main"}
		if objects == string(archive.ObjectsBlobless) {
			options.Origin = "https://git.example/a"
		}
		checkout := extract(t, write(t, checkoutPlan(t, repo, base, options)))
		if objects == string(archive.ObjectsConverted) {
			packFiles(t, checkout)
		}
		options.Base = base
		bring(t, checkout, write(t, checkoutPlan(t, repo, "main", options)))
		if objects == string(archive.ObjectsConverted) {
			bringIndex(t, checkout, repo, "main", options)
			packFiles(t, checkout)
		}
		if got, want := ask(t, checkout, "rev-list", "HEAD"), ask(t, repo, "rev-list", "main"); got != want {
			t.Errorf("%s: the commits are %s, want %s", objects, got, want)
		}
		list := []string{"rev-list", "--objects", "--no-object-names", "--missing=print", "HEAD"}
		if objects == string(archive.ObjectsBlobless) {
			list = append(list, "--filter=blob:none")
		}
		if got := ask(t, checkout, list...); strings.Contains(got, "?") {
			t.Errorf("%s: objects are missing: %s", objects, got)
		}
		if out := ask(t, checkout, "status", "--porcelain"); out != "" {
			t.Errorf("%s: git says %s", objects, out)
		}
	}
}

// Patches are of files in the working tree; the pack has the whole content, or the client makes it.
func TestPatchesOfCheckouts(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	long := gittest.Noise(40_000)
	base := repo.Commit("main", with(gittest.Regular("a", long), gittest.Regular("b", "1"))...)
	repo.Commit("main", with(gittest.Regular("a", long+"changed"), gittest.Regular("b", "2"))...)
	for objects, want := range map[archive.Objects]bool{archive.ObjectsAll: true, archive.ObjectsConverted: false} {
		options := archive.Options{Base: base, Delta: archive.DeltaPatch, Objects: objects}
		delta := write(t, checkoutPlan(t, repo, "main", options))
		patched := 0
		for tr := tar.NewReader(bytes.NewReader(delta)); ; {
			header, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.PAXRecords["REPOMCP.patch"] != "" {
				patched++
			}
		}
		if patched != 1 {
			t.Errorf("%s: %d files are patched, want 1", objects, patched)
		}
		checkout := extract(t, write(t, checkoutPlan(t, repo, base, archive.Options{})))
		bring(t, checkout, delta)
		err := os.WriteFile(filepath.Join(checkout.Dir, "a"), []byte(long+"changed"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if has := ask(t, checkout, "cat-file", "-t", "HEAD:a") == "blob\n"; has != want {
			t.Errorf("%s: the pack has the patched file: %t, want %t", objects, has, want)
		}
		if objects == archive.ObjectsConverted {
			bringIndex(t, checkout, repo, "main", options)
		}
		packFiles(t, checkout)
		if out := ask(t, checkout, "status", "--porcelain") + ask(t, checkout, "fsck", "--strict", "--no-dangling"); out != "" {
			t.Errorf("%s: git says %s", objects, out)
		}
	}
}

package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// member is what counts of a zip's entry.
type member struct {
	name, content  string
	creator, flags uint16
	attributes     uint32
	time           int64
}

func unzip(t *testing.T, content []byte) (members []member, comment string) {
	t.Helper()
	zr, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range zr.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		inside, err := io.ReadAll(r) // compares the checksum
		if err != nil {
			t.Fatal(err)
		}
		// Bit 3 says where the sizes are.
		members = append(members, member{f.Name, string(inside), f.CreatorVersion, f.Flags &^ 8, f.ExternalAttrs,
			f.Modified.Unix()})
	}
	return members, zr.Comment
}

// TestOldModesAreWhatGitTakesThemFor has the modes of the first commits of
// git.git, and others that only an attacker stores.
func TestOldModesAreWhatGitTakesThemFor(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	blob := repo.Store("blob", "content")
	folder := rawTree(t, repo, [3]string{"100664", blob, "inside"})
	var entries [][3]string
	for _, mode := range []string{"100664", "100600", "100777", "100555", "100775", "100640", "100444", "100000",
		"100644", "100755", "120777", "120644", "120000"} {
		entries = append(entries, [3]string{mode, blob, mode})
	}
	for _, mode := range []string{"40755", "40000", "040000"} {
		entries = append(entries, [3]string{mode, folder, "folder-" + mode})
	}
	entries = append(entries, [3]string{"160755", strings.Repeat("1", 40), "sub"})
	slices.SortFunc(entries, func(a, b [3]string) int { return strings.Compare(a[2], b[2]) })
	tree := rawTree(t, repo, entries...)
	repo.SetRef("refs/heads/main", repo.Git("commit-tree", "-m", "old", tree))

	got, _ := unzip(t, write(t, plan(t, repo, "main", archive.Options{Format: archive.Zip})))
	want, _ := unzip(t, repo.Archive("--format=zip", "main"))
	if !slices.Equal(got, want) || len(got) < len(entries) {
		t.Errorf("zip: %d entries %v, want %d %v", len(got), got, len(want), want)
	}
	if !bytes.Equal(write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar})),
		repo.Archive("--format=tar", "main")) {
		t.Error("tar: other bytes")
	}
	var manifest struct{ Entries []struct{ Path, Mode string } }
	if err := json.Unmarshal(write(t, plan(t, repo, "main", archive.Options{Format: archive.Manifest})),
		&manifest); err != nil {
		t.Fatal(err)
	}
	modes := make(map[string]string)
	for _, e := range manifest.Entries {
		modes[strings.TrimSuffix(e.Path, "/")] = e.Mode
	}
	root, err := open(t, repo).snapshot.Tree(parseID(t, tree))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, line := range strings.Split(repo.Git("ls-tree", tree), "\n") {
		mode, name := line[:6], line[strings.IndexByte(line, '\t')+1:]
		if modes[name] != mode || root[i].Name != name || root[i].Mode.String() != mode {
			t.Errorf("%s: manifest %s, tree %v, git %s", name, modes[name], root[i], mode)
		}
		compared++
	}
	if compared != len(entries) {
		t.Errorf("compared %d of %d", compared, len(entries))
	}
}

func parseID(t *testing.T, s string) git.ID {
	t.Helper()
	id, err := git.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestZipHasTheEntriesOfGitArchive(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	all := attributed()
	for name, files := range trees() {
		all[name] = files
	}
	all["sizes around bounds"] = sizes()
	compared := 0
	for name, files := range all {
		repo := gittest.New(t)
		commit := repo.Commit("main", files...)
		for _, prefix := range []string{"p/q/", ""}[:gittest.Volume(1, 2)] {
			p := plan(t, repo, "main", archive.Options{Format: archive.Zip, Prefix: prefix})
			whole := write(t, p)
			got, comment := unzip(t, whole)
			want, wantComment := unzip(t, repo.Archive("--format=zip", "--prefix="+prefix, commit))
			if comment != wantComment || len(got) != len(want) {
				t.Errorf("%s: %d entries and comment %q, want %d and %q", name, len(got), comment, len(want),
					wantComment)
				continue
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%s: entry %.200q, want %.200q", name, got[i].name, want[i].name)
				}
				compared++
			}
			compareRanges(t, name+" as zip", p, whole)
		}
	}
	if compared < gittest.Volume(1000, 2000) {
		t.Errorf("compared %d entries", compared)
	}
}

package archive_test

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
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
		members = append(members, member{f.Name, string(inside), f.CreatorVersion, f.Flags &^ 8, f.ExternalAttrs, f.Modified.Unix()})
	}
	return members, zr.Comment
}

func TestZipHasTheEntriesOfGitArchive(t *testing.T) {
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
				t.Errorf("%s: %d entries and comment %q, want %d and %q", name, len(got), comment, len(want), wantComment)
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

package httpx_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestSignaturesComeFromNotes(t *testing.T) {
	t.Parallel()
	var tagged, plain string
	s := newTarget(t, targetOptions{build: func(root string) {
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		tagged = repo.Commit("main", gittest.Regular("a", "1"))
		repo.Git("tag", "-a", "-m", "one", "v1.0", tagged)
		plain = repo.Commit("main", gittest.Regular("a", "2"))
		repo.Git("notes", "--ref=signatures/tar", "add", "-m", "of the tag", "v1.0")
		repo.Git("notes", "--ref=signatures/tar.gz", "add", "-m", "of the commit", plain)
	}})
	for path, want := range map[string]string{
		"v1.0.tar.asc": "of the tag\n", "refs/tags/v1.0.tar.asc": "of the tag\n", tagged + ".tar.asc": "",
		"v1.0.tar.gz.asc": "", "v1.0.zip.asc": "",
		"main.tar.gz.asc": "of the commit\n", plain + ".tgz.asc": "of the commit\n", "main.tar.asc": "",
		"nothing.tar.asc": "",
	} {
		status := http.StatusOK
		if want == "" {
			status = http.StatusNotFound
		}
		a := s.get(t, "/archive/repo/"+path)
		if a.status != status || want != "" &&
			(string(a.body) != want || a.header.Get("Content-Type") != "application/pgp-signature") {
			t.Errorf("%s: %v, want %q", path, a, want)
		}
	}
}

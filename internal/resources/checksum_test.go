package resources

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// lineOf is what the program sha256sum writes for a file.
func lineOf(content []byte, name string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name)
}

// TestChecksumsAreThoseOfTheBytes asks for checksums before and after the archives.
func TestChecksumsAreThoseOfTheBytes(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("feature/x", gittest.Regular("a", "old"))
	files := []gittest.File{gittest.Regular("README.md", "x"), gittest.Regular("noise", gittest.Noise(50_000))}
	repo.Commit("main", files...)
	repo.Git("tag", "v1.0", "main")
	commit := repo.Commit("main", append(files, gittest.Regular("new", "y"))...)
	repo.SetRef("refs/heads/100%", commit)
	s := newService(t, root, Options{})
	for i, file := range []string{
		"main.tar", "main.tar.gz", "main.tgz", "main.tar.zst", "main.tar.xz", "main.zip", "main.manifest.json",
		"feature/x.tar.gz", commit + ".tar.gz", "100%25.zip", "HEAD~0.tar", "main.tar.gz?prefix=a/&path=README.md",
		"main.tar.zst?base=v1.0", "main.tar?profile=full",
	} {
		name, query, _ := strings.Cut("/archive/repo/"+file, "?")
		if query != "" {
			query = "?" + query
		}
		archive, sum := mustDownload(t, s, name+query), mustDownload(t, s, name+".sha256"+query)
		var whole, said []byte
		if i%2 == 0 { // an unknown checksum has to be made
			said, whole = contentOf(t, sum), contentOf(t, archive)
		} else {
			whole, said = contentOf(t, archive), contentOf(t, sum)
		}
		if want := lineOf(whole, archive.FileName); string(said) != want || sum.Size != int64(len(want)) {
			t.Errorf("%s: %q, announced with %d bytes, want %q", file, said, sum.Size, want)
		}
		if sum.MIMEType != mimeText || sum.ETag == archive.ETag || sum.ETag == "" || sum.Immutable != archive.Immutable ||
			sum.Weak || sum.FileName != archive.FileName+".sha256" {
			t.Errorf("the checksum of %+v is %+v", archive, sum)
		}
		if part, err := bytesOf(t, sum, Want{Range: newRange(64, 2)}); err != nil || string(part) != "  " {
			t.Errorf("a part of the checksum of %s: %q, %v", file, part, err)
		}
		if byURI := contentOf(t, mustFind(t, s, sum.URI)); !strings.HasPrefix(string(byURI), string(said[:64])) {
			t.Errorf("%s: %q, want that of %q", sum.URI, byURI, said)
		}
		if i == 0 {
			checkWithProgram(t, archive.FileName, whole, said)
		}
	}
	for file, want := range map[string]Reason{
		"none.tar.sha256": ReasonNotFound, "main.sha256": ReasonNotFound, "main.tar.asc.sha256": ReasonNotFound,
		"main.tar.sha256.asc": ReasonNotFound, "main.tar.sha256?level=9": ReasonURI,
	} {
		if _, failure := download(t, s, "/archive/repo/"+file); failure == nil || failure.Reason != want {
			t.Errorf("%s: %v, want %s", file, failure, want)
		}
	}
}

// checkWithProgram has sha256sum check a saved file, and one that was cut short.
func checkWithProgram(t *testing.T, name string, whole, checksum []byte) {
	t.Helper()
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Log("sha256sum is not installed: not tried")
		return
	}
	for passes, content := range map[bool][]byte{true: whole, false: whole[:len(whole)-1]} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.CommandContext(t.Context(), "sha256sum", "-c")
		check.Dir, check.Stdin, check.Env = dir, bytes.NewReader(checksum), append(os.Environ(), "LC_ALL=C")
		if said, err := check.CombinedOutput(); (err == nil) != passes {
			t.Errorf("sha256sum says %s, %v, of %d bytes of %d", said, err, len(content), len(whole))
		}
	}
}

// The digest of an archive that depends on refs is that of the moment.
func TestWeakArchivesTellTheirDigest(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", "$Format:%d$\n"), gittest.Regular(".gitattributes", "a export-subst\n"))
	s := newService(t, root, Options{})
	found := mustFind(t, s, "repo://repo/archive/main.tar.gz")
	whole := contentOf(t, found)
	sum := sha256.Sum256(whole)
	body, err := found.Open(t.Context(), Want{Method: Head, Digest: true})
	if err != nil || !bytes.Equal(body.Digest, sum[:]) || !found.Weak {
		t.Errorf("a look with the digest: %x, %v, weak %t, want %x", body.Digest, err, found.Weak, sum)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	checksum := mustFind(t, s, "repo://repo/archive/main.tar.gz.sha256")
	if got, want := string(contentOf(t, checksum)), lineOf(whole, "repo-main.tar.gz"); got != want || !checksum.Weak {
		t.Errorf("the checksum is %q, weak %t, want %q", got, checksum.Weak, want)
	}
}

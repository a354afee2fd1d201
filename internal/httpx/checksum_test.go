package httpx_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// checksum is what the program sha256sum writes of a content.
func checksum(content []byte, name string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name)
}

// TestChecksumsAreThoseOfTheBytes compares them with what sha256sum says of the
// archives, asked for before and after these.
func TestChecksumsAreThoseOfTheBytes(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	compared := 0
	for i, path := range []string{
		"main.tar", "main.tar.gz", "main.tgz", "main.tar.zst", "main.tar.xz", "main.zip", "main.manifest.json",
		"feature/x.tar.gz", s.commit + ".tar.gz", "100%25.zip", "HEAD~0.tar", "main.tar.gz?prefix=a/&path=README.md",
		"main.tar.zst?base=v1.0", "main.tar?profile=full",
	} {
		name, query, _ := strings.Cut("/archive/team/app/"+path, "?")
		if query != "" {
			query = "?" + query
		}
		sum, archive := name+".sha256"+query, name+query
		var said, whole answer
		if i%2 == 0 { // what is not known yet has to be made
			said, whole = s.get(t, sum), s.get(t, archive)
		} else {
			whole, said = s.get(t, archive), s.get(t, sum)
		}
		if whole.status != http.StatusOK || said.status != http.StatusOK {
			t.Errorf("%s: %v, %v", path, whole, said)
			continue
		}
		_, parameters, err := mime.ParseMediaType(whole.header.Get("Content-Disposition"))
		if err != nil {
			t.Fatal(err)
		}
		if want := checksum(whole.body, parameters["filename"]); string(said.body) != want {
			t.Errorf("%s: %q, want %q", sum, said.body, want)
		}
		if said.header.Get("Content-Type") != "text/plain; charset=utf-8" ||
			said.header.Get("Etag") == whole.header.Get("Etag") || said.header.Get("Etag") == "" ||
			said.header.Get("Cache-Control") != whole.header.Get("Cache-Control") {
			t.Errorf("%s has the headers %v", sum, said.header)
		}
		if a := s.get(t, sum, "If-None-Match: "+said.header.Get("Etag")); a.status != http.StatusNotModified {
			t.Errorf("%s again: %v", sum, a)
		}
		if a := s.get(t, sum, "Range: bytes=64-65"); a.status != http.StatusPartialContent || string(a.body) != "  " {
			t.Errorf("a part of %s: %v", sum, a)
		}
		compared++
	}
	if compared < 14 {
		t.Errorf("only %d checksums were compared", compared)
	}
	read := s.do(t, s.call(modernVersion, methodRead, map[string]any{"uri": "repo://team/app/archive/main.zip.sha256"}))
	if want := strings.TrimSpace(string(s.get(t, "/archive/team/app/main.zip.sha256").body)); !strings.Contains(
		string(read.body), want) {
		t.Errorf("over MCP it is %s, want %s", read.body, want)
	}
	for path, status := range map[string]int{
		"none.tar.sha256": http.StatusNotFound, "main.sha256": http.StatusNotFound,
		"main.tar.asc.sha256": http.StatusNotFound, "main.tar.sha256.asc": http.StatusNotFound,
		"main.tar.sha256?level=9": http.StatusBadRequest,
	} {
		if a := s.get(t, "/archive/team/app/"+path); a.status != status {
			t.Errorf("%s: %v", path, a)
		}
	}
}

// The file that a browser saves passes the check of sha256sum, and not when it is cut.
func TestSha256sumChecksADownload(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("there is no sha256sum")
	}
	s := mirrors(t, targetOptions{})
	sum, whole := s.get(t, "/archive/team/app/main.tar.gz.sha256"), s.get(t, "/archive/team/app/main.tar.gz")
	for content, passes := range map[string]bool{string(whole.body): true, string(whole.body[:9999]): false} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "app-main.tar.gz"), content)
		check := exec.CommandContext(t.Context(), "sha256sum", "-c")
		check.Dir, check.Stdin, check.Env = dir, strings.NewReader(string(sum.body)), append(os.Environ(), "LC_ALL=C")
		if said, err := check.CombinedOutput(); (err == nil) != passes {
			t.Errorf("of %d bytes sha256sum says %s, %v", len(content), said, err)
		}
	}
}

// HEAD makes nothing unless it is asked for the digest; then the archive is made once,
// and the GET that follows has its length.
func TestHeadTellsTheDigestOnDemand(t *testing.T) {
	t.Parallel()
	s := mirrors(t, targetOptions{})
	const path = "/archive/team/app/main.tar.gz"
	plain := s.fetch(t, http.MethodHead, path)
	if plain.header.Get("Content-Length")+plain.header.Get("Repr-Digest") != "" {
		t.Errorf("HEAD has made the archive: %v", plain.header)
	}
	if a := s.fetch(t, http.MethodHead, path, "Want-Repr-Digest: sha-256=10", `If-Match: "x"`); a.status !=
		http.StatusPreconditionFailed {
		t.Errorf("HEAD of another content: %v", a)
	}
	asked := s.fetch(t, http.MethodHead, path, "Want-Repr-Digest: sha-256=10", "If-Match: "+plain.header.Get("Etag"))
	whole := s.get(t, path)
	sum := sha256.Sum256(whole.body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	for what, header := range map[string]http.Header{"HEAD": asked.header, "GET": whole.header} {
		if header.Get("Repr-Digest") != digest || header.Get("Content-Length") != strconv.Itoa(len(whole.body)) {
			t.Errorf("%s has the headers %v, want %s and a length of %d", what, header, digest, len(whole.body))
		}
	}
	sumOnly := s.fetch(t, http.MethodHead, "/archive/team/app/main.zip.sha256")
	if sumOnly.header.Get("Content-Length") != strconv.Itoa(len(checksum(nil, "app-main.zip"))) {
		t.Errorf("HEAD of a checksum: %v", sumOnly.header)
	}
	if a := s.fetch(t, http.MethodHead, "/archive/team/app/main.zip"); a.header.Get("Repr-Digest") != "" {
		t.Errorf("HEAD of a checksum has made the archive: %v", a.header)
	}
}

// What depends on refs has a digest of the moment.
func TestWeakArchivesTellTheirDigest(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{build: func(root string) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("a", "$Format:%d$\n"),
			gittest.Regular(".gitattributes", "a export-subst\n"))
	}})
	const path = "/archive/repo/main.tar.gz"
	whole := s.get(t, path)
	sum := sha256.Sum256(whole.body)
	head := s.fetch(t, http.MethodHead, path, "Want-Repr-Digest: sha-256=10")
	if !strings.HasPrefix(whole.header.Get("Etag"), "W/") ||
		head.header.Get("Repr-Digest") != "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":" {
		t.Errorf("HEAD: %v, GET: %v", head.header, whole.header)
	}
	said := s.get(t, path+".sha256")
	if string(said.body) != checksum(whole.body, "repo-main.tar.gz") || !strings.HasPrefix(said.header.Get("Etag"), "W/") {
		t.Errorf("the checksum: %v %s", said.header, said.body)
	}
}

// An archive that has to be made for a digest or a checksum needs room, as any other.
func TestDigestsNeedRoom(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{Limits: occupied(t, "127.0.0.1")}})
	for _, asked := range [][]string{
		{http.MethodHead, "/archive/hello/main.tar.gz", "Want-Repr-Digest: sha-256=10"},
		{http.MethodGet, "/archive/hello/main.tar.gz.sha256"},
	} {
		if a := s.fetch(t, asked[0], asked[1], asked[2:]...); a.status != http.StatusTooManyRequests ||
			a.header.Get("Retry-After") == "" {
			t.Errorf("%q: %v", asked, a)
		}
	}
	if a := s.fetch(t, http.MethodHead, "/archive/hello/main.tar.gz"); a.status != http.StatusOK {
		t.Errorf("HEAD, for which nothing is made: %v", a)
	}
}

// Damage is told of, in place of a checksum.
func TestChecksumsOfDamagedMirrorsAreRefused(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{build: func(root string) {
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Commit("main", gittest.Regular("a", "1"), gittest.Regular("b", "2"))
		id := strings.TrimSpace(repo.Git("rev-parse", "main:b"))
		if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}})
	for _, header := range [][]string{nil, {"Range: bytes=0-9"}} {
		a := s.get(t, "/archive/repo/main.tar.gz.sha256", header...)
		if a.status != http.StatusInternalServerError || a.err != nil {
			t.Errorf("%q: %v %s", header, a, a.body)
		}
	}
}

package httpx_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"testing"
)

// checksum is what the program sha256sum writes of a content.
func checksum(content []byte, name string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name)
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

package httpx_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// No typed client can call resources/stream, but each can fetch a URL.
func TestReadLinksToWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	large := gittest.Noise(5 << 20)
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t), build: func(root string) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("large", large))
	}})
	for _, version := range eras {
		for _, uri := range []string{"repo://repo/contents/large", "repo://repo/archive/main.tar.gz"} {
			a := s.do(t, s.call(version, methodRead, map[string]any{"uri": uri}))
			url, _ := a.data["httpUrl"].(string)
			expires, _ := a.data["httpUrlExpiresAt"].(string)
			if a.code != -32004 || a.data["suggestion"] != methodStream || a.data["uri"] != uri || expires == "" ||
				!strings.HasPrefix(url, s.url) {
				t.Fatalf("%s in %s: %v", uri, version, a)
			}
			if got := s.get(t, strings.TrimPrefix(url, s.url)); got.status != http.StatusOK ||
				len(got.body) < len(large) {
				t.Errorf("%s in %s: the link gives %d bytes, %d", uri, version, len(got.body), got.status)
			}
		}
	}
}

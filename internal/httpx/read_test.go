package httpx_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestReadNamesStreamForWhatIsTooLarge(t *testing.T) {
	s := serve(t)
	s.repo("repo").Commit("main", gittest.Regular("large", gittest.Noise(5<<20)), gittest.Regular("small", "x"))
	for uri, want := range map[string]string{
		"repo://repo/contents/large":           `"size":5242880`,
		"repo://repo/archive/main.tar.gz":      `"limit":4194304`,
		"repo://repo/archive/HEAD.tar":         `"limit":4194304`,
		"repo://repo/refs/heads/main/contents": "",
	} {
		response := s.modern("resources/read", map[string]any{"uri": uri})
		reply := text(t, response)
		failed := strings.Contains(reply, `"code":-32004`) &&
			strings.Contains(reply, `"suggestion":"resources/stream"`) && strings.Contains(reply, want)
		if failed != (want != "") {
			t.Errorf("%s: %s", uri, describe(response, reply))
		}
	}
}

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

func TestListIsPagedAndFollowsTheFolder(t *testing.T) {
	s := serve(t)
	const count = 120
	for i := range count {
		gittest.At(t, filepath.Join(s.root, fmt.Sprintf("group/r%03d.git", i)))
	}
	s.repo("zzz").Commit("main", gittest.Regular("a", "1"))
	var uris []string
	pages, cursor := 0, ""
	for more := true; more; more = cursor != "" {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var reply struct {
			Result struct {
				Resources []struct {
					URI string `json:"uri"`
				} `json:"resources"`
				NextCursor string `json:"nextCursor"`
			} `json:"result"`
		}
		response := s.modern("resources/list", params)
		if err := json.Unmarshal([]byte(text(t, response)), &reply); err != nil ||
			response.StatusCode != http.StatusOK {
			t.Fatal(response.Status, err)
		}
		for _, resource := range reply.Result.Resources {
			uris = append(uris, resource.URI)
		}
		cursor = reply.Result.NextCursor
		pages++
	}
	// The empty ones have a card, the last one an archive as well.
	if len(uris) != count+2 || pages != 3 {
		t.Fatalf("%d resources on %d pages, want %d on 3", len(uris), pages, count+2)
	}
	if uris[0] != "repo://group/r000" || uris[count] != "repo://zzz" ||
		uris[count+1] != "repo://zzz/archive/refs/heads/main.tar.gz" {
		t.Errorf("resources %s, %s, %s", uris[0], uris[count], uris[count+1])
	}
}

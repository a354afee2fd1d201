package mcp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestReadNamesStreamForWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{build: func(root string) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main",
			gittest.Regular("large", gittest.Noise(5<<20)), gittest.Regular("small", "x"))
	}})
	for uri, want := range map[string]string{
		"repo://repo/contents/large":           `"size":5242880`,
		"repo://repo/archive/main.tar.gz":      `"limit":4194304`,
		"repo://repo/archive/HEAD.tar":         `"limit":4194304`,
		"repo://repo/refs/heads/main/contents": "",
	} {
		a := s.do(t, s.call(modernVersion, MethodRead, map[string]any{"uri": uri}))
		failed := a.code == -32004 && a.data["suggestion"] == MethodStream && strings.Contains(string(a.body), want)
		if failed != (want != "") {
			t.Errorf("%s: %v, want %q", uri, a, want)
		}
	}
}

func TestListIsPagedAndFollowsTheFolder(t *testing.T) {
	t.Parallel()
	const count = 120
	s := newLocal(t, localOptions{build: func(root string) {
		for i := range count {
			gittest.At(t, filepath.Join(root, fmt.Sprintf("group/r%03d.git", i)))
		}
		gittest.At(t, filepath.Join(root, "zzz.git")).Commit("main", gittest.Regular("a", "1"))
	}})
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
		a := s.do(t, s.call(modernVersion, MethodList, params))
		if err := json.Unmarshal(a.body, &reply); err != nil || a.failed() {
			t.Fatal(a, err)
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

// The list of repositories has a notification of its own.
func TestTheListOfRepositoriesIsNotSubscribedTo(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{})
	a := s.do(t, s.call(sessionVersion, MethodSubscribe, map[string]any{"uri": "repo://"}))
	if !strings.Contains(string(a.body), "list_changed") {
		t.Errorf("subscribing to the list: %v, want an error that names list_changed", a)
	}
}

// A list may be reused no longer than the links in it are good for.
func TestListsOutliveNoLink(t *testing.T) {
	t.Parallel()
	for lifetime, want := range map[time.Duration]float64{0: 10_000, 5 * time.Second: 4_000, time.Second: 0} {
		linking := linked(t)
		linking.Lifetime = lifetime
		s := newLocal(t, localOptions{links: linking})
		var reply struct {
			Result map[string]any `json:"result"`
		}
		a := s.do(t, s.call(modernVersion, MethodList, nil))
		if err := json.Unmarshal(a.body, &reply); err != nil || reply.Result["ttlMs"] != want {
			t.Errorf("links of %v: ttlMs is %v, want %v, %v", lifetime, reply.Result["ttlMs"], want, err)
		}
		if !strings.Contains(string(a.body), `"httpUrl":"https://git.example.com/dl/`) {
			t.Errorf("links of %v: the list has none: %v", lifetime, a)
		}
	}
}

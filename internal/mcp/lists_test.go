package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/resources"
)

// fetch downloads by a link that a reply has.
func (s *local) fetch(t *testing.T, url any) []byte {
	t.Helper()
	text, _ := url.(string)
	linked, err := s.resources.FindLink(t.Context(), path.Base(text), links.Use{Method: http.MethodGet})
	if err != nil {
		t.Fatalf("the link %q: %v", text, err)
	}
	body, err := linked.Open(t.Context(), resources.Want{Method: resources.Get})
	if err != nil {
		t.Fatal(err)
	}
	content, err := body.ReadAll(t.Context())
	if err := errors.Join(err, body.Close(), linked.Close()); err != nil {
		t.Error(err)
	}
	return content
}

// resources/read refuses large content, and names resources/stream, which no typed client can call, and a link,
// which every client can fetch.
func TestReadNamesStreamForWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	large := gittest.Noise(5 << 20)
	s := newLocal(t, localOptions{links: linked(t), build: func(root string) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main",
			gittest.Regular("large", large), gittest.Regular("small", "x"))
	}})
	for uri, want := range map[string]string{
		"repo://repo/contents/large":           `"size":5242880`,
		"repo://repo/archive/main.tar.gz":      `"limit":4194304`,
		"repo://repo/archive/HEAD.tar":         `"limit":4194304`,
		"repo://repo/refs/heads/main/contents": "",
	} {
		for _, version := range eras {
			a := s.do(t, s.call(version, MethodRead, map[string]any{"uri": uri}))
			failed := a.code == -32004 && a.data["suggestion"] == MethodStream && a.data["uri"] == uri &&
				a.data["httpUrlExpiresAt"] != nil && strings.Contains(string(a.body), want)
			if failed != (want != "") {
				t.Errorf("%s in %s: %v, want %q", uri, version, a, want)
			}
			if want == "" {
				continue
			}
			if got := s.fetch(t, a.data["httpUrl"]); len(got) < len(large) ||
				strings.HasSuffix(uri, "large") && string(got) != large {
				t.Errorf("%s in %s: the link leads to %d bytes", uri, version, len(got))
			}
		}
	}
}

// listed is a resource of resources/list.
type listed struct {
	URI, HTTPURL, HTTPURLExpiresAt string
	Streamable                     bool
	Meta                           map[string]any `json:"_meta"`
}

func (s *local) list(t *testing.T, version string) []listed {
	t.Helper()
	var reply struct {
		Result struct{ Resources []listed }
	}
	a := s.do(t, s.call(version, MethodList, nil))
	if err := json.Unmarshal(a.body, &reply); err != nil || a.failed() {
		t.Fatal(a, err)
	}
	return reply.Result.Resources
}

func TestResourcesHaveHTTPURLs(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{links: linked(t)})
	for _, version := range eras {
		followed := 0
		for _, r := range s.list(t, version) {
			told := r.Meta["io.github.repomcp/httpUrl"] == r.HTTPURL &&
				r.Meta["io.github.repomcp/httpUrlExpiresAt"] == r.HTTPURLExpiresAt
			if r.Streamable != (r.HTTPURL != "") || r.HTTPURL != "" && !told {
				t.Errorf("%s: %+v", r.URI, r)
			}
			if r.HTTPURL == "" {
				continue
			}
			if _, err := time.Parse(time.RFC3339, r.HTTPURLExpiresAt); err != nil {
				t.Error(err)
			}
			want := s.do(t, s.call(version, MethodStream, map[string]any{"uri": r.URI}))
			for range 2 {
				if got := s.fetch(t, r.HTTPURL); !bytes.Equal(got, want.body) || len(got) == 0 {
					t.Errorf("%s: the link leads to %d bytes, want %d", r.URI, len(got), len(want.body))
				}
			}
			followed++
		}
		if followed < 3 {
			t.Errorf("%s: %d resources have an httpUrl", version, followed)
		}
	}
	for _, r := range newLocal(t, localOptions{}).list(t, modernVersion) {
		if r.HTTPURL != "" || r.Meta["io.github.repomcp/httpUrl"] != nil {
			t.Errorf("without a public URL: %+v", r)
		}
	}
}

// Lists are resources like others: they are read and streamed with the same bytes, and have a link.
func TestListsAreReadAndStreamed(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{links: linked(t)})
	for _, uri := range []string{"repo://", "repo://team/app/refs"} {
		for _, version := range eras {
			var reply struct {
				Result struct {
					Contents []struct {
						Text string
						Meta map[string]any `json:"_meta"`
					}
				}
			}
			read := s.do(t, s.call(version, MethodRead, map[string]any{"uri": uri}))
			if err := json.Unmarshal(read.body, &reply); err != nil || len(reply.Result.Contents) != 1 {
				t.Fatalf("%s: %v, %v", uri, read, err)
			}
			content := reply.Result.Contents[0]
			streamed := s.do(t, s.call(version, MethodStream, map[string]any{"uri": uri}))
			followed := s.fetch(t, content.Meta["io.github.repomcp/httpUrl"])
			if content.Text != string(streamed.body) || content.Text != string(followed) || !streamed.streamed {
				t.Errorf("%s in %s: read %q, streamed %v, linked %q", uri, version, content.Text, streamed, followed)
			}
		}
	}
}

// Named pipes in the place of files of some mirrors do not delay the list, which has the others.
func TestNamedPipesDoNotDelayTheList(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{build: func(root string) {
		for _, name := range []string{"packed-refs", "description", "shallow", "info/attributes", "HEAD"} {
			repo := gittest.At(t, filepath.Join(root, strings.ReplaceAll(name, "/", "-")+".git"))
			repo.Commit("main", gittest.Regular("a", "1"))
			pipe := filepath.Join(repo.Dir, name)
			_ = os.Remove(pipe) // not all exist
			if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o755), syscall.Mkfifo(pipe, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		gittest.At(t, filepath.Join(root, "sound.git")).Commit("main", gittest.Regular("a", "1"))
	}})
	const sound = "repo://sound/archive/refs/heads/main.tar.gz"
	if list := s.list(t, modernVersion); !slices.ContainsFunc(list, func(r listed) bool { return r.URI == sound }) {
		t.Errorf("%s is not in the list %+v", sound, list)
	}
	for uri, reason := range map[string]string{
		"repo://packed-refs/refs": "corrupt_repository", "repo://packed-refs/archive/main.tar": "corrupt_repository",
		"repo://info-attributes/archive/HEAD.tar": "corrupt_repository",
		"repo://description/archive/HEAD.tar":     "", "repo://sound/archive/HEAD.tar": "",
	} {
		if a := s.do(t, s.call(modernVersion, MethodStream, map[string]any{"uri": uri})); a.reason != reason {
			t.Errorf("%s: %v, want the reason %q", uri, a, reason)
		}
	}
}

func TestReadTellsOfUnknownEncodings(t *testing.T) {
	t.Parallel()
	s := newLocal(t, localOptions{build: func(root string) {
		gittest.At(t, filepath.Join(root, "old.git")).Commit("main", gittest.Regular("a", "\u4e2d"),
			gittest.Regular(".gitattributes", "a working-tree-encoding=EUC-TW\n"))
	}})
	a := s.do(t, s.call(modernVersion, MethodRead, map[string]any{"uri": "repo://old/archive/main.tar"}))
	if !strings.Contains(string(a.body), `/unknownEncodings":["EUC-TW"]`) {
		t.Errorf("%v, want the unknown encodings in _meta", a)
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

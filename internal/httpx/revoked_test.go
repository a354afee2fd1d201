package httpx_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	roomRules = `rules:
- groups: [room]
  repositories: ["room", "other"]
- principals: ["token:always"]
  repositories: ["**"]
`
	noRoomRules = `rules:
- groups: [room]
  repositories: ["other"]
- principals: ["token:always"]
  repositories: ["**"]
`
)

// room has a repository to which a right is withdrawn, and one beside it.
func room(t *testing.T) (w *walled, repo *gittest.Repo) {
	t.Helper()
	w = newWalled(t, roomRules, func(root string) {
		repo = gittest.At(t, filepath.Join(root, "room.git"))
		repo.Commit("main", gittest.Regular("a", "1"), gittest.Regular("b", gittest.Noise(10_000)))
		gittest.At(t, filepath.Join(root, "other.git")).Commit("main", gittest.Regular("a", "1"))
	})
	return w, repo
}

// events is the event stream of the visitor's session, which watches a resource.
func (v *visitor) events(t *testing.T, uri string) <-chan string {
	t.Helper()
	if a := v.message(sessionVersion, "resources/subscribe", map[string]any{"uri": uri}); !strings.Contains(string(a.body),
		`"result"`) {
		t.Fatal(a)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Accept": {"text/event-stream"}, "Mcp-Protocol-Version": {sessionVersion}, "Mcp-Session-Id": {v.session},
		headerPrincipal: {v.who()},
	}
	response, err := v.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() }) // ends the stream
	return events(response)
}

func TestASessionOfAnotherPrincipalTellsNothing(t *testing.T) {
	t.Parallel()
	w, repo := room(t)
	defer follow(t, w.subscriptions, w.catalogue)()
	member := w.as("token:member", "room")
	const uri = "repo://room/refs/heads/main"
	told := member.events(t, uri)
	thief := &visitor{walled: w, principal: access.Principal{ID: "token:thief"}, session: member.session}
	subscribe := []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"` + uri + `"}}`)
	for verb, body := range map[string][]byte{http.MethodGet: nil, http.MethodPost: subscribe} {
		if a := thief.ask(verb, "/mcp", http.Header{
			"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"},
			"Mcp-Protocol-Version": {sessionVersion}, "Mcp-Session-Id": {thief.session},
		}, body); a.status != http.StatusNotFound {
			t.Errorf("%s: %v", verb, a)
		}
	}
	repo.Commit("main", gittest.Regular("a", "2"))
	if event := <-told; !strings.Contains(event, uri) {
		t.Errorf("the member is told %s", event)
	}
}

func TestAWithdrawnRightEndsWhatIsKept(t *testing.T) {
	t.Parallel()
	w, _ := room(t)
	member, always := w.as("token:member", "room"), w.as("token:always")
	socket := member.connect()
	const read = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"repo://room/contents/a"}}`
	for _, v := range []*visitor{member, always} {
		if a := v.get("/archive/room/main.tar.gz"); a.status != http.StatusOK {
			t.Fatal(a)
		}
	}
	etag := member.get("/archive/room/main.tar.gz").header.Get("ETag")
	settle(t, w.cache, 1)
	if reply := socket.call(read); reply.Result == nil {
		t.Error(reply.raw)
	}
	w.reload(noRoomRules)
	for name, header := range map[string]http.Header{
		"kept archive": {}, "revalidation": {"If-None-Match": {etag}},
		"a part": {"Range": {"bytes=0-9"}, "If-Range": {etag}},
	} {
		for path, want := range map[string]int{"/archive/room/main.tar.gz": http.StatusNotFound,
			"/archive/other/main.tar.gz": http.StatusOK} {
			if a := member.ask(http.MethodGet, path, header, nil); a.status != want && want != http.StatusOK {
				t.Errorf("%s, %s: %v", name, path, a)
			}
		}
	}
	if reply := socket.call(read); reply.Result != nil {
		t.Errorf("an open connection still reads: %s", reply.raw)
	}
	if a := always.get("/archive/room/main.tar.gz"); a.status != http.StatusOK {
		t.Errorf("who keeps the right: %v", a)
	}
}

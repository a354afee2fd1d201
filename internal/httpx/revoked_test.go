package httpx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func TestLinksEndWithTheRightOfTheirReader(t *testing.T) {
	t.Parallel()
	w, repo := room(t)
	member, always := w.as("token:member", "room", "unknown to the rules"), w.as("token:always")
	kinds := map[string]func(v *visitor) string{
		"downloadUrl": func(v *visitor) string {
			a := v.message(modernVersion, methodStream, map[string]any{
				"link": true, "uri": "repo://room/archive/main.tar.gz",
			})
			return result(t, a)["downloadUrl"].(string)
		},
		"httpUrl": func(v *visitor) string {
			a := v.message(modernVersion, methodRead, map[string]any{"uri": "repo://room/contents/a"})
			return result(t, a)["contents"].([]any)[0].(map[string]any)["_meta"].(map[string]any)["io.github.repomcp/httpUrl"].(string)
		},
		"get_archive_link": func(v *visitor) string {
			a := v.tool("get_archive_link", map[string]any{"repo": "room"})
			return result(t, a)["structuredContent"].(map[string]any)["httpUrl"].(string)
		},
	}
	links := map[string]map[*visitor][]string{}
	redeem := func(kind string, v *visitor, number int) answer {
		u, err := url.Parse(links[kind][v][number])
		if err != nil {
			t.Fatal(err)
		}
		if kind != "downloadUrl" { // which is for its principal alone
			v = &visitor{walled: w}
		}
		return v.get(u.Path)
	}
	for kind, mint := range kinds {
		links[kind] = map[*visitor][]string{}
		for _, v := range []*visitor{member, always} {
			for range 4 {
				links[kind][v] = append(links[kind][v], mint(v))
			}
			if a := redeem(kind, v, 0); a.status != http.StatusOK {
				t.Errorf("%s of %s: %v", kind, v.principal.ID, a)
			}
		}
	}
	for kind := range kinds {
		for _, secret := range []string{"token:member", "room"} {
			if strings.Contains(links[kind][member][1], secret) {
				t.Errorf("%s tells %s", kind, secret)
			}
		}
	}
	w.reload(noRoomRules)
	withdrawn := map[string]answer{}
	for kind := range kinds {
		if a := redeem(kind, always, 1); a.status != http.StatusOK {
			t.Errorf("%s of who keeps the right: %v", kind, a)
		}
		if withdrawn[kind] = redeem(kind, member, 1); withdrawn[kind].status != http.StatusNotFound {
			t.Errorf("%s: %v", kind, withdrawn[kind])
		}
	}
	w.reload(roomRules)
	for kind := range kinds {
		if a := redeem(kind, member, 1); a.status != http.StatusOK {
			t.Errorf("%s with the right again: %v", kind, a)
		}
	}
	// What is gone looks the same.
	if err := deleteRepository(repo, w); err != nil {
		t.Fatal(err)
	}
	for kind := range kinds {
		if gone := redeem(kind, member, 2); gone.same() != withdrawn[kind].same() {
			t.Errorf("%s:\nwithdrawn %s\ngone %s", kind, withdrawn[kind].same(), gone.same())
		}
	}
}

// result is that of a reply of MCP, which may be an event stream.
func result(t *testing.T, a answer) map[string]any {
	t.Helper()
	body := a.body
	if _, data, ok := bytes.Cut(body, []byte("data: ")); ok {
		body, _, _ = bytes.Cut(data, []byte("\n"))
	}
	var reply struct{ Result map[string]any }
	if err := json.Unmarshal(body, &reply); err != nil || reply.Result == nil {
		t.Fatalf("%v: %s", err, a.same())
	}
	return reply.Result
}

func TestSubscriptionsEndWithTheRight(t *testing.T) {
	t.Parallel()
	w, repo := room(t)
	defer follow(t, w.subscriptions, w.catalogue)()
	member, always := w.as("token:member", "room"), w.as("token:always")
	const uri = "repo://room/refs/heads/main"
	other := gittest.Existing(t, filepath.Join(w.root, "other.git"))

	streams := map[string]<-chan string{
		"listen": member.listen(t, uri, "repo://other"), "events": member.events(t, uri, "repo://other"),
		"socket": member.over(t, uri, "repo://other"),
	}
	kept := always.listen(t, uri, "repo://other")
	next := func(name string, events <-chan string, want string) {
		t.Helper()
		select {
		case event := <-events:
			if !strings.Contains(event, want) {
				t.Errorf("%s: %s, want %s", name, event, want)
			}
		case <-time.After(hang):
			t.Fatalf("%s: no %s", name, want)
		}
	}
	repo.Commit("main", gittest.Regular("a", "2"))
	for name, events := range streams {
		next(name, events, uri)
	}
	next("kept", kept, uri)

	w.reload(noRoomRules)
	// As if it had been deleted: the list is another one, and the resource is gone.
	for name, events := range streams {
		next(name, events, "list_changed")
		next(name, events, uri)
	}
	for i := range 3 {
		repo.Commit("main", gittest.Regular("a", fmt.Sprint("after ", i)))
		next("kept", kept, uri)
		other.Commit("main", gittest.Regular("a", fmt.Sprint("after ", i)))
		next("kept", kept, "repo://other")
		for name, events := range streams {
			next(name, events, "repo://other") // and nothing of the room before it
		}
	}
	// What comes into being where they may not look is told to nobody else.
	gittest.At(t, filepath.Join(w.root, "new.git")).Commit("main", gittest.Regular("a", "1"))
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		_, err := w.catalogue.Get("new") // the root is not looked through for each that is missed
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	next("kept", kept, "list_changed")
	for _, events := range streams {
		nothingWithin(t, events, 100*time.Millisecond)
	}
	w.reload(roomRules)
	for name, events := range streams {
		next(name, events, "list_changed")
		next(name, events, uri)
	}
	nothingWithin(t, kept, 0)
}

// events is the event stream of the visitor's session, which watches resources.
func (v *visitor) events(t *testing.T, uris ...string) <-chan string {
	t.Helper()
	for _, uri := range uris {
		result(t, v.message(sessionVersion, "resources/subscribe", map[string]any{"uri": uri}))
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Accept": {"text/event-stream"}, "Mcp-Protocol-Version": {sessionVersion}, "Mcp-Session-Id": {v.session},
		headerPrincipal: {v.who()},
	}
	return v.stream(t, request)
}

// over has a WebSocket connection tell of resources.
func (v *visitor) over(t *testing.T, uris ...string) <-chan string {
	t.Helper()
	s := v.connect()
	for i, uri := range uris {
		s.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":%q}}`, i+1, uri))
	}
	messages := make(chan string, 100)
	go func() {
		defer close(messages)
		for {
			_, message, err := s.conn.Read(t.Context())
			if err != nil {
				return
			}
			messages <- string(message)
		}
	}()
	return messages
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

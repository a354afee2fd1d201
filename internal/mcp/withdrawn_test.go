package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/rules"
	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// accessRules are rules in a file that a test changes.
type accessRules struct {
	file  string
	rules *rules.Rules
}

func newRules(t *testing.T, text string) *accessRules {
	t.Helper()
	a := &accessRules{file: filepath.Join(t.TempDir(), "access.yaml")}
	a.write(t, text)
	var err error
	if a.rules, err = filetest.Open(t, func() (*rules.Rules, error) { return rules.Load(a.file) }); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *accessRules) write(t *testing.T, text string) {
	t.Helper()
	next := a.file + ".new"
	if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, a.file)); err != nil {
		t.Fatal(err)
	}
}

// change has other rules read, as SIGHUP does.
func (a *accessRules) change(t *testing.T, s *local, text string) {
	t.Helper()
	a.write(t, text)
	if taken, err := filetest.Settle(t, a.rules); !taken || err != nil {
		t.Fatal(taken, err)
	}
	s.subscriptions.Reconsider()
}

// visitor asks as one principal, by requests and over a connection.
type visitor struct {
	*local
	principal   access.Principal
	session     string
	connections map[string]connected // by version
}

func (s *local) visitor(t *testing.T, id string, groups ...string) *visitor {
	t.Helper()
	principal := access.Principal{ID: id, Groups: groups}
	v := &visitor{local: s, principal: principal, connections: make(map[string]connected)}
	v.session = s.do(t, &call{header: http.Header{}, as: v.principal,
		body: initializing(sessionVersion, `{"resourceStreaming":{}}`)}).session
	for _, version := range eras {
		c := connected{s.Connect("", ""), t}
		t.Cleanup(c.Close)
		if version != modernVersion {
			c.exchange(access.WithPrincipal(t.Context(), v.principal), &call{body: initializing(version, "{}")},
				func([]byte) error { return nil })
		}
		v.connections[version] = c
	}
	return v
}

// request is a request of the visitor.
func (v *visitor) request(version, method string, params map[string]any) *call {
	c := v.call(version, method, params)
	c.as = v.principal
	if version != modernVersion {
		c.header.Set(HeaderSession, v.session)
	}
	return c
}

func (v *visitor) asking(t *testing.T, version string, p probe, name string) *call {
	t.Helper()
	return v.request(version, p.method, p.named(t, name))
}

// ask returns the replies to a probe about a repository, with its name and the changing parts replaced.
func (v *visitor) ask(t *testing.T, version string, p probe, name string) (reply, overConnection string) {
	t.Helper()
	c := v.asking(t, version, p, name)
	same := func(a received) string {
		return strings.ReplaceAll(changing.ReplaceAllString(fmt.Sprint(a.streamed, a.err, string(a.body)), "LINK"), name, "NAME")
	}
	ctx := access.WithPrincipal(t.Context(), v.principal)
	ignore := func([]byte) error { return nil }
	return same(v.do(t, c)), same(v.connections[version].exchange(ctx, c, ignore))
}

// hear has the visitor hear of resources, and of the list.
func (v *visitor) hear(t *testing.T, uris ...string) <-chan string {
	t.Helper()
	messages, _ := v.listenAs(t, v.principal, "", true, uris...)
	if ack := <-messages; !strings.Contains(ack, "acknowledged") {
		t.Fatalf("first message: %s", ack)
	}
	return messages
}

// hearSession has the visitor's session hear of resources.
func (v *visitor) hearSession(t *testing.T, uris ...string) <-chan string {
	t.Helper()
	for _, uri := range uris {
		if a := v.do(t, v.request(sessionVersion, MethodSubscribe, map[string]any{"uri": uri})); a.failed() {
			t.Fatal(a)
		}
	}
	messages, _ := v.eventsOf(t, v.principal, v.session)
	return messages
}

// hearConnection has the visitor's connection hear of resources.
func (v *visitor) hearConnection(t *testing.T, uris ...string) <-chan string {
	t.Helper()
	c := v.connections[sessionVersion]
	as := func(ctx context.Context) context.Context { return access.WithPrincipal(ctx, v.principal) }
	c.Notified(as(t.Context()), Message{Method: MethodInitialized})
	messages, _ := stream(t, func(ctx context.Context, send func([]byte) error) { c.Pump(as(ctx), send) })
	for _, uri := range uris {
		a := c.exchange(as(t.Context()), v.request(sessionVersion, MethodSubscribe, map[string]any{"uri": uri}),
			func([]byte) error { return nil })
		if a.failed() {
			t.Fatal(a)
		}
	}
	return messages
}

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
func room(t *testing.T) (s *local, rules *accessRules, repo *gittest.Repo) {
	t.Helper()
	rules = newRules(t, roomRules)
	keys, err := links.RandomKeyring()
	base, baseErr := links.ParseBase("https://git.example.com")
	if err := errors.Join(err, baseErr); err != nil {
		t.Fatal(err)
	}
	authority, err := links.New(links.Options{Keys: keys, Base: base, Nonces: links.NewMemory(time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	s = newLocal(t, localOptions{
		tools: true, links: resources.Linking{Authority: authority, Base: base, Relevant: rules.rules.Relevant},
		repos: repos.Options{Visible: rules.rules.Visible},
		build: func(root string) {
			repo = gittest.At(t, filepath.Join(root, "room.git"))
			repo.Commit("main", gittest.Regular("a", "1"), gittest.Regular("b", gittest.Noise(10_000)))
			gittest.At(t, filepath.Join(root, "other.git")).Commit("main", gittest.Regular("a", "1"))
		},
	})
	return s, rules, repo
}

// linkOf returns a link of a kind. There are links in resources/stream, resources/read and a tool.
func (v *visitor) linkOf(t *testing.T, kind string) (token string) {
	t.Helper()
	c, member := v.request(modernVersion, MethodRead, map[string]any{"uri": "repo://room/contents/a"}), `httpUrl":"`
	switch kind {
	case "downloadUrl":
		c, member = v.request(modernVersion, MethodStream, map[string]any{"uri": "repo://room/archive/main.tar.gz"}),
			`downloadUrl":"`
		c.meta()["io.github.repomcp/delivery"] = "downloadUrl"
	case "get_archive_link":
		c = v.request(modernVersion, "tools/call",
			map[string]any{"name": "get_archive_link", "arguments": map[string]any{"repo": "room"}})
	}
	_, rest, found := strings.Cut(string(v.do(t, c).body), member)
	address, _, _ := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("there is no %s", kind)
	}
	return path.Base(address)
}

// redeem follows a link, which the credentials of a principal come with.
func (s *local) redeem(t *testing.T, token, principal string) error {
	t.Helper()
	linked, err := s.resources.FindLink(t.Context(), token, links.Use{Method: http.MethodGet, Principal: principal})
	if err != nil {
		return err
	}
	body, err := linked.Open(t.Context(), resources.Want{Method: resources.Get})
	if err == nil {
		_, err = body.ReadAll(t.Context())
	}
	return errors.Join(err, body.Close(), linked.Close())
}

func TestLinksEndWithTheRightOfTheirReader(t *testing.T) {
	t.Parallel()
	s, access, repo := room(t)
	kinds := []string{"downloadUrl", "httpUrl", "get_archive_link"}
	member, always := s.visitor(t, "token:member", "room", "unknown to the rules"), s.visitor(t, "token:always")
	tokens := map[string]map[*visitor][]string{}
	redeem := func(kind string, v *visitor, number int) error {
		principal := ""
		if kind == "downloadUrl" { // is for its principal alone
			principal = v.principal.ID
		}
		return s.redeem(t, tokens[kind][v][number], principal)
	}
	for _, kind := range kinds {
		tokens[kind] = map[*visitor][]string{}
		for _, v := range []*visitor{member, always} {
			for range 3 {
				token := v.linkOf(t, kind)
				if strings.Contains(token, "member") || strings.Contains(token, "room") {
					t.Errorf("%s of %s tells a name: %s", kind, v.principal.ID, token)
				}
				tokens[kind][v] = append(tokens[kind][v], token)
			}
			if err := redeem(kind, v, 0); err != nil {
				t.Errorf("%s of %s: %v", kind, v.principal.ID, err)
			}
		}
	}
	access.change(t, s, noRoomRules)
	withdrawn := map[string]string{}
	for _, kind := range kinds {
		if err := redeem(kind, always, 1); err != nil {
			t.Errorf("%s of a principal that keeps the right: %v", kind, err)
		}
		err := redeem(kind, member, 1)
		if !errors.Is(err, git.ErrNotFound) {
			t.Errorf("%s of a principal without the right: %v, want %v", kind, err, git.ErrNotFound)
		}
		withdrawn[kind] = resources.AsError(err, "").Message
	}
	access.change(t, s, roomRules)
	for _, kind := range kinds {
		if err := redeem(kind, member, 1); err != nil {
			t.Errorf("%s with the right again: %v", kind, err)
		}
	}
	// A repository that is gone looks the same.
	if err := os.RemoveAll(repo.Dir); err != nil {
		t.Fatal(err)
	}
	gittest.Await(t, "the repository is missed", func() bool {
		_, _ = s.catalogue.Get("none") // looks for it
		_, err := s.catalogue.Known("room")
		return err != nil
	})
	for _, kind := range kinds {
		if gone := resources.AsError(redeem(kind, member, 2), "").Message; gone != withdrawn[kind] {
			t.Errorf("%s:\nwithdrawn %s\ngone      %s", kind, withdrawn[kind], gone)
		}
	}
}

func TestSubscriptionsEndWithTheRight(t *testing.T) {
	t.Parallel()
	s, access, repo := room(t)
	defer s.follow(t)()
	const uri, beside = "repo://room/refs/heads/main", "repo://other"
	member, always := s.visitor(t, "token:member", "room"), s.visitor(t, "token:always")
	streams := map[string]listener{
		"a request":  {t, "a request", member.hear(t, uri, beside)},
		"a session":  {t, "a session", member.hearSession(t, uri, beside)},
		"connection": {t, "connection", member.hearConnection(t, uri, beside)},
	}
	kept := listener{t, "kept", always.hear(t, uri, beside)}
	const list = "notifications/resources/list_changed"
	only := func(l listener, want ...string) {
		t.Helper()
		for _, next := range want {
			if counts := l.until(next); len(counts) != 1 {
				t.Errorf("%s: %v, want %s alone", l.era, counts, next)
			}
		}
	}
	repo.Commit("main", gittest.Regular("a", "2"))
	for _, l := range streams {
		only(l, uri)
	}
	only(kept, uri)
	access.change(t, s, noRoomRules)
	for _, l := range streams { // as if it had been deleted
		only(l, list, uri)
	}
	other := gittest.Existing(t, filepath.Join(s.root, "other.git"))
	for i := range 3 {
		repo.Commit("main", gittest.Regular("a", fmt.Sprint("after ", i)))
		only(kept, uri)
		other.Commit("main", gittest.Regular("a", fmt.Sprint("after ", i)))
		only(kept, beside)
		for _, l := range streams {
			only(l, beside) // and nothing of the room before it
		}
	}
	// A new repository that they may not know of changes no list of theirs: the next message is that of the change.
	s.repo(t, "new")
	only(kept, list)
	access.change(t, s, roomRules)
	for _, l := range streams {
		only(l, list, uri)
	}
	var more map[string]any
	select {
	case message := <-kept.messages:
		if err := json.Unmarshal([]byte(message), &more); err != nil || more["method"] != "ping" {
			t.Errorf("a principal whose rights did not change is told: %s", message)
		}
	default:
	}
}

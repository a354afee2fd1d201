package httpx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
)

// entrance is a request of the golden table.
type entrance struct {
	name string
	call func(t *testing.T, d *doors, session string) *call
}

// entrances are all ways into the server. Links are made once, by alice.
func entrances(t *testing.T, d *doors) []entrance {
	t.Helper()
	authorized := func(c *call) *call { c.header.Set("Authorization", d.alice()); return c }
	link := func(method, member string) string {
		c := d.call(modernVersion, method, map[string]any{"uri": "repo://hello/contents/README.md"})
		c.header.Set("Accept", acceptBoth)
		return linkIn(t, string(d.do(t, authorized(c)).body), member)
	}
	free, bound := link(methodRead, `"io.github.repomcp/httpUrl":"`), link(methodStream, `"downloadUrl":"`)
	plain := func(verb, path string) entrance {
		return entrance{verb + " " + path,
			func(*testing.T, *doors, string) *call { return &call{verb: verb, path: path, header: http.Header{}} }}
	}
	message := func(version, method string, params map[string]any) entrance {
		return entrance{"POST /mcp " + method + " of " + version, func(_ *testing.T, d *doors, session string) *call {
			c := d.call(version, method, params)
			if version != modernVersion {
				c.header.Set("Mcp-Session-Id", session)
			}
			return c
		}}
	}
	uri := map[string]any{"uri": "repo://hello/contents/README.md"}
	list := []entrance{
		message(sessionVersion, methodRead, uri), message(modernVersion, methodRead, uri),
		message(sessionVersion, methodStream, uri),
		message(modernVersion, methodStream, uri), message(sessionVersion, "ping", nil),
		message(modernVersion, "server/discover", nil),
		message(modernVersion, "subscriptions/listen",
			map[string]any{"notifications": map[string]any{"resourcesListChanged": true}}),
		{"POST /mcp that is no message",
			func(*testing.T, *doors, string) *call { return &call{header: plainHeader(), body: []byte("{")} }},
	}
	for _, version := range eras {
		for _, verb := range []string{http.MethodGet, http.MethodDelete} {
			list = append(list,
				entrance{verb + " /mcp of " + version, func(_ *testing.T, d *doors, session string) *call {
					c := d.getCall(session)
					c.verb, c.path = verb, "/mcp"
					c.header.Set("Mcp-Protocol-Version", version)
					return c
				}})
		}
	}
	list = append(list, entrance{"GET /ws", func(*testing.T, *doors, string) *call {
		return &call{verb: http.MethodGet, path: "/ws", header: http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"MDEyMzQ1Njc4OWFiY2RlZg=="},
		}}
	}})
	for _, path := range []string{"/archive/hello/main.tar.gz", "/raw/hello/main/README.md", "/refs/hello",
		"/repositories"} {
		list = append(list, plain(http.MethodGet, path), plain(http.MethodHead, path))
	}
	for _, service := range []string{"git-upload-pack", "git-receive-pack"} {
		list = append(list, plain(http.MethodGet, "/git/hello/info/refs?service="+service))
	}
	for name, path := range map[string]string{"GET /dl/ of anybody's link": free, "GET /dl/ of alice's link": bound} {
		e := plain(http.MethodGet, path)
		e.name = name
		list = append(list, e)
	}
	for _, path := range []string{
		"/", "/none", "/healthz", "/mcp/server-card", "/.well-known/ai-catalog.json",
		"/.well-known/oauth-protected-resource",
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/none", "//healthz", "/healthz/",
		"/dl/../repositories", "/%64l/x", "/dl%2f..%2frepositories",
	} {
		list = append(list, plain(http.MethodGet, path))
	}
	return append(list, plain(http.MethodPost, "/git/hello/git-upload-pack"), plain(http.MethodPost, "/healthz"), plain(http.MethodOptions, "/mcp"),
		plain(http.MethodPut, "/raw/hello/main/README.md"))
}

// outcome is what the table has of a reply.
func (d *doors) outcome(t *testing.T, c *call, sent credentials, values []string) string {
	t.Helper()
	c.header = c.header.Clone()
	if sent.in == "" {
		c.header["Authorization"] = values
	} else {
		separator := "?"
		if strings.Contains(c.path, separator) {
			separator = "&"
		}
		if c.path == "" {
			c.path = "/mcp"
		}
		c.path += separator + sent.in + strings.Join(values, "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply, err := d.open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	line := fmt.Sprint(reply.StatusCode)
	for _, challenge := range reply.Header.Values("WWW-Authenticate") {
		line += "\n      " + strings.NewReplacer(d.url, "http://HOST").Replace(challenge)
	}
	if control := reply.Header.Get("Cache-Control"); reply.StatusCode < 300 && control != "no-store" &&
		!strings.HasPrefix(control, "private") &&
		!slices.Contains(public, strings.SplitN(c.path, "?", 2)[0]) {
		t.Errorf("%s %s: Cache-Control %q lets others keep it", c.verb, c.path, control)
	}
	return line
}

// public are the entrances that anybody may take and that say nothing of anybody.
var public = []string{"/healthz", "/ws"}

// Every fault of credentials at every entrance, and good credentials among them. The golden
// file is the table; UPDATE_GOLDEN=1 writes it.
func TestEveryCredentialAtEveryEntrance(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	withLinks := newLinks(t)
	withLinks.manyUses = true
	d := newDoors(t, targetOptions{links: withLinks.linking(t)})
	ways := entrances(t, d)
	blocks, names := []string{}, make(map[string][]string) // of credentials, by what they lead to
	cases := 0
	for _, sent := range tried {
		values := sent.make(t, d)
		outcomes := make(map[string][]string)
		for _, way := range ways {
			session := d.sessions[sessionVersion]
			if sent.in == "" && len(values) == 1 {
				session = d.sessionOf(t, values[0], session)
			}
			cases++
			line := d.outcome(t, way.call(t, d, session), sent, values)
			outcomes[line] = append(outcomes[line], way.name)
		}
		block := ""
		for _, line := range slices.Sorted(maps.Keys(outcomes)) {
			slices.Sort(outcomes[line])
			block += "   " + line + "\n          " + strings.Join(outcomes[line], "\n          ") + "\n"
		}
		if names[block] == nil {
			blocks = append(blocks, block)
		}
		names[block] = append(names[block], sent.name)
	}
	var table bytes.Buffer
	for _, block := range blocks {
		fmt.Fprintf(&table, "== %s\n%s\n", strings.Join(names[block], "\n== "), block)
	}
	checkGolden(t, "credentials.txt", table.Bytes())
	if least := 1600; cases < least {
		t.Errorf("%d cases, want %d", cases, least)
	}
	t.Logf("%d cases", cases)
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("%s, line %d: %q, want %q", file, i+1, is[i], was[i])
		}
	}
	t.Fatalf("%s has %d lines, want %d", file, len(is), len(was))
}

// A session is no use to anybody but who began it: another one is told what is told of an id
// that nobody has, byte by byte.
func TestASessionIsOfWhoBeganIt(t *testing.T) {
	t.Parallel()
	d := newDoors(t, targetOptions{})
	alice, other := d.sessions[sessionVersion], d.issued(t, nil)
	invented := alice[:len(alice)-4] + "AAAA"
	cases := 0
	for _, verb := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		ask := func(session, authorization string) answer {
			c := d.getCall(session)
			if verb == http.MethodPost {
				c = d.call(sessionVersion, methodRead, map[string]any{"uri": "repo://hello"})
				c.header.Set("Mcp-Session-Id", session)
			}
			c.verb, c.path = verb, "/mcp"
			c.header.Set("Authorization", authorization)
			cases++
			response, err := d.open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			a := answer{status: response.StatusCode}
			if verb != http.MethodGet || a.status != http.StatusOK { // an event stream has no end
				a.body, a.err = io.ReadAll(response.Body)
			}
			_ = response.Body.Close() // only read from
			return a
		}
		if a := ask(alice, d.alice()); a.status == http.StatusNotFound {
			t.Errorf("%s: alice's own session: %v", verb, a)
		}
		theirs, nobodys := ask(alice, other), ask(invented, other)
		if theirs.status != http.StatusNotFound || nobodys.status != theirs.status ||
			!bytes.Equal(theirs.body, nobodys.body) {
			t.Errorf("%s: %v and %v", verb, theirs, nobodys)
		}
	}
	if cases != 9 {
		t.Errorf("%d cases", cases)
	}
}

// What lasts ends soon after the token that it was begun with, and not before.
func TestWhatLastsEndsWithItsToken(t *testing.T) {
	t.Parallel()
	d := newDoors(t, targetOptions{})
	for name, c := range map[string]struct {
		authorization string
		end           func()
	}{
		"a revoked token": {d.alice(), func() { d.revoke(t, "alice") }},
		"an expired one":  {d.issued(t, nil), func() { d.later.Add(int64(2 * time.Hour)) }},
	} {
		events := d.getCall(d.sessionOf(t, c.authorization, ""))
		listen := d.call(modernVersion, "subscriptions/listen",
			map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
		var ended []chan error
		wait := func(what func() error) {
			done := make(chan error, 1)
			ended = append(ended, done)
			go func() { done <- what() }()
		}
		for _, request := range []*call{events, listen} {
			request.header.Set("Authorization", c.authorization)
			reply, err := d.open(t.Context(), request)
			if err != nil || reply.StatusCode != http.StatusOK {
				t.Fatalf("%s: %v, %v", name, reply, err)
			}
			wait(func() error {
				_, err := io.Copy(io.Discard, reply.Body)
				return errors.Join(err, reply.Body.Close())
			})
		}
		conn, _, err := websocket.Dial(t.Context(), d.url+"/ws",
			&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {c.authorization}}})
		if err != nil {
			t.Fatal(err)
		}
		wait(func() error {
			_, _, err := conn.Read(t.Context())
			if websocket.CloseStatus(err) != 3000 {
				return fmt.Errorf("the connection was closed with %w", err)
			}
			return nil
		})
		time.Sleep(100 * time.Millisecond) // some looks, which find nothing wrong
		for i, done := range ended {
			select {
			case err := <-done:
				t.Errorf("%s: %d ended by itself: %v", name, i, err)
			default:
			}
		}
		c.end()
		for i, done := range ended {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s: %d: %v", name, i, err)
				}
			case <-time.After(gittest.Patience):
				t.Fatalf("%s: %d goes on", name, i)
			}
		}
	}
}

package httpx_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// speaker asks for something in one of the ways there are to, and returns the reply.
type speaker func(t *testing.T, method string, params map[string]any) string

// speakers are clients of every transport and generation, with credentials unless they are "".
func (s *target) speakers(t *testing.T, authorization string) map[string]speaker {
	t.Helper()
	speakers := make(map[string]speaker)
	for _, version := range eras {
		speakers["HTTP, "+version] = func(t *testing.T, method string, params map[string]any) string {
			t.Helper()
			c := s.call(version, method, params)
			c.header.Set("Accept", acceptBoth)
			c.header.Set("Authorization", authorization)
			if name, ok := params["name"].(string); ok && version == modernVersion {
				c.header.Set("Mcp-Name", name)
			}
			return string(s.do(t, c).body)
		}
		var header http.Header
		if authorization != "" {
			header = http.Header{"Authorization": {authorization}}
		}
		conn := dialAs(t, s.url, header)
		if version != modernVersion {
			conn.initialize(version)
		}
		speakers["WebSocket, "+version] = func(t *testing.T, method string, params map[string]any) string {
			t.Helper()
			return conn.call(rpc(version, 1, method, params)).raw
		}
	}
	return speakers
}

// linkKinds are the links that there are: how each is asked for, and what the reply has before it.
var linkKinds = []struct {
	name, method, member string
	params               map[string]any
	download             bool // it is a downloadUrl
}{
	{"downloadUrl", methodStream, `"downloadUrl":"`, map[string]any{"uri": "repo://hello/archive/main.tar"}, true},
	{"httpUrl of resources/read", methodRead, `"io.github.repomcp/httpUrl":"`,
		map[string]any{"uri": "repo://hello/contents/README.md"}, false},
	{"httpUrl of resources/list", "resources/list", `"httpUrl":"`, nil, false},
	{"get_archive_link", "tools/call", `"httpUrl":"`,
		map[string]any{"name": "get_archive_link", "arguments": map[string]any{"repo": "hello"}}, false},
}

var linkPaths = regexp.MustCompile(`^http://[^/"]+(/dl/[A-Za-z0-9_-]+)"`)

// linkIn is the path of the link that follows a member of a reply.
func linkIn(t *testing.T, reply, member string) string {
	t.Helper()
	_, rest, _ := strings.Cut(reply, member)
	found := linkPaths.FindStringSubmatch(rest)
	if found == nil {
		t.Fatalf("%s is not in %.1000s", member, reply)
	}
	return found[1]
}

// A downloadUrl is for the principal who asked for it, and every other link for whoever has it, whatever carried the
// request. A session id is no credential.
func TestWhoMayUseALink(t *testing.T) {
	t.Parallel()
	d := newDoors(t, targetOptions{links: newLinks(t).linking(t), tools: true})
	alice, other := d.alice(), d.issued(t, map[string]any{"sub": "bob"})
	session := "Mcp-Session-Id: " + d.sessions[sessionVersion]
	askers := []struct {
		name    string
		headers []string
		owner   bool
	}{
		{"no credentials", nil, false},
		{"garbage", []string{"Authorization: Bearer rmcp_ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, false},
		{"another principal", []string{"Authorization: " + other}, false},
		{"the session id alone", []string{session}, false},
		{"another principal with the session id", []string{"Authorization: " + other, session}, false},
		{"the same principal", []string{"Authorization: " + alice}, true},
	}
	cases := 0
	for transport, ask := range d.speakers(t, alice) {
		for _, kind := range linkKinds {
			link := linkIn(t, ask(t, kind.method, kind.params), kind.member)
			for _, asker := range askers {
				want := http.StatusOK
				if kind.download && !asker.owner {
					want = http.StatusUnauthorized
				}
				a := d.get(t, link, asker.headers...)
				if a.status != want || (a.header.Get("Www-Authenticate") != "") != (want == http.StatusUnauthorized) {
					t.Errorf("%s over %s, with %s: %v, want %d", kind.name, transport, asker.name, a, want)
				}
				cases++
			}
		}
	}
	if cases != 4*4*6 {
		t.Errorf("%d cases", cases)
	}
}

// A server that asks nobody who they are has no credentials that a link could be bound to: who has the link may
// use it, whatever carried the request.
func TestAnOpenServersLinksNeedNothing(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t), tools: true})
	strangers := []string{"X: x", "Mcp-Session-Id: invented", "Mcp-Session-Id: " + s.sessions[batchVersion],
		"Authorization: Bearer rmcp_ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
	cases := 0
	for transport, ask := range s.speakers(t, "") {
		for _, kind := range linkKinds {
			for _, header := range strangers {
				link := linkIn(t, ask(t, kind.method, kind.params), kind.member)
				if a := s.get(t, link, header); a.status != http.StatusOK {
					t.Errorf("%s over %s, with %s: %v", kind.name, transport, header, a)
				}
				again := http.StatusOK
				if kind.download {
					again = http.StatusNotFound // it is for one download
				}
				if a := s.get(t, link, header); a.status != again {
					t.Errorf("%s over %s, a second time: %v, want %d", kind.name, transport, a, again)
				}
				cases++
			}
		}
	}
	if cases != 4*4*4 {
		t.Errorf("%d cases", cases)
	}
}

// A header of a session that is none of the client's business is passed over in 2026-07-28.
func TestAStraySessionIDDoesNotSpoilALink(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	for _, session := range []string{"", s.sessions[sessionVersion], "invented", strings.Repeat("x", 600)} {
		stray := s.linkCall(modernVersion, "repo://hello/contents/README.md")
		stray.header.Set("Mcp-Session-Id", session)
		a := s.do(t, stray)
		var reply struct {
			Result map[string]any `json:"result"`
		}
		if err := json.Unmarshal(a.body, &reply); err != nil || reply.Result["downloadUrl"] == nil {
			t.Fatalf("a stray header of %d bytes: %v", len(session), a)
		}
		if a := s.get(t, at(t, reply.Result), fmt.Sprintf("Mcp-Session-Id: %s", session)); a.status != http.StatusOK {
			t.Errorf("a link that was asked for with a stray header of %d bytes: %v", len(session), a)
		}
	}
}

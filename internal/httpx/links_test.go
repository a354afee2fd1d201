package httpx_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// clock is what links go by in a test.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// withLinks are the options of a server with links. Servers that share keys and
// nonces are replicas of each other, under one public URL.
type withLinks struct {
	keys      *links.Keyring
	nonces    links.Nonces
	clock     *clock
	publicURL string // the server's own when ""
	manyUses  bool
}

func newLinks(t *testing.T) *withLinks {
	t.Helper()
	keys, err := links.RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{}
	return &withLinks{keys: keys, nonces: links.NewMemory(c.now), clock: c}
}

func (l *withLinks) linking(t *testing.T) func(string) resources.Linking {
	return func(publicURL string) resources.Linking {
		if l.publicURL == "" {
			l.publicURL = publicURL
		}
		base, err := links.ParseBase(l.publicURL)
		if err != nil {
			t.Fatal(err)
		}
		authority, err := links.New(links.Options{Keys: l.keys, Base: base, Nonces: l.nonces, Now: l.clock.now})
		if err != nil {
			t.Fatal(err)
		}
		return resources.Linking{Authority: authority, Base: base, ManyUses: l.manyUses}
	}
}

// downloadURL asks for a link and returns the result.
func (s *target) downloadURL(t *testing.T, version, uri string) map[string]any {
	t.Helper()
	a := s.do(t, s.linkCall(version, uri))
	var reply struct {
		Result map[string]any `json:"result"`
	}
	if err := json.Unmarshal(a.body, &reply); err != nil || a.status != http.StatusOK ||
		reply.Result["downloadUrl"] == nil {
		t.Fatalf("%s: %v, %v", uri, a, err)
	}
	return reply.Result
}

// headIf is the commit that a URI of hello is of by its branch, or "".
func (s *target) headIf(uri string) string {
	if strings.HasPrefix(uri, "repo://hello/") {
		return s.Head
	}
	return ""
}

// linkForm is all that a link may show.
var linkForm = regexp.MustCompile(`^/dl/[A-Za-z0-9_-]+$`)

// at is the path of a link, to be asked of any server.
func at(t *testing.T, result map[string]any) string {
	t.Helper()
	u, err := url.Parse(result["downloadUrl"].(string))
	if err != nil || !linkForm.MatchString(u.EscapedPath()) || u.RawQuery != "" {
		t.Fatalf("downloadUrl %v: %v", result["downloadUrl"], err)
	}
	return u.EscapedPath()
}

func TestDownloadURLGivesTheBytesOnce(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	for _, version := range []string{modernVersion, sessionVersion} {
		session := "Mcp-Session-Id: " + s.sessions[version] // "" in the modern era
		for _, uri := range []string{
			"repo://hello/archive/refs/heads/main.tar.gz", "repo://hello/contents/README.md",
			"repo://hello/refs/heads/main/contents/page.html",
			"repo://hello/contents/what%3F%23.txt", "repo://hello/contents/data.json",
			"repo://caf\u00e9/contents/composed",
		} {
			direct := s.call(version, methodStream, map[string]any{"uri": uri})
			direct.header.Set("Accept", "*/*, application/json, text/event-stream")
			want := s.do(t, direct)
			result := s.downloadURL(t, version, uri)
			meta := result["_meta"].(map[string]any)
			if result["mimeType"] != cmp.Or(want.header.Get("Mcp-Resource-Type"), want.header.Get("Content-Type")) ||
				result["uri"] != uri ||
				meta["io.github.repomcp/contentLocation"] != want.header.Get("Content-Location") {
				t.Errorf("%s: %v, direct %v", uri, result, want.header)
			}
			// What 2026-07-28 demands of every result.
			modern := version == modernVersion
			if (result["resultType"] == "complete") != modern ||
				(meta["io.modelcontextprotocol/serverInfo"] != nil) != modern {
				t.Errorf("%s of %s: %v", uri, version, result)
			}
			if expires, err := time.Parse(time.RFC3339, result["downloadUrlExpiresAt"].(string)); err != nil ||
				time.Until(expires) > 5*time.Minute || time.Until(expires) < 4*time.Minute {
				t.Errorf("%s expires at %v", uri, result["downloadUrlExpiresAt"])
			}
			link := at(t, result)
			for range 2 {
				head := s.fetch(t, http.MethodHead, link, session)
				if head.status != http.StatusOK {
					t.Errorf("HEAD %s: %v", uri, head)
				}
				tag := head.header.Get("Etag")
				if a := s.get(t, link, session, "If-None-Match: "+tag); a.status != http.StatusNotModified || tag == "" {
					t.Errorf("%s, which the client has: %v", uri, a)
				}
			}
			if a := s.get(t, link+"/README.md", session); a.status != http.StatusNotFound {
				t.Errorf("%s with a name behind it: %v", uri, a)
			}
			got := s.get(t, link, session)
			if got.status != http.StatusOK || !bytes.Equal(got.body, want.body) {
				t.Errorf("%s: %v, want %v", uri, got, want)
			}
			for _, name := range []string{"Content-Type", "Mcp-Resource-Type", "Mcp-Resource-Uri", "Content-Location",
				"Content-Disposition"} {
				if got.header.Get(name) != want.header.Get(name) {
					t.Errorf("%s: %s is %q, direct %q", uri, name, got.header.Get(name), want.header.Get(name))
				}
			}
			if asked := strings.ReplaceAll(uri, "\u00e9", "%C3%A9"); got.header.Get("Mcp-Resource-Uri") != asked ||
				!strings.Contains(got.header.Get("Content-Location"), cmp.Or(s.headIf(uri), "repo://")) {
				t.Errorf("%s: headers %v", uri, got.header)
			}
			if got.header.Get("Cache-Control") != "no-store" || got.header.Get("Referrer-Policy") != "no-referrer" ||
				got.header.Get("Link") != "" {
				t.Errorf("%s: headers %v", uri, got.header)
			}
			if again := s.get(t, link, session); again.status != http.StatusNotFound ||
				!strings.Contains(string(again.body), "resources/stream") {
				t.Errorf("%s, a second time: %v", uri, again)
			}
			if again := s.fetch(t, http.MethodHead, link, session); again.status != http.StatusNotFound {
				t.Errorf("HEAD %s, when it is used: %v", uri, again)
			}
		}
	}
}

func TestDeliveryIsChosen(t *testing.T) {
	t.Parallel()
	plain := newTarget(t, targetOptions{})
	l := newLinks(t)
	linked := newTarget(t, targetOptions{links: l.linking(t)})
	byOption := newTarget(t, targetOptions{links: newLinks(t).linking(t), delivery: mcp.DeliveryURL})
	const all, narrow = "*/*, application/json, text/event-stream", "application/json, text/event-stream"
	for _, c := range []struct {
		name          string
		s             *target
		accept, asked string
		url           bool
		code          int
	}{
		{"no links", plain, narrow, "", false, -32003},
		{"no links, bytes are admitted", plain, all, "", false, 0},
		{"no links, asked for one", plain, all, "downloadUrl", false, -32003},
		{"no links, asked for one, bytes are not admitted", plain, narrow, "downloadUrl", false, -32003},
		{"bytes are admitted", linked, all, "", false, 0},
		{"gzip is admitted", linked, narrow + ", application/gzip", "", false, 0},
		{"gzip is excluded", linked, all + ", application/gzip;q=0", "", true, 0},
		{"bytes of any kind are admitted", linked, narrow + ", application/octet-stream", "", false, 0},
		{"bytes are not admitted", linked, narrow, "", true, 0},
		{"asked for a URL", linked, all, "downloadUrl", true, 0},
		{"asked for bytes", linked, all, "direct", false, 0},
		{"asked for bytes that are not admitted", linked, narrow, "direct", false, -32003},
		{"asked for something else", linked, all, "pigeon", false, -32602},
		{"the server's option", byOption, all, "", true, 0},
	} {
		request := c.s.call(modernVersion, methodStream, map[string]any{"uri": "repo://hello/archive/main.tar.gz"})
		request.header.Set("Accept", c.accept)
		if c.asked != "" {
			request.meta()["io.github.repomcp/delivery"] = c.asked
		}
		a := c.s.do(t, request)
		switch {
		case c.code != 0:
			suggested, _ := a.data["suggestion"].(string)
			if a.code != c.code || a.data["uri"] != "repo://hello/archive/main.tar.gz" || c.code == -32003 &&
				suggested == "" || c.accept == narrow && suggested != "Accept: */*" {
				t.Errorf("%s: %v", c.name, a)
			}
		case a.status != http.StatusOK || c.url != strings.Contains(string(a.body), `"downloadUrl"`) || !c.url &&
			!bytes.HasPrefix(a.body, []byte("\x1f\x8b")):
			t.Errorf("%s: %v", c.name, a)
		}
	}
}

func TestSingleUseDownloadResumes(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	for _, uri := range []string{"repo://hello/archive/main.tar", "repo://hello/archive/main.tar.gz",
		"repo://hello/contents/README.md"} {
		direct := s.call(modernVersion, methodStream, map[string]any{"uri": uri})
		direct.header.Set("Accept", "*/*, application/json, text/event-stream")
		want := s.do(t, direct).body
		link := at(t, s.downloadURL(t, modernVersion, uri))
		first := s.get(t, link, "Range: bytes=0-2")
		tag := first.header.Get("Etag")
		if first.status != http.StatusPartialContent || !bytes.Equal(first.body, want[:3]) {
			t.Fatalf("%s: %v", uri, first)
		}
		if a := s.get(t, link, "Range: bytes=3-"); a.status != http.StatusNotFound {
			t.Errorf("%s, a part without the tag: %v", uri, a)
		}
		if a := s.get(t, link, "If-Range: "+tag); a.status != http.StatusNotFound {
			t.Errorf("%s, the whole with the tag: %v", uri, a)
		}
		if a := s.get(t, link, "Range: bytes=3-", `If-Range: "other`+tag[1:]); a.status != http.StatusNotFound {
			t.Errorf("%s, the rest of something else: %v", uri, a)
		}
		l.clock.advance(6 * time.Minute) // the link has expired, the grace has not
		rest := s.get(t, link, "Range: bytes=3-", "If-Range: "+tag)
		if rest.status != http.StatusPartialContent || !bytes.Equal(rest.body, want[3:]) ||
			rest.header.Get("Etag") != tag {
			t.Errorf("%s, the rest: %v", uri, rest)
		}
		l.clock.advance(time.Hour)
		if a := s.get(t, link, "Range: bytes=3-", "If-Range: "+tag); a.status != http.StatusGone {
			t.Errorf("%s, long after: %v", uri, a)
		}
	}
}

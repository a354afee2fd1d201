package httpx_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
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
	denied    *links.Revocations
}

func newLinks(t *testing.T) *withLinks {
	t.Helper()
	keys, err := links.RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{}
	return &withLinks{keys: keys, nonces: links.NewMemory(1000, c.now), clock: c}
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
		authority, err := links.New(links.Options{Keys: l.keys, Base: base, Nonces: l.nonces, Revocations: l.denied, Now: l.clock.now})
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
	if err := json.Unmarshal(a.body, &reply); err != nil || a.status != http.StatusOK || reply.Result["downloadUrl"] == nil {
		t.Fatalf("%s: %v, %v", uri, a, err)
	}
	return reply.Result
}

// headIf is the commit that a URI of hello is of by its branch, or "".
func (s *target) headIf(uri string) string {
	if strings.HasPrefix(uri, "repo://hello/") {
		return s.head
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
			"repo://hello/archive/refs/heads/main.tar.gz", "repo://hello/contents/README.md", "repo://hello/refs/heads/main/contents/page.html",
			"repo://hello/contents/what%3F%23.txt", "repo://hello/contents/data.json", "repo://caf\u00e9/contents/composed",
		} {
			direct := s.call(version, methodStream, map[string]any{"uri": uri})
			direct.header.Set("Accept", "*/*, application/json, text/event-stream")
			want := s.do(t, direct)
			result := s.downloadURL(t, version, uri)
			meta := result["_meta"].(map[string]any)
			if result["mimeType"] != cmp.Or(want.header.Get("Mcp-Resource-Type"), want.header.Get("Content-Type")) || result["uri"] != uri ||
				meta["io.github.repomcp/contentLocation"] != want.header.Get("Content-Location") {
				t.Errorf("%s: %v, direct %v", uri, result, want.header)
			}
			// What 2026-07-28 demands of every result.
			modern := version == modernVersion
			if (result["resultType"] == "complete") != modern || (meta["io.modelcontextprotocol/serverInfo"] != nil) != modern {
				t.Errorf("%s of %s: %v", uri, version, result)
			}
			if expires, err := time.Parse(time.RFC3339, result["downloadUrlExpiresAt"].(string)); err != nil || time.Until(expires) > 5*time.Minute || time.Until(expires) < 4*time.Minute {
				t.Errorf("%s expires at %v", uri, result["downloadUrlExpiresAt"])
			}
			link := at(t, result)
			for range 2 {
				if a := s.fetch(t, http.MethodHead, link, session); a.status != http.StatusOK {
					t.Errorf("HEAD %s: %v", uri, a)
				}
			}
			if a := s.get(t, link+"/README.md", session); a.status != http.StatusNotFound {
				t.Errorf("%s with a name behind it: %v", uri, a)
			}
			got := s.get(t, link, session)
			if got.status != http.StatusOK || !bytes.Equal(got.body, want.body) {
				t.Errorf("%s: %v, want %v", uri, got, want)
			}
			for _, name := range []string{"Content-Type", "Mcp-Resource-Type", "Mcp-Resource-Uri", "Content-Location", "Content-Disposition"} {
				if got.header.Get(name) != want.header.Get(name) {
					t.Errorf("%s: %s is %q, direct %q", uri, name, got.header.Get(name), want.header.Get(name))
				}
			}
			if asked := strings.ReplaceAll(uri, "\u00e9", "%C3%A9"); got.header.Get("Mcp-Resource-Uri") != asked || !strings.Contains(got.header.Get("Content-Location"), cmp.Or(s.headIf(uri), "repo://")) {
				t.Errorf("%s: headers %v", uri, got.header)
			}
			if got.header.Get("Cache-Control") != "no-store" || got.header.Get("Referrer-Policy") != "no-referrer" || got.header.Get("Link") != "" {
				t.Errorf("%s: headers %v", uri, got.header)
			}
			if again := s.get(t, link, session); again.status != http.StatusNotFound || !strings.Contains(string(again.body), "resources/stream") {
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
			if a.code != c.code || a.data["uri"] != "repo://hello/archive/main.tar.gz" || c.code == -32003 && suggested == "" || c.accept == narrow && suggested != "Accept: */*" {
				t.Errorf("%s: %v", c.name, a)
			}
		case a.status != http.StatusOK || c.url != strings.Contains(string(a.body), `"downloadUrl"`) || !c.url && !bytes.HasPrefix(a.body, []byte("\x1f\x8b")):
			t.Errorf("%s: %v", c.name, a)
		}
	}
}

func TestSingleUseDownloadResumes(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	for _, uri := range []string{"repo://hello/archive/main.tar", "repo://hello/archive/main.tar.gz", "repo://hello/contents/README.md"} {
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
		if rest.status != http.StatusPartialContent || !bytes.Equal(rest.body, want[3:]) || rest.header.Get("Etag") != tag {
			t.Errorf("%s, the rest: %v", uri, rest)
		}
		l.clock.advance(time.Hour)
		if a := s.get(t, link, "Range: bytes=3-", "If-Range: "+tag); a.status != http.StatusGone {
			t.Errorf("%s, long after: %v", uri, a)
		}
	}
}

func TestOneOfManyRedeems(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	replica := &target{root: s.root}
	replica.serve(t, targetOptions{links: l.linking(t)})
	link := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz"))
	var won, gone atomic.Int32
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			server := []*target{s, replica}[i%2]
			switch a := server.get(t, link); a.status {
			case http.StatusOK:
				won.Add(1)
			case http.StatusNotFound:
				gone.Add(1)
			default:
				t.Errorf("%v", a)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || gone.Load() != 99 {
		t.Errorf("%d downloads, %d refusals, want 1 and 99", won.Load(), gone.Load())
	}
}

// lostNonces are those of a Redis that is away.
type lostNonces struct{}

func (lostNonces) Reserve(time.Time) (links.Place, error)                        { return links.Place{}, nil }
func (lostNonces) Claim(context.Context, links.Claim) (bool, error)              { return false, errAway }
func (lostNonces) Charge(context.Context, links.Claim, int) (sum int, err error) { return 0, errAway }
func (lostNonces) Used(context.Context, links.Claim) (bool, error)               { return false, errAway }

var errAway = errors.New("dial tcp 10.0.0.1:6379: goroutine of redis:secret@host")

// Who cannot find out whether a link was used does not give the bytes, and says
// that this will pass. What needs no record goes on.
func TestRecordOfUsedLinksIsAway(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	away := &target{root: s.root, sessions: map[string]string{}}
	away.serve(t, targetOptions{links: (&withLinks{keys: l.keys, nonces: lostNonces{}, clock: l.clock, publicURL: l.publicURL}).linking(t)})
	link := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz"))
	begun := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz"))
	part := s.get(t, begun, "Range: bytes=0-9")
	for _, header := range []string{"Accept: */*", "Range: bytes=0-9"} {
		a := away.get(t, link, header)
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || strings.Contains(string(a.body), "secret") {
			t.Errorf("%s: %v", header, a)
		}
	}
	if a := away.get(t, begun, "Range: bytes=10-", "If-Range: "+part.header.Get("ETag")); a.status != http.StatusServiceUnavailable {
		t.Errorf("going on: %v", a)
	}
	if a := away.fetch(t, http.MethodHead, link); a.status != http.StatusServiceUnavailable {
		t.Errorf("HEAD says something else than GET: %v", a)
	}
	many := &withLinks{keys: l.keys, clock: l.clock, nonces: l.nonces, publicURL: l.publicURL, manyUses: true}
	lasting := &target{root: s.root, sessions: map[string]string{}}
	lasting.serve(t, targetOptions{links: many.linking(t)})
	for range 2 {
		if a := away.get(t, at(t, lasting.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz"))); a.status != http.StatusOK {
			t.Errorf("a link for many uses: %v", a)
		}
	}
	if a := s.get(t, link); a.status != http.StatusOK {
		t.Errorf("the link, once its record is there: %v", a)
	}
}

func TestAlteredLinksAreRefused(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	log := &journal{}
	s := newTarget(t, targetOptions{links: l.linking(t), http: httpx.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
	link := at(t, s.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz"))
	token := path.Base(link)
	tried := 0
	for i := range len(token) {
		other := byte('A')
		if token[i] == other {
			other = 'B'
		}
		if a := s.get(t, "/dl/"+token[:i]+string(other)+token[i+1:]); a.status != http.StatusNotFound {
			t.Errorf("byte %d: %v", i, a)
		}
		tried++
	}
	for _, form := range []string{
		token + "/", "/" + token, token + "/x", token + "/hello-main.tar.gz", token + "/x/hello-main.tar.gz", token + "?x=1", token + "?", token + "?token=" + token,
		token + "?expires=9999999999&expires=1", fmt.Sprintf("%%%02X%s", token[0], token[1:]), token[len(token)/2:] + token[:len(token)/2], token + ";v=2",
		token + "=", token[:len(token)-1], token + token, "x", "", strings.Repeat("A", 9000),
	} {
		if a := s.get(t, "/dl/"+form); a.status != http.StatusNotFound {
			t.Errorf("%.60s: %v", form, a)
		}
		tried++
	}
	for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if a := s.do(t, &call{verb: verb, path: link, body: []byte("x")}); a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %v", verb, a)
		}
	}
	other := newTarget(t, targetOptions{links: (&withLinks{keys: l.keys, nonces: l.nonces, clock: l.clock, publicURL: "https://other.example"}).linking(t)})
	if a := other.get(t, link); a.status != http.StatusNotFound {
		t.Errorf("another server with the same keys: %v", a)
	}
	stranger := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	if a := stranger.get(t, link); a.status != http.StatusNotFound {
		t.Errorf("a server with other keys: %v", a)
	}
	if a := newTarget(t, targetOptions{}).get(t, link); a.status != http.StatusNotFound {
		t.Errorf("a server without links: %v", a)
	}
	if a := s.get(t, link); a.status != http.StatusOK {
		t.Errorf("the link itself, after all that: %v", a)
	}
	if strings.Contains(log.String(), token) || !strings.Contains(log.String(), "path=/dl/- ") {
		t.Error("the log has the token, or does not tell of the download")
	}
	if tried < 200 {
		t.Errorf("%d links were tried", tried)
	}
}

func TestLinksExpireAndNameACommitForEver(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	l.manyUses = true
	var repo *gittest.Repo
	s := newTarget(t, targetOptions{links: l.linking(t), build: func(root string) {
		repo = gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Commit("main", gittest.Regular("a", "first"))
	}})
	link := at(t, s.downloadURL(t, modernVersion, "repo://repo/refs/heads/main/contents/a"))
	repo.Commit("main", gittest.Regular("a", "second"))
	for range 2 {
		if a := s.get(t, link); a.status != http.StatusOK || string(a.body) != "first" {
			t.Errorf("after a push: %v", a)
		}
	}
	tag := s.get(t, link).header.Get("Etag")
	if a := s.get(t, link, "If-None-Match: "+tag); a.status != http.StatusNotModified {
		t.Errorf("If-None-Match: %v", a)
	}
	l.clock.advance(5 * time.Minute)
	if a := s.get(t, link); a.status != http.StatusGone || !strings.Contains(string(a.body), "expired") {
		t.Errorf("after five minutes: %v", a)
	}
}

func TestResourcesHaveHTTPURLs(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	for _, version := range []string{modernVersion, sessionVersion} {
		a := s.do(t, s.call(version, "resources/list", nil))
		var reply struct {
			Result struct {
				Resources []struct {
					URI, HTTPURL, HTTPURLExpiresAt string
					Streamable                     bool
					Meta                           map[string]any `json:"_meta"`
				} `json:"resources"`
			} `json:"result"`
		}
		if err := json.Unmarshal(a.body, &reply); err != nil {
			t.Fatal(err)
		}
		linked := 0
		for _, r := range reply.Result.Resources {
			if r.Streamable != (r.HTTPURL != "") || r.HTTPURL != "" && (r.Meta["io.github.repomcp/httpUrl"] != r.HTTPURL || r.Meta["io.github.repomcp/httpUrlExpiresAt"] != r.HTTPURLExpiresAt) {
				t.Errorf("%s: %+v", r.URI, r)
			}
			if r.HTTPURL == "" {
				continue
			}
			linked++
			if _, err := time.Parse(time.RFC3339, r.HTTPURLExpiresAt); err != nil {
				t.Error(err)
			}
			want := s.do(t, &call{verb: http.MethodGet, path: "/archive/" + strings.TrimPrefix(strings.Replace(r.URI, "/archive/", "/", 1), "repo://")})
			for range 2 {
				response, err := s.client.Get(r.HTTPURL)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(response.Body)
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
				if err != nil || response.StatusCode != http.StatusOK || !bytes.Equal(got, want.body) {
					t.Errorf("%s: %d, %d bytes, %v; want %v", r.URI, response.StatusCode, len(got), err, want)
				}
			}
		}
		if linked < 3 {
			t.Errorf("%s: %d resources have an httpUrl", version, linked)
		}
		read := s.do(t, s.call(version, methodRead, map[string]any{"uri": "repo://hello/contents/README.md"}))
		if !strings.Contains(string(read.body), `"io.github.repomcp/httpUrl":"`+s.url+"/dl/") {
			t.Errorf("read: %v", read)
		}
	}
	if a := newTarget(t, targetOptions{}).do(t, s.call(modernVersion, "resources/list", nil)); strings.Contains(string(a.body), "httpUrl") {
		t.Errorf("without a public URL: %v", a)
	}
}

func TestLinkOfASessionIsNotAnothers(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	s := newTarget(t, targetOptions{links: l.linking(t)})
	link := at(t, s.downloadURL(t, sessionVersion, "repo://hello/contents/README.md"))
	for _, c := range []struct {
		session string
		status  int
	}{{s.sessions[batchVersion], 401}, {"invented", 401}, {"", 401}, {s.sessions[sessionVersion], 200}, {s.sessions[sessionVersion], 404}, {"invented", 401}} {
		a := s.get(t, link, "Mcp-Session-Id: "+c.session)
		if a.status != c.status || (a.header.Get("Www-Authenticate") != "") != (c.status == 401) {
			t.Errorf("session %.10q: %v, want %d", c.session, a, c.status)
		}
	}
}

// Where a link is of no session the client's own id says nothing: clients send
// it with whatever they ask the server for.
func TestLinksOfNobodyAskForNoSession(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	_, httpURL := s.readLinked(t, modernVersion, "repo://hello/contents/README.md")
	httpURL = strings.TrimPrefix(httpURL, s.url)
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
		for _, header := range []string{"X: x", "Mcp-Session-Id: " + s.sessions[sessionVersion]} {
			if a := s.get(t, httpURL, header); a.status != http.StatusOK {
				t.Errorf("httpUrl with %.30s: %v", header, a)
			}
		}
		if a := s.get(t, at(t, reply.Result), "Mcp-Session-Id: "+s.sessions[batchVersion]); a.status != http.StatusOK {
			t.Errorf("a link that was asked for with a stray header: %v", a)
		}
	}
}

// Who has a used link and the tag of its first reply does not have the content
// as often as they like.
func TestResumesOfAUsedLinkAreBounded(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t)})
	for _, uri := range []string{"repo://hello/archive/main.tar", "repo://hello/contents/README.md"} {
		link := at(t, s.downloadURL(t, modernVersion, uri))
		whole := s.get(t, link)
		for _, part := range []string{"bytes=0-", "bytes=1-"} {
			got := 0
			for range 20 {
				if a := s.get(t, link, "Range: "+part, "If-Range: "+whole.header.Get("ETag")); a.status == http.StatusPartialContent {
					got += len(a.body)
				} else if a.status != http.StatusNotFound {
					t.Fatalf("%s: %v", uri, a)
				}
			}
			if most := 3 * len(whole.body); got > most || part == "bytes=0-" && got < len(whole.body) {
				t.Errorf("%s: %d bytes again by %s, want %d at most, and one more attempt at least", uri, got, part, most)
			}
		}
	}
}

// A page of any site may follow a link that it has, as code in a sandbox does;
// it is sent no cookies, and may do nothing else.
func TestPagesFollowLinks(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]httpx.Options{"default": {}, "with allowed origins": {AllowedOrigins: []string{"https://ide.example"}}} {
		s := newTarget(t, targetOptions{links: newLinks(t).linking(t), http: options})
		link := at(t, s.downloadURL(t, modernVersion, "repo://hello/contents/README.md"))
		preflight := s.fetch(t, http.MethodOptions, link, "Origin: https://sandbox.example", "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: range,if-range")
		allowed := strings.ToLower(preflight.header.Get("Access-Control-Allow-Headers"))
		if preflight.status != http.StatusNoContent || preflight.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(allowed, "if-range") {
			t.Errorf("%s, preflight: %v %v", name, preflight, preflight.header)
		}
		a := s.get(t, link, "Origin: https://sandbox.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors")
		if a.status != http.StatusOK || string(a.body) != "hello\n" || a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Access-Control-Allow-Credentials") != "" ||
			a.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" || !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "Content-Disposition") {
			t.Errorf("%s: %v %v", name, a, a.header)
		}
		if a := s.get(t, link, "Origin: https://sandbox.example"); a.status != http.StatusNotFound || a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s, a used link: %v", name, a)
		}
		for _, path := range []string{"/raw/hello/main/README.md", "/mcp", "/dl"} {
			if a := s.get(t, path, "Origin: https://sandbox.example"); a.status != http.StatusForbidden {
				t.Errorf("%s, %s: %v", name, path, a)
			}
		}
		if a := s.do(t, &call{verb: http.MethodGet, path: link, host: "evil.example", header: http.Header{"Origin": {"https://sandbox.example"}}}); a.status != http.StatusForbidden {
			t.Errorf("%s, a foreign Host: %v", name, a)
		}
	}
}

// Without a public URL links lead to where the server listens, for those who
// reach it there and for nobody else.
func TestLocalLinks(t *testing.T) {
	t.Parallel()
	l := newLinks(t)
	linkTo := l.linking(t)
	s := newTarget(t, targetOptions{http: httpx.Options{AllowedHosts: []string{"git.example"}}, links: func(url string) resources.Linking {
		linking := linkTo(url)
		linking.Local = true
		return linking
	}})
	_, port, err := net.SplitHostPort(s.host)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, header string
		linked       bool
	}{
		{"", "", true}, {"localhost:" + port, "", true}, {"[::1]:" + port, "", true},
		{"localhost:1", "", false}, {"localhost", "", false}, {"git.example:" + port, "", false}, {"git.example", "", false},
		{"", "X-Forwarded-For: 10.0.0.1", false}, {"", "X-Forwarded-Proto: https", false}, {"", "X-Forwarded-Host: git.example", false}, {"", "Forwarded: for=10.0.0.1", false}, {"", "Via: 1.1 proxy", false},
	} {
		send := func(request *call) answer {
			request.host = c.host
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				request.header.Set(name, value)
			}
			return s.do(t, request)
		}
		ask := func(version, method string, params map[string]any) answer {
			return send(s.call(version, method, params))
		}
		for _, version := range []string{sessionVersion, modernVersion} {
			a := send(s.linkCall(version, "repo://hello/archive/main.tar.gz"))
			if c.linked != strings.Contains(string(a.body), `"downloadUrl":"`+s.url+"/dl/") || !c.linked && (a.code != -32003 || a.data["suggestion"] != "Accept: */*") {
				t.Errorf("%+v: %v", c, a)
			}
			if list := ask(version, "resources/list", nil); c.linked != strings.Contains(string(list.body), `"httpUrl":"`+s.url+"/dl/") {
				t.Errorf("%+v, list: %v", c, list)
			}
			if read := ask(version, methodRead, map[string]any{"uri": "repo://hello/contents/README.md"}); c.linked != strings.Contains(string(read.body), "httpUrl") || read.failed() {
				t.Errorf("%+v, read: %v", c, read)
			}
		}
		modes := `"modes":["direct"]`
		if c.linked {
			modes = `"modes":["direct","downloadUrl"]`
		}
		if a := ask(modernVersion, "server/discover", nil); !strings.Contains(string(a.body), modes) || !strings.Contains(string(a.body), `"stream":true`) {
			t.Errorf("%+v: %v", c, a)
		}
	}
	for _, version := range []string{modernVersion, sessionVersion} {
		socket := dial(t, s.url)
		if version == sessionVersion {
			socket.initialize(version)
		}
		f := socket.call(rpc(version, 1, methodStream, map[string]any{"uri": "repo://hello/contents/README.md"}))
		if f.Result == nil {
			t.Fatal(f.raw)
		}
		if (f.Result["resultType"] == "complete") != (version == modernVersion) {
			t.Errorf("%s over WebSocket: %s", version, f.raw)
		}
		if a := s.get(t, at(t, f.Result), "Mcp-Session-Id: "+s.sessions[sessionVersion]); a.status != http.StatusOK || string(a.body) != "hello\n" {
			t.Errorf("%s over WebSocket: %v", version, a)
		}
	}
}

// A list may be reused no longer than the links in it are good for.
func TestListsOutliveNoLink(t *testing.T) {
	t.Parallel()
	for lifetime, want := range map[time.Duration]float64{0: 10_000, 5 * time.Second: 4_000, time.Second: 0} {
		l := newLinks(t)
		linkTo := l.linking(t)
		s := newTarget(t, targetOptions{links: func(url string) resources.Linking {
			linking := linkTo(url)
			linking.Lifetime = lifetime
			return linking
		}})
		var reply struct {
			Result map[string]any `json:"result"`
		}
		a := s.do(t, s.call(modernVersion, "resources/list", nil))
		if err := json.Unmarshal(a.body, &reply); err != nil || reply.Result["ttlMs"] != want {
			t.Errorf("links of %v: ttlMs is %v, want %v, %v", lifetime, reply.Result["ttlMs"], want, err)
		}
	}
}

func TestDeniedRepositoriesHaveNoLinks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "denied")
	write(t, file, "deny team/*\n")
	denied, err := links.LoadRevocations(file)
	if err != nil {
		t.Fatal(err)
	}
	before := newLinks(t)
	s := newTarget(t, targetOptions{links: before.linking(t)})
	link := at(t, s.downloadURL(t, modernVersion, "repo://team/app/archive/main.tar.gz"))
	after := &withLinks{keys: before.keys, nonces: before.nonces, clock: before.clock, publicURL: before.publicURL, denied: denied}
	replica := &target{root: s.root}
	replica.serve(t, targetOptions{links: after.linking(t)})
	if a := replica.get(t, link); a.status != http.StatusGone || !strings.Contains(string(a.body), "withdrawn") {
		t.Errorf("a link from before: %v", a)
	}
	if a := replica.do(t, replica.linkCall(modernVersion, "repo://team/app/archive/main.tar.gz")); !strings.Contains(string(a.body), "-32003") {
		t.Errorf("a new link: %v", a)
	}
	replica.downloadURL(t, modernVersion, "repo://hello/archive/main.tar.gz")
	list := string(replica.do(t, replica.call(modernVersion, "resources/list", nil)).body)
	_, app, _ := strings.Cut(list, `"repo://team/app/archive/`)
	app, _, _ = strings.Cut(app, `"uri":`)
	if app == "" || strings.Contains(app, "/dl/") || !strings.Contains(list, "/dl/") {
		t.Error("the list has a link of a denied repository, or none at all")
	}
}

// What is too large to be read can be had by its link, which every client can
// hand on.
func TestTooLargeToReadHasALink(t *testing.T) {
	t.Parallel()
	content := gittest.Noise(5 << 20)
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t), build: func(root string) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("large", content))
	}})
	a := s.do(t, s.call(modernVersion, methodRead, map[string]any{"uri": "repo://repo/contents/large"}))
	link, _ := a.data["httpUrl"].(string)
	if a.reason != "too_large" || a.data["httpUrlExpiresAt"] == nil {
		t.Fatal(a)
	}
	if got := s.get(t, strings.TrimPrefix(link, s.url)); got.status != http.StatusOK || string(got.body) != content {
		t.Errorf("%v, %d bytes", got.status, len(got.body))
	}
}

package httpx_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/operate/statuspage"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools"
	"github.com/repomcp/repomcp/internal/tools/prompts"
	"github.com/repomcp/repomcp/internal/watch"
)

// The versions that stand for an era each, and the one with batches.
const (
	batchVersion   = "2025-03-26"
	sessionVersion = "2025-11-25"
	modernVersion  = "2026-07-28"
)

var eras = []string{sessionVersion, modernVersion}

const (
	methodRead   = "resources/read"
	methodStream = "resources/stream"

	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"

	acceptBoth = "application/json, text/event-stream"
)

// target is a server over TCP with the repositories that attacks aim at.
type target struct {
	root   string // the folder of the mirrors, which no reply may show
	url    string
	host   string
	client *http.Client
	server *httpx.Server

	catalogue     *repos.Catalogue
	mcp           *mcp.Server
	subscriptions *watch.Subscriptions
	// sessions are ids of initialized sessions by version of the protocol.
	sessions map[string]string
	gittest.Aims
}

// targetOptions vary a target.
type targetOptions struct {
	key  []byte // of session ids
	http httpx.Options
	// limits of archives
	limits archive.Limits
	links  func(publicURL string) resources.Linking
	// delivery of resources/stream where the request does not say
	delivery mcp.Delivery
	cache    *cache.Cache
	build    func(root string)
	// binaryLimit is the most that follows a reply as bytes
	binaryLimit int64
	// heartbeat of event streams
	heartbeat time.Duration
	// authorization of the sessions that are opened
	authorization string
	// tools and prompts are offered
	tools bool
	// visible is that of the catalogue
	visible func(context.Context) func(name string) bool
}

func newTarget(t *testing.T, options targetOptions) *target {
	t.Helper()
	s := &target{root: filepath.Join(t.TempDir(), "mirrors"), sessions: make(map[string]string)}
	if options.build != nil {
		options.build(s.root)
	} else {
		s.Aims = aimed.copyTo(t, s.root)
	}
	s.serve(t, options)
	for _, version := range []string{batchVersion, sessionVersion} {
		s.sessions[version] = s.initializeAs(t, options.authorization, version, `{"resourceStreaming":{}}`)
	}
	return s
}

func (s *target) serve(t *testing.T, options targetOptions) {
	t.Helper()
	catalogue := repostest.Open(t, s.root, repos.Options{Logger: options.http.Logger, Visible: options.visible})
	s.catalogue = catalogue
	s.subscriptions = watch.New(watch.Options{Catalogue: catalogue, Logger: options.http.Logger})
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var linking resources.Linking
	if options.links != nil {
		linking = options.links("http://" + listener.Addr().String())
	}
	options.http.Resources = resources.New(resources.Options{
		Catalogue: catalogue, Engine: engine, ArchiveLimits: options.limits, Links: linking, Cache: options.cache,
		Limits: options.http.Limits, Logger: options.http.Logger,
	})
	options.http.MCP = mcp.New(mcp.Options{
		Catalogue: catalogue, Resources: options.http.Resources,
		Subscriptions: s.subscriptions, Unknown: tools.Unknown,
		Version: "test", Sessions: mcp.NewSessions(options.key), Delivery: options.delivery,
		Heartbeat: options.heartbeat, BinaryLimit: options.binaryLimit, Logger: options.http.Logger,
	})
	s.mcp = options.http.MCP
	if options.tools {
		for _, prompt := range prompts.All() {
			options.http.MCP.AddPrompt(prompt.Prompt, prompt.Write)
		}
		for _, tool := range tools.New(tools.Options{
			Catalogue: catalogue, Resources: options.http.Resources, Logger: options.http.Logger,
			Searcher: search.New(catalogue, engine.Scheduler(), search.Options{}), History: history.NewCache(0),
		}) {
			options.http.MCP.AddTool(tool.Tool, tool.Handler)
		}
	}
	options.http.Page = statuspage.New(statuspage.Options{Catalogue: catalogue})
	server := httpx.New(options.http)
	s.server = server
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.host = listener.Addr().String()
	s.url = "http://" + s.host
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		Timeout: gittest.Patience}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		// t.Context has ended, and a test may leave connections that it broke.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
		engine.Close()
	})
}

// fixture is a root folder that is built once, and copied for each test that asks
// for it: most of a target's time would go to git otherwise.
type fixture[Facts any] struct {
	build func(t *testing.T, root string) Facts

	once  sync.Once
	dir   string // "" unless it was built
	facts Facts
}

func (f *fixture[Facts]) copyTo(t *testing.T, root string) Facts {
	t.Helper()
	f.once.Do(func() {
		dir, err := os.MkdirTemp(fixtures, "")
		if err != nil {
			t.Fatal(err)
		}
		f.facts = f.build(t, dir)
		f.dir = dir
	})
	if f.dir == "" {
		t.Fatal("the repositories could not be built")
	}
	if err := os.CopyFS(root, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	return f.facts
}

var aimed = fixture[gittest.Aims]{build: gittest.BuildAims}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// initialize opens a session and returns its id.
func (s *target) initialize(t *testing.T, version, capabilities string) string {
	t.Helper()
	return s.initializeAs(t, "", version, capabilities)
}

// initializeAs is initialize with credentials, unless they are "".
func (s *target) initializeAs(t *testing.T, authorization, version, capabilities string) string {
	t.Helper()
	header := plainHeader()
	if authorization != "" {
		header.Set("Authorization", authorization)
	}
	a := s.do(t,
		&call{header: header,
			body: []byte(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
				`","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`)})
	id := a.header.Get("Mcp-Session-Id")
	if a.status != http.StatusOK || id == "" {
		t.Fatalf("initialize: %d %s", a.status, a.body)
	}
	return id
}

func plainHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Accept": {acceptBoth}}
}

// call is a request that a test may break before it is sent.
type call struct {
	verb, path, host string // POST, /mcp and the server's own when ""
	header           http.Header
	message          map[string]any // the JSON-RPC message
	body             []byte         // instead of message
	unknownLength    bool           // sent in chunks
}

// call makes a good request of a version of the protocol. The parameters are
// copied.
func (s *target) call(version, method string, params map[string]any) *call {
	params = maps.Clone(params)
	if params == nil {
		params = make(map[string]any)
	}
	c := &call{header: plainHeader(), message: map[string]any{"jsonrpc": "2.0", "id": 7, "method": method,
		"params": params}}
	if method == methodStream {
		c.header.Set("Accept", acceptBoth+", */*")
	}
	if version == modernVersion {
		params["_meta"] = map[string]any{metaVersion: version,
			metaCapabilities: map[string]any{"resourceStreaming": map[string]any{}}}
		c.header.Set("Mcp-Method", method)
		if uri, ok := params["uri"].(string); ok && (method == methodRead || method == methodStream) {
			c.header.Set("Mcp-Name", headerText(uri))
		}
	} else {
		c.header.Set("Mcp-Session-Id", s.sessions[version])
	}
	if version != batchVersion {
		c.header.Set("Mcp-Protocol-Version", version)
	}
	return c
}

// linkCall is a resources/stream request of a client that knows JSON only.
func (s *target) linkCall(version, uri string) *call {
	c := s.call(version, methodStream, map[string]any{"uri": uri})
	c.header.Set("Accept", acceptBoth)
	return c
}

// headerText encodes what a header cannot carry as 2026-07-28 says.
func headerText(text string) string {
	for _, r := range text {
		if r < ' ' || r > '~' {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
		}
	}
	if strings.TrimSpace(text) != text {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
	}
	return text
}

func (c *call) params() map[string]any { return c.message["params"].(map[string]any) }

func (c *call) meta() map[string]any { return c.params()["_meta"].(map[string]any) }

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // of reading the body

	// Of a JSON-RPC error.
	code   int
	reason string
	data   map[string]any
}

func (a answer) String() string {
	body := a.body
	if len(body) > 400 {
		body = body[:400]
	}
	return fmt.Sprintf("%d %s %s (%v)", a.status, a.header.Get("Content-Type"), body, a.err)
}

func (a answer) failed() bool { return a.status >= 400 || a.code != 0 }

// open sends a request and leaves the body of the reply to the caller.
func (s *target) open(ctx context.Context, c *call) (*http.Response, error) {
	body := c.body
	if body == nil && c.message != nil {
		var err error
		if body, err = json.Marshal(c.message); err != nil {
			return nil, err
		}
	}
	verb, path := c.verb, c.path
	if verb == "" {
		verb = http.MethodPost
	}
	if path == "" {
		path = "/mcp"
	}
	var reader io.Reader = bytes.NewReader(body)
	if c.unknownLength {
		reader = io.MultiReader(reader)
	}
	request, err := http.NewRequestWithContext(ctx, verb, s.url+path, reader)
	if err != nil {
		return nil, err
	}
	request.Header = c.header.Clone()
	request.Host = c.host
	return s.client.Do(request)
}

func (s *target) send(ctx context.Context, c *call) (answer, error) {
	response, err := s.open(ctx, c)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, header: response.Header}
	a.body, a.err = io.ReadAll(response.Body)
	a.parse()
	return a, response.Body.Close()
}

func (s *target) do(t *testing.T, c *call) answer {
	t.Helper()
	a, err := s.send(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.checkLeaks(t, a)
	return a
}

func (a *answer) parse() {
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		return
	}
	var reply struct {
		Error struct {
			Code int            `json:"code"`
			Data map[string]any `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(a.body, &reply) == nil {
		a.code, a.data = reply.Error.Code, reply.Error.Data
		a.reason, _ = a.data["reason"].(string)
	}
}

// checkLeaks fails the test when an error shows more than it should, or less:
// every JSON-RPC error has a reason that programs can read.
func (s *target) checkLeaks(t *testing.T, a answer) {
	t.Helper()
	if !a.failed() {
		return
	}
	gittest.CheckLeaks(t, s.root, fmt.Sprint(a.header)+string(a.body))
	if a.code != 0 && a.reason == "" {
		t.Errorf("the error has no data.reason: %v", a)
	}
}

// good is a request that must succeed whatever else happens.
func (s *target) good(t *testing.T, version, method string) *call {
	t.Helper()
	return s.call(version, method, map[string]any{"uri": "repo://hello/contents/README.md"})
}

// during runs an attack beside a good request, and another one after it.
func (s *target) during(t *testing.T, attack func()) {
	t.Helper()
	beside := make(chan string, 1)
	go func() {
		a, err := s.send(t.Context(),
			s.call(sessionVersion, methodStream, map[string]any{"uri": "repo://hello/contents/README.md"}))
		beside <- fmt.Sprintf("%s%v%v", a.body, a.err, err)
	}()
	attack()
	if got := <-beside; got != "hello\n<nil><nil>" {
		t.Errorf("a good request beside the attack got %q", got)
	}
	if a := s.do(t, s.good(t, modernVersion, methodRead)); a.failed() ||
		!strings.Contains(string(a.body), `"text":"hello\n"`) {
		t.Errorf("a good request after the attack got %v", a)
	}
}

// routes are all that answer, and some that do not.
var routes = []call{
	{verb: http.MethodPost, path: "/mcp"}, {verb: http.MethodGet, path: "/mcp"},
	{verb: http.MethodDelete, path: "/mcp"}, {verb: http.MethodPut, path: "/mcp"},
	{verb: http.MethodOptions, path: "/mcp"}, {verb: http.MethodHead, path: "/mcp"},
	{verb: http.MethodGet, path: "/healthz"}, {verb: http.MethodPost, path: "/healthz"},
	{verb: http.MethodGet, path: "/"}, {verb: http.MethodGet, path: "/unknown"},
	{verb: http.MethodPost, path: "/unknown"}, {verb: http.MethodGet, path: "/mcp/"},
	{verb: http.MethodGet, path: "/mcp%2f"}, {verb: http.MethodGet, path: "//mcp"},
	{verb: http.MethodGet, path: "/metrics"}, {verb: http.MethodGet, path: "/ws"},
	{verb: http.MethodGet, path: "/archive/hello/main.tar"}, {verb: http.MethodHead, path: "/archive/hello/main.tar"},
	{verb: http.MethodPost, path: "/archive/hello/main.tar"},
	{verb: http.MethodGet, path: "/raw/hello/main/README.md"},
	{verb: http.MethodHead, path: "/raw/hello/main/README.md"},
	{verb: http.MethodDelete, path: "/raw/hello/main/README.md"},
	{verb: http.MethodGet, path: "/archive/"}, {verb: http.MethodGet, path: "/raw"},
}

// onRoute is a good request of an era with the verb and path of a route.
func (s *target) onRoute(version string, route call) *call {
	c := s.call(version, methodRead, map[string]any{"uri": "repo://hello"})
	c.verb, c.path = route.verb, route.path
	return c
}

package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/resources/skills"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools"
	"github.com/repomcp/repomcp/internal/tools/prompts"
	"github.com/repomcp/repomcp/internal/watch"
)

const batchVersion = "2025-03-26"

// eras have a version of the protocol each.
var eras = []string{sessionVersion, modernVersion}

// local is a server that is asked in this process, by the steps that HTTP takes.
type local struct {
	*Server
	root          string // the folder of the mirrors, which no reply may show
	catalogue     *repos.Catalogue
	subscriptions *watch.Subscriptions
	sessions      map[string]string // ids by version of the protocol
	gittest.Aims
}

// localOptions vary a local server.
type localOptions struct {
	key   []byte            // of session ids
	build func(root string) // instead of the repositories of gittest.BuildAims
	repos repos.Options
	watch watch.Options
	links resources.Linking
	cache *cache.Cache
	tools bool // and prompts
	// skills are the patterns of listed ones; nil are the usual ones
	skills []string
	// logger of the server and its mirrors
	logger *slog.Logger
}

var aimed struct {
	once sync.Once
	dir  string // of a copy for each test
	aims gittest.Aims
}

func TestMain(m *testing.M) {
	status := m.Run()
	if aimed.dir != "" {
		_ = os.RemoveAll(aimed.dir)
	}
	os.Exit(status)
}

// copyAims copies the repositories of gittest.BuildAims, which are built once.
func copyAims(t *testing.T, root string) gittest.Aims {
	t.Helper()
	aimed.once.Do(func() {
		dir, err := os.MkdirTemp("", "mcp")
		if err != nil {
			t.Fatal(err)
		}
		aimed.dir, aimed.aims = dir, gittest.BuildAims(t, dir)
	})
	if aimed.aims.Ambiguous == "" {
		t.Fatal("the repositories could not be built")
	}
	if err := os.CopyFS(root, os.DirFS(aimed.dir)); err != nil {
		t.Fatal(err)
	}
	return aimed.aims
}

// newLocal makes a server with open sessions of the older generation.
func newLocal(t *testing.T, options localOptions) *local {
	t.Helper()
	s := &local{root: filepath.Join(t.TempDir(), "mirrors"), sessions: make(map[string]string)}
	if options.build != nil {
		options.build(s.root)
	} else {
		s.Aims = copyAims(t, s.root)
	}
	s.serve(t, options)
	for _, version := range []string{batchVersion, sessionVersion} {
		s.sessions[version] = s.initialize(t, version, `{"resourceStreaming":{}}`)
	}
	return s
}

// newWatched makes a server with one empty mirror, for tests that push to it.
func newWatched(t *testing.T, options localOptions) (s *local, mirror *gittest.Repo) {
	t.Helper()
	options.build = func(root string) { mirror = gittest.At(t, filepath.Join(root, "repo.git")) }
	s = newLocal(t, options)
	return s, mirror
}

func (s *local) serve(t *testing.T, options localOptions) {
	t.Helper()
	options.repos.Logger = cmp.Or(options.repos.Logger, options.logger)
	s.catalogue = repostest.Open(t, s.root, options.repos)
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	if options.cache != nil {
		t.Cleanup(options.cache.Close)
	}
	found := resources.New(resources.Options{Catalogue: s.catalogue, Engine: engine, Links: options.links,
		Cache: options.cache, Logger: options.logger})
	library, err := skills.New(skills.Options{Patterns: options.skills, Logger: options.logger})
	if err != nil {
		t.Fatal(err)
	}
	options.watch.Catalogue, options.watch.Skills = s.catalogue, library
	s.subscriptions = watch.New(options.watch)
	s.Server = New(Options{
		Catalogue: s.catalogue, Resources: found, Subscriptions: s.subscriptions, Skills: library, Version: "test",
		Unknown: tools.Unknown, Sessions: NewSessions(options.key), Logger: options.logger,
	})
	if !options.tools {
		return
	}
	for _, prompt := range prompts.All() {
		s.AddPrompt(prompt.Prompt, prompt.Write)
	}
	for _, tool := range tools.New(tools.Options{
		Catalogue: s.catalogue, Resources: found, Logger: options.logger, History: history.NewCache(0),
		Searcher: search.New(s.catalogue, engine.Scheduler(), search.Options{}),
	}) {
		s.AddTool(tool.Tool, tool.Handler)
	}
}

// call is a message that a test may break before it is sent.
type call struct {
	header  http.Header
	message map[string]any
	body    []byte // instead of message
	address string // of the client
	as      access.Principal
}

// call makes a good request of a version of the protocol. The parameters are copied.
func (s *local) call(version, method string, params map[string]any) *call {
	params = maps.Clone(params)
	if params == nil {
		params = make(map[string]any)
	}
	c := &call{header: http.Header{}, message: map[string]any{"jsonrpc": "2.0", "id": 7, "method": method,
		"params": params}}
	if version == modernVersion {
		params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: version,
			mcp.MetaKeyClientCapabilities: map[string]any{"resourceStreaming": map[string]any{}}}
		c.header.Set(HeaderMethod, method)
		for _, member := range []string{"uri", "name"} {
			if name, ok := params[member].(string); ok {
				c.header.Set(HeaderName, "=?base64?"+base64.StdEncoding.EncodeToString([]byte(name))+"?=")
			}
		}
	} else {
		c.header.Set(HeaderSession, s.sessions[version])
	}
	if version != batchVersion {
		c.header.Set(HeaderVersion, version)
	}
	return c
}

func (c *call) params() map[string]any { return c.message["params"].(map[string]any) }

func (c *call) meta() map[string]any { return c.params()["_meta"].(map[string]any) }

// received is what came back: a message, or the bytes of a stream.
type received struct {
	body     []byte
	streamed bool
	err      error        // of writing the bytes
	state    SessionState // other than SessionPresent in place of a reply
	accepted bool         // as a notification, which has no reply
	session  string       // that the request began

	// Of an error.
	code   int
	reason string
	data   map[string]any
}

func (a received) String() string {
	return fmt.Sprintf("state %d, accepted %t, streamed %t: %.400s (%v)", a.state, a.accepted, a.streamed, a.body, a.err)
}

func (a received) failed() bool { return a.state != SessionPresent || a.code != 0 }

// read fills in the members of an error.
func (a received) read() received {
	var reply struct {
		Error struct {
			Code int
			Data map[string]any
		}
	}
	if !a.streamed && json.Unmarshal(a.body, &reply) == nil {
		a.code, a.data = reply.Error.Code, reply.Error.Data
		a.reason, _ = a.data["reason"].(string)
	}
	return a
}

// do sends one message, whatever is wrong with it.
func (s *local) do(t *testing.T, c *call) received {
	t.Helper()
	a := s.handle(t, c).read()
	if a.failed() {
		gittest.CheckLeaks(t, s.root, string(a.body))
	}
	if a.code != 0 && a.reason == "" {
		t.Errorf("the error has no data.reason: %v", a)
	}
	return a
}

// handle takes the steps of the package document.
func (s *local) handle(t *testing.T, c *call) received {
	t.Helper()
	era := SessionEra
	if IsModern(c.header.Get(HeaderVersion)) {
		era = ModernEra
	}
	messages, batch, failure := ParseMessages(c.encode(t))
	if failure != nil {
		return received{body: ErrorReply(nil, failure, era)}
	}
	if batch {
		t.Fatalf("a test sends a batch: %.100q", c.encode(t))
	}
	asked := access.WithPrincipal(t.Context(), c.as)
	r, state, failure := s.Admit(asked, messages[0], c.header.Get)
	r.Address = c.address
	switch {
	case state != SessionPresent:
		return received{state: state}
	case failure != nil:
		return received{body: ErrorReply(r.ID, failure, r.Era)}
	case !r.IsRequest():
		s.Notified(r)
		return received{accepted: true}
	}
	ctx, end := s.Begin(asked, r)
	defer end()
	var reply Reply
	switch {
	case r.Method == MethodStream:
		reply = s.Stream(ctx, r, func(string) bool { return true })
	case r.IsListen():
		reply = s.Listen(ctx, r, func([]byte) error { return nil })
	default:
		reply = s.Answer(ctx, r)
	}
	if reply.Stream == nil {
		return received{body: reply.Message, session: reply.Session}
	}
	var content bytes.Buffer
	err := reply.Stream.WriteTo(ctx, &content)
	return received{body: content.Bytes(), streamed: true, err: errors.Join(err, reply.Stream.Close())}
}

// connected is a client over a connection, as of WebSocket.
type connected struct {
	*Connection
	t *testing.T
}

// connect opens a connection, and a session in it where the version has sessions.
func (s *local) connect(t *testing.T, version string) connected {
	t.Helper()
	c := connected{s.Connect("", ""), t}
	t.Cleanup(c.Close)
	if version != modernVersion {
		if a := c.do(&call{body: initializing(version, `{"resourceStreaming":{}}`)}); a.failed() {
			t.Fatalf("initialize: %v", a)
		}
	}
	return c
}

// do sends a request, without headers, and returns the reply to it.
func (c connected) do(sent *call) received {
	c.t.Helper()
	return c.exchange(c.t.Context(), sent, func([]byte) error { return nil })
}

// exchange is do with the notifications that belong to the request.
func (c connected) exchange(ctx context.Context, sent *call, notify func([]byte) error) received {
	c.t.Helper()
	messages, _, failure := ParseMessages(sent.encode(c.t))
	if failure != nil {
		return received{body: ErrorReply(nil, failure, SessionEra)}.read()
	}
	r, failure := c.Admit(messages[0])
	if failure != nil {
		return received{body: ErrorReply(r.ID, failure, r.Era)}.read()
	}
	started, failure := c.Start(ctx, r)
	if failure != nil {
		return received{body: ErrorReply(r.ID, failure, r.Era)}.read()
	}
	defer started.End()
	return received{body: started.Answer(notify).Message}.read()
}

// initializing is the message that opens a session.
func initializing(version, capabilities string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`)
}

// encode writes the message.
func (c *call) encode(t *testing.T) []byte {
	t.Helper()
	if c.body != nil {
		return c.body
	}
	body, err := json.Marshal(c.message)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// initialize opens a session and returns its id.
func (s *local) initialize(t *testing.T, version, capabilities string) string {
	t.Helper()
	a := s.do(t, &call{header: http.Header{}, body: initializing(version, capabilities)})
	if a.failed() || a.session == "" {
		t.Fatalf("initialize: %v", a)
	}
	return a.session
}

// good is a request that must succeed whatever else happens.
func (s *local) good(version, method string) *call {
	return s.call(version, method, map[string]any{"uri": "repo://hello/contents/README.md"})
}

// during makes an attack beside a good request, and another one after it.
func (s *local) during(t *testing.T, attack func()) {
	t.Helper()
	var beside sync.WaitGroup
	beside.Go(func() {
		if a := s.do(t, s.good(sessionVersion, MethodStream)); string(a.body) != "hello\n" || a.err != nil {
			t.Errorf("a good request beside the attack got %v", a)
		}
	})
	attack()
	beside.Wait()
	if a := s.do(t, s.good(modernVersion, MethodRead)); a.failed() ||
		!strings.Contains(string(a.body), `"text":"hello\n"`) {
		t.Errorf("a good request after the attack got %v", a)
	}
}

// refusedWith has the codes of an error in each era. They are written out here and not taken from
// the product: clients rely on the numbers.
var refusedWith = map[string]struct{ session, modern int }{
	"invalid_uri":               {-32602, -32602},
	"invalid_params":            {-32602, -32602},
	"ambiguous_revision":        {-32602, -32602},
	"not_found":                 {-32002, -32602},
	"method_not_found":          {-32601, -32601},
	"parse_error":               {-32700, -32700},
	"invalid_request":           {-32600, -32600},
	"client_capability_missing": {-32003, -32021},
	"stream_not_supported":      {-32003, -32003},
	"too_large":                 {-32004, -32004},
}

// expect fails the test unless an answer is the error of a reason.
func expect(t *testing.T, a received, version, reason, what string) {
	t.Helper()
	want, ok := refusedWith[reason]
	if !ok {
		t.Fatalf("no code for %q", reason)
	}
	code := want.session
	if version == modernVersion {
		code = want.modern
	}
	if a.code != code || a.reason != reason {
		t.Errorf("%s %s: %v\nwant %d, %s", version, what, a, code, reason)
	}
}

package client_test

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/cache/cachetest"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

// TestMain looks for goroutines that are left behind. Kept connections are
// net/http's.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == stdioCommand {
		if err := serveStdio(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// protocols are all that are spoken.
var protocols = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

// deliveries are the three ways of resources/stream.
var deliveries = []string{"direct", "downloadUrl", "redirect"}

// site has real servers over the same repositories, replicas of each other, behind
// a proxy that fails as a test wants it to.
type site struct {
	*proxy
	t       *testing.T
	repo    *gittest.Repo
	storage *httptest.Server // target of redirects
	options client.Options   // for its clients
}

// newSite has one server, or several, with a repository "team/app".
func newSite(t *testing.T, delivery string, replicas int) *site {
	t.Helper()
	s := &site{proxy: newProxy(t), t: t}
	root := t.TempDir()
	s.repo = gittest.At(t, filepath.Join(root, "team/app.git"))
	s.repo.Commit("main", gittest.Regular("README.md", "# app\n"), gittest.Regular("src/noise", gittest.Noise(300_000)),
		gittest.Regular("src/empty", ""))
	linking := newLinking(t, s.url)
	way := mcp.DeliveryAny
	if delivery == "downloadUrl" {
		way = mcp.DeliveryURL
	}
	bucket := &cachetest.Bucket{}
	s.storage = serveBucket(t, bucket)
	for range replicas {
		objects := (*cache.Objects)(nil)
		if delivery == "redirect" {
			objects = cache.NewObjects(bucket, bucket)
		}
		s.targets = append(s.targets, serve(t, root, linking, way, objects))
	}
	if delivery == "redirect" {
		fill(t, root, linking, bucket)
	}
	s.options = client.Options{Origins: []string{s.storage.URL}, HTTP: s.client}
	return s
}

func newLinking(t *testing.T, address string) resources.Linking {
	t.Helper()
	base, err := links.ParseBase(address)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := links.RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := links.New(links.Options{Keys: keys, Base: base, Nonces: links.NewMemory(time.Now), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return resources.Linking{Authority: authority, Base: base}
}

// serve starts a server that notices pushes, and gives its address.
func serve(t *testing.T, root string, linking resources.Linking, way mcp.Delivery, objects *cache.Objects) *url.URL {
	t.Helper()
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var kept *cache.Cache
	if objects != nil {
		kept = cache.New(cache.Options{Objects: objects})
	}
	logger := slog.New(slog.DiscardHandler)
	found := resources.New(resources.Options{Catalogue: catalogue, Engine: engine, Links: linking, Cache: kept,
		Logger: logger})
	subscriptions := watch.New(watch.Options{Catalogue: catalogue, Logger: logger})
	messages := mcp.New(mcp.Options{
		Catalogue: catalogue, Resources: found, Subscriptions: subscriptions, Version: "test", Delivery: way,
		Sessions: mcp.NewSessions([]byte(strings.Repeat("k", 32))), Logger: logger,
	})
	server := httpx.New(httpx.Options{MCP: messages, Resources: found, Logger: logger})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { subscriptions.Run(ctx) })
	running.Go(func() { catalogue.Watch(ctx) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		stopping, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = server.Shutdown(stopping) // of connections that the test has broken
		cancel()
		running.Wait()
		if kept != nil {
			kept.Close()
		}
		engine.Close()
		_ = catalogue.Close()
	})
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

// serveBucket serves the objects of a bucket to every client that has their address.
func serveBucket(t *testing.T, bucket *cachetest.Bucket) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		object, err := bucket.Object(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.Error(w, "NoSuchKey", http.StatusNotFound)
			return
		}
		if r.Header.Get("Authorization") != "" || r.Header.Get("Mcp-Session-Id") != "" {
			http.Error(w, "credentials", http.StatusBadRequest)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(object)))
		w.Header().Set("Content-Type", "application/x-of-storage")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(object)))
	}))
	bucket.Base = server.URL + "/"
	t.Cleanup(server.Close)
	return server
}

// fill has the archives that tests ask for made and uploaded.
func fill(t *testing.T, root string, linking resources.Linking, bucket *cachetest.Bucket) {
	t.Helper()
	filler := serve(t, root, linking, mcp.DeliveryAny, cache.NewObjects(bucket, nil))
	for n, format := range []string{"tar", "tar.gz"} {
		download(t, filler.String()+"/archive/team/app/main."+format)
		gittest.Await(t, "an archive is uploaded", func() bool { return len(bucket.Names()) > n })
	}
}

func download(t *testing.T, address string) []byte {
	t.Helper()
	reply, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	content, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, reply.StatusCode, err)
	}
	return content
}

// whole is what a plain download of the first server gives, past the proxy.
func (s *site) whole(route string) []byte {
	s.t.Helper()
	return download(s.t, s.targets[0].String()+route)
}

func (s *site) connect(protocol string) *client.Client {
	s.t.Helper()
	o := s.options
	o.Protocol = protocol
	c, err := client.Connect(s.t.Context(), s.url+"/mcp", o)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// fault is what happens to one reply.
type fault struct {
	status  int           // instead of it; 0: none
	refuse  bool          // the connection breaks before it
	cut     int64         // bytes after which the connection breaks; 0: never
	corrupt int64         // the byte, from 1 on, that is another one; 0: none
	delay   time.Duration // before the first byte
	stall   bool          // after cut the connection stays, and gives nothing
	hide    bool          // cut is a clean end
	lose    bool          // trailers do not come, though they are announced
	events  int           // the status that event streams get; 0: pass
	hold    bool          // event streams give nothing
}

// proxy passes requests to its targets in turn, and does to replies what it is
// told to.
type proxy struct {
	url     string
	client  *http.Client
	targets []*url.URL

	mu    sync.Mutex
	plan  func(n int, r *http.Request) fault // n counts requests; nil: none fails
	heard []string                           // "METHOD PATH range status" of each reply
	bytes *int64                             // of all bodies of requests since [proxy.fail]
	turn  int
	open  []func() // streams of events
}

func newProxy(t *testing.T) *proxy {
	p := &proxy{bytes: new(int64)}
	stop := make(chan struct{})
	reverse := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			p.mu.Lock()
			defer p.mu.Unlock()
			r.SetURL(p.targets[p.turn%len(p.targets)])
			p.turn++
		},
		FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		ModifyResponse: func(reply *http.Response) error {
			f, _ := reply.Request.Context().Value(fault{}).(fault)
			body := &faulty{ReadCloser: reply.Body, fault: f, proxy: p, stop: stop, ctx: reply.Request.Context(),
				reply: reply, events: strings.HasPrefix(reply.Header.Get("Content-Type"), "text/event-stream")}
			reply.Body = body
			p.mu.Lock()
			body.count = p.bytes
			p.heard = append(p.heard, fmt.Sprint(reply.Request.Method, " ", reply.Request.URL.Path, " ",
				reply.Request.Header.Get("Range"), " ", reply.StatusCode))
			p.mu.Unlock()
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		n, plan := p.turn, p.plan
		f := fault{}
		if plan != nil {
			f = plan(n, r)
		}
		if f.refuse || f.status != 0 {
			p.turn++
			p.heard = append(p.heard, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Range"), " ", f.status))
		}
		p.mu.Unlock()
		time.Sleep(f.delay)
		switch {
		case f.refuse:
			panic(http.ErrAbortHandler)
		case f.status != 0:
			http.Error(w, "The proxy fails.", f.status)
		case f.events != 0 && isListening(r):
			http.Error(w, "No events.", f.events)
		default:
			ctx, cancel := context.WithCancel(context.WithValue(r.Context(), fault{}, f))
			defer cancel()
			if isListening(r) {
				p.mu.Lock()
				p.open = append(p.open, cancel)
				p.mu.Unlock()
			}
			reverse.ServeHTTP(w, r.WithContext(ctx))
		}
	}))
	p.url, p.client = server.URL, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(func() {
		close(stop)
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

func isListening(r *http.Request) bool {
	return r.Header.Get("Mcp-Method") == "subscriptions/listen" || r.Method == http.MethodGet &&
		r.Header.Get("Accept") == "text/event-stream"
}

// fail sets what happens from now on, and forgets what was heard. Bodies that are on
// their way still, as their client has left, count for what was before.
func (p *proxy) fail(plan func(n int, r *http.Request) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.heard, p.bytes, p.turn = plan, nil, new(int64), 0
}

func (p *proxy) what() (heard []string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.heard...), *p.bytes
}

// faulty is a body on its way through the proxy.
type faulty struct {
	io.ReadCloser
	fault  fault
	proxy  *proxy
	stop   chan struct{}
	ctx    context.Context
	reply  *http.Response
	events bool
	at     int64
	count  *int64 // of the bytes of its time, under the lock of the proxy
}

func (f *faulty) Read(p []byte) (int, error) {
	if f.events && f.fault.hold || f.fault.stall && f.at == f.fault.cut {
		select {
		case <-f.stop:
		case <-f.ctx.Done():
		}
		return 0, io.ErrUnexpectedEOF
	}
	if cut := f.fault.cut; cut > 0 {
		if f.at == cut && f.fault.hide {
			return 0, io.EOF
		}
		if f.at == cut {
			return 0, io.ErrUnexpectedEOF
		}
		p = p[:min(int64(len(p)), cut-f.at)]
	}
	n, err := f.ReadCloser.Read(p)
	if at := f.fault.corrupt - 1; at >= f.at && at < f.at+int64(n) {
		p[at-f.at] ^= 1
	}
	f.at += int64(n)
	f.proxy.mu.Lock()
	*f.count += int64(n)
	f.proxy.mu.Unlock()
	return n, err
}

func (f *faulty) Close() error {
	err := f.ReadCloser.Close()
	if f.fault.lose { // they were announced before
		for name := range f.reply.Trailer {
			f.reply.Trailer[name] = nil
		}
	}
	return err
}

// allocated counts the bytes that were allocated in all.
func allocated() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.TotalAlloc)
}

// awaitEvents waits until a stream of events is open.
func (p *proxy) awaitEvents(t *testing.T) {
	t.Helper()
	gittest.Await(t, "a stream of events", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.open) > 0
	})
}

// cutEvents breaks the streams of events that are open.
func (p *proxy) cutEvents() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cut := range p.open {
		cut()
	}
	p.open = nil
}

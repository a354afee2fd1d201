package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
)

// soakClients are the kinds of clients, with their numbers.
var soakClients = []struct {
	name  string
	count int
	run   func(c *asking) error
}{
	{"archives", 3, (*asking).archive}, {"files", 2, (*asking).file}, {"parts", 2, (*asking).part},
	{"conditions", 1, (*asking).condition}, {"streams", 1, (*asking).stream}, {"reads", 1, (*asking).read},
	{"tools", 1, (*asking).tool}, {"sockets", 1, (*asking).socket}, {"syncs", 1, (*asking).sync},
	{"subscribers", 1, (*asking).subscribe}, {"slow readers", 1, (*asking).slowly},
	{"clients that break off", 2, (*asking).breakOff},
}

// asking is one request of a client.
type asking struct {
	*soak
	ctx    context.Context
	m      *churnedMirror
	random *rand.Rand
	least  int // the serial of what was published before it was asked for
	folder string
}

// errNotServed says that a commit does not exist, perhaps because a push removed it.
var errNotServed = errors.New("404")

// ask makes a client send one request after the other.
func (s *soak) ask(ctx context.Context, name string, run func(*asking) error, random *rand.Rand) {
	c := &asking{soak: s, ctx: ctx, random: random, folder: filepath.Join(s.t.TempDir(), "in")}
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		c.askOnce(name, run)
	}
}

func (c *asking) askOnce(name string, run func(*asking) error) {
	c.turn.RLock()
	defer c.turn.RUnlock()
	c.m = c.mirrors[c.random.IntN(len(c.mirrors))]
	epoch, life := c.m.epoch.Load(), c.lives.Load()
	c.least = int(c.m.published.Load())
	err := run(c)
	excused := c.m.wasGone(epoch) || c.wasAway(life)
	switch {
	case err == nil:
		c.count(name + ": right")
	case errors.Is(err, errWrong):
		c.problem("%s of %s: %v", name, c.m.name, err)
	case c.ctx.Err() != nil:
	case errors.Is(err, errBusy):
		c.count(name + ": busy")
	case excused:
		c.count("refused or broken, as a mirror or the server was gone")
	case errors.Is(err, errNotServed) && c.m != c.mirrors[0]:
		c.count("commits that a push took away")
	default:
		c.problem("%s of %s: %v", name, c.m.name, err)
	}
}

// get sends a request and judges the status.
func (c *asking) get(path string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(c.ctx, http.MethodGet, c.p.url+path, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		request.Header = header
	}
	response, err := c.p.client.Do(request)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusPartialContent, http.StatusNotModified:
		return response, nil
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
	_ = response.Body.Close() // only read from
	switch {
	case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
		return nil, errBusy
	case response.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", errNotServed, path)
	}
	return nil, fmt.Errorf("%s: %s: %s", path, response.Status, text)
}

var commitID = regexp.MustCompile(`[0-9a-f]{40}`)

// version finds the commit that a reply names, which must not be an older one than was
// published when it was asked for.
func (c *asking) version(named string) (*pushed, error) {
	v := c.m.find(commitID.FindString(named))
	switch {
	case v == nil:
		return nil, fmt.Errorf("%w: %q names no commit of %s", errWrong, named, c.m.name)
	case v.serial < c.least:
		return nil, fmt.Errorf("%w: commit %d, when %d was published", errWrong, v.serial, c.least)
	}
	return v, nil
}

// archive takes the branch in any format.
func (c *asking) archive() error {
	format := []string{"tar", "tar", "tar.gz", "tar.gz", "tar.zst", "zip", "tar.xz"}[c.random.IntN(7)]
	response, err := c.get("/archive/"+c.m.name+"/main."+format, nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read from
	v, err := c.version(response.Header.Get("Link"))
	if err != nil {
		return err
	}
	return c.compare(format, response.Body, v)
}

// compare reads an archive to its end. A body that breaks is no wrong one, whatever a
// decoder makes of it.
func (c *asking) compare(format string, body io.Reader, v *pushed) error {
	whole, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if format == "zip" {
		return c.compareZip(whole, v)
	}
	inner, err := unpacked(format, bytes.NewReader(whole))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errWrong, format, err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, inner); err != nil || [sha256.Size]byte(sum.Sum(nil)) != v.sum {
		return fmt.Errorf("%w: a %s of commit %d: %w", errWrong, format, v.serial, err)
	}
	return nil
}

func unpacked(format string, r io.Reader) (io.Reader, error) {
	switch format {
	case "tar.gz":
		return gzip.NewReader(r)
	case "tar.zst":
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	case "tar.xz":
		return xz.NewReader(r)
	}
	return r, nil
}

func (c *asking) compareZip(whole []byte, v *pushed) error {
	files, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	want, found := c.m.content(v.serial), 0
	for _, f := range files.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("%w: %w", errWrong, err)
		}
		content, err := io.ReadAll(r)
		if found++; err != nil || string(content) != want[f.Name] {
			return fmt.Errorf("%w: %s of commit %d: %w", errWrong, f.Name, v.serial, err)
		}
	}
	if found != len(want) {
		return fmt.Errorf("%w: %d files of %d", errWrong, found, len(want))
	}
	return nil
}

// path is that of some file.
func (c *asking) path() string {
	i := c.random.IntN(soakFiles)
	return fmt.Sprintf("d%d/f%02d.txt", i%4, i)
}

func (c *asking) file() error {
	path := c.path()
	response, err := c.get("/raw/"+c.m.name+"/main/"+path, nil)
	if err != nil {
		return err
	}
	return c.compareFile(path, response, response.Body)
}

func (c *asking) compareFile(path string, response *http.Response, body io.Reader) error {
	defer func() { _ = response.Body.Close() }() // only read from
	v, err := c.version(response.Header.Get("Link"))
	if err != nil {
		return err
	}
	content, err := io.ReadAll(body)
	if err == nil && string(content) != c.m.content(v.serial)[path] {
		return fmt.Errorf("%w: %s of commit %d", errWrong, path, v.serial)
	}
	return err
}

// part takes a range of an archive by its commit, and goes on with it.
func (c *asking) part() error {
	v := c.m.recent(c.random)
	from := c.random.IntN(len(v.tar) - 1)
	to := from + c.random.IntN(len(v.tar)-from)
	response, err := c.get("/archive/"+c.m.name+"/"+v.commit+".tar",
		http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", from, to)}})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read from
	got, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusPartialContent || !bytes.Equal(got, v.tar[from:to+1])) {
		return fmt.Errorf("%w: %s, %d bytes of %d-%d of commit %d", errWrong, response.Status, len(got), from, to,
			v.serial)
	}
	return err
}

// condition asks again for what it has.
func (c *asking) condition() error {
	const path = "README.md"
	response, err := c.get("/raw/"+c.m.name+"/main/"+path, nil)
	if err != nil {
		return err
	}
	tag := response.Header.Get("ETag")
	if err := c.compareFile(path, response, response.Body); err != nil {
		return err
	}
	before := c.m.published.Load()
	response, err = c.get("/raw/"+c.m.name+"/main/"+path, http.Header{"If-None-Match": {tag}})
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusNotModified {
		return c.compareFile(path, response, response.Body)
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if int(before) > c.least+1 { // two pushes later the README is another one
		return fmt.Errorf("%w: 304 although it changed", errWrong)
	}
	return nil
}

// stream takes an archive by resources/stream.
func (c *asking) stream() error {
	uri := "repo://" + c.m.name + "/archive/refs/heads/main.tar.zst"
	request := mcpRequest(c.t, c.p.url, "resources/stream", uri, nil).WithContext(c.ctx)
	response, err := c.p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()       // only read from
	if response.Header.Get("Mcp-Resource-Uri") == "" { // an error has a status of 200, too
		text, err := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %.300s, %w", response.Status, text, err)
	}
	v, err := c.version(response.Header.Get("Content-Location"))
	if err != nil {
		return err
	}
	return c.compare("tar.zst", response.Body, v)
}

// numbered finds the serial in what README.md says.
var numbered = regexp.MustCompile(`(app\d) (\d+)\\n`)

// compareText wants the README of a commit that is young enough in a reply.
func (c *asking) compareText(reply []byte) error {
	found := numbered.FindSubmatch(reply)
	if found == nil || string(found[1]) != c.m.name {
		return fmt.Errorf("no README of %s: %.300s", c.m.name, reply)
	}
	if serial, err := strconv.Atoi(string(found[2])); err != nil || serial < c.least ||
		serial > int(c.m.published.Load())+1 {
		return fmt.Errorf("%w: commit %d, when %d was published", errWrong, serial, c.least)
	}
	return nil
}

func (c *asking) read() error {
	uri := "repo://" + c.m.name + "/refs/heads/main/contents/README.md"
	body, err := c.p.message("resources/read", uri, map[string]any{"uri": uri})
	if err != nil {
		return err
	}
	return c.compareText(body)
}

func (c *asking) tool() error {
	call := []struct {
		name      string
		arguments map[string]any
	}{
		{"get_file_contents", map[string]any{"repo": c.m.name, "path": "README.md", "ref": "main"}},
		{"list_commits", map[string]any{"repo": c.m.name, "ref": "main"}},
		{"search_code", map[string]any{"query": "repo:" + c.m.name + " " + c.m.name}},
		{"get_repository", map[string]any{"repo": c.m.name}},
	}[c.random.IntN(4)]
	body, err := c.p.message("tools/call", call.name, map[string]any{"name": call.name, "arguments": call.arguments})
	switch {
	case err != nil:
		return err
	case bytes.Contains(body, []byte(`"isError":true`)) || !bytes.Contains(body, []byte(`"result"`)):
		return fmt.Errorf("%s: %.300s", call.name, body)
	case call.name == "list_commits":
		_, err := c.version(string(body))
		return err
	case call.name == "search_code" && !bytes.Contains(body, []byte("README.md")):
		return fmt.Errorf("%s: %.300s", call.name, body)
	}
	return nil
}

// socket asks over a WebSocket connection of its own.
func (c *asking) socket() error {
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.p.url, "http")+"/ws", nil)
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }() // it may be closed
	conn.SetReadLimit(1 << 20)
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/read",
		"params": map[string]any{
			"uri": "repo://" + c.m.name + "/refs/heads/main/contents/README.md",
			"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
				"io.modelcontextprotocol/clientCapabilities": map[string]any{}},
		}})
	if err != nil {
		return err
	}
	if err := conn.Write(ctx, websocket.MessageText, message); err != nil {
		return err
	}
	_, reply, err := conn.Read(ctx)
	if err != nil {
		return err
	}
	if c.random.IntN(2) == 0 {
		_ = conn.Close(websocket.StatusNormalClosure, "") // or it just goes
	}
	return c.compareText(reply)
}

// sync keeps a folder in step with a mirror, sometimes another one than before.
func (c *asking) sync() error {
	server, err := client.New(c.p.url+"/mcp", client.Options{HTTP: c.p.client, Retries: -1})
	if err != nil {
		return err
	}
	if c.random.IntN(5) == 0 {
		if err := os.RemoveAll(c.folder); err != nil {
			return err
		}
	}
	c.m = c.mirrors[1] // the same each time
	epoch, life := c.m.epoch.Load(), c.lives.Load()
	c.least = int(c.m.published.Load())
	result, err := checkout.Sync(c.ctx, server, checkout.Options{Repository: c.m.name, Ref: "main", Dir: c.folder})
	if err != nil && (c.m.wasGone(epoch) || c.wasAway(life)) {
		return errBusy
	}
	if errors.Is(err, checkout.ErrLocked) { // a git that was just started has the lock until it is git
		return errBusy
	}
	if err != nil {
		return err
	}
	v, err := c.version(result.Commit)
	if err != nil {
		return err
	}
	for path, want := range c.m.content(v.serial) {
		got, err := os.ReadFile(filepath.Join(c.folder, path))
		if err != nil || string(got) != want {
			return fmt.Errorf("%w: %s of commit %d in a folder: %w", errWrong, path, v.serial, err)
		}
	}
	return nil
}

// subscribe listens for a while, and leaves.
func (c *asking) subscribe() error {
	ctx, cancel := context.WithTimeout(c.ctx, 300*time.Millisecond)
	defer cancel()
	request := mcpRequest(c.t, c.p.url, "subscriptions/listen", "", nil).WithContext(ctx)
	content, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
		"params": map[string]any{
			"notifications": map[string]any{"resourceSubscriptions": []string{"repo://" + c.m.name + "/refs/heads/main"}},
			"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
				"io.modelcontextprotocol/clientCapabilities": map[string]any{}},
		}})
	if err != nil {
		return err
	}
	request.Body, request.ContentLength, request.GetBody = io.NopCloser(bytes.NewReader(content)), int64(
		len(content)), nil
	response, err := c.p.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { _ = response.Body.Close() }() // it is broken off
	events, _ := io.ReadAll(response.Body)       // until the time is over
	if !bytes.Contains(events, []byte("acknowledged")) && ctx.Err() == nil {
		return fmt.Errorf("%s: %.300s", response.Status, events)
	}
	if bytes.Contains(events, []byte("resources/updated")) {
		c.count("notifications")
	}
	return nil
}

// slowly reads a file in small pieces.
func (c *asking) slowly() error {
	path := fmt.Sprintf("d3/f%02d.txt", soakFiles-1)
	response, err := c.get("/raw/"+c.m.name+"/main/"+path, nil)
	if err != nil {
		return err
	}
	return c.compareFile(path, response, slowReader{response.Body})
}

type slowReader struct{ io.Reader }

func (r slowReader) Read(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond) // it reads 25 KB a second
	return r.Reader.Read(p[:min(len(p), 500)])
}

// breakOff sends a request, or half of one, reads some of the reply, and resets the
// connection.
func (c *asking) breakOff() error {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(c.p.url, "http://"), time.Minute)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it is reset
	request := []string{
		"GET /archive/" + c.m.name + "/main.tar.gz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /archive/" + c.m.name + "/main.tar?prefix=" + strconv.Itoa(c.random.IntN(1000)) +
			"/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\"",
		"GET /raw/" + c.m.name + "/main/README.md HT", "\x16\x03\x01\x00\x00 no HTTP\r\n\r\n",
	}[c.random.IntN(5)]
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, conn, int64(c.random.IntN(50_000))) // as far as it comes
	return conn.(*net.TCPConn).SetLinger(0)
}

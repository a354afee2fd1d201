package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/gittest"
)

// oldMirror makes a mirror that was fetched an hour ago, of a repository that has gone on
// since: it has one more commit, and one more branch.
func oldMirror(t *testing.T) (root string, before, after string) {
	t.Helper()
	upstream := gittest.At(t, filepath.Join(t.TempDir(), "upstream.git"))
	before = upstream.Commit("main", gittest.Regular("f", "1\n"))
	root = t.TempDir()
	gittest.Existing(t, root).Git("clone", "--quiet", "--mirror", upstream.Dir, "app.git")
	head, at := filepath.Join(root, "app.git", "FETCH_HEAD"), time.Now().Add(-time.Hour)
	if err := os.WriteFile(head, []byte("what came\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(head, at, at); err != nil {
		t.Fatal(err)
	}
	after = upstream.Commit("main", gittest.Regular("f", "2\n"))
	upstream.Git("branch", "new", after)
	return root, before, after
}

// waitingHook is a program that fetches once a file is there.
func waitingHook(t *testing.T) (program string, release func()) {
	t.Helper()
	program, gate := filepath.Join(t.TempDir(), "hook"), filepath.Join(t.TempDir(), "go")
	text := "#!/bin/sh\nwhile ! test -e " + gate + "; do sleep 0.05; done\nexec git remote update --prune\n"
	gittest.WriteProgram(t, program, text)
	return program, func() {
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *process) getHeader(t *testing.T, path string) (int, string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body), response.Header
}

// ask sends a message of 2026-07-28.
func (p *process) ask(t *testing.T, method, params string) map[string]any {
	t.Helper()
	message := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	var named struct{ Params struct{ Name, URI string } }
	if err := json.Unmarshal([]byte(message), &named); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
		"Mcp-Name": {named.Params.Name + named.Params.URI},
	}
	response, err := p.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	var reply struct{ Result, Error map[string]any }
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	if reply.Result == nil {
		return reply.Error
	}
	return reply.Result
}

// Old answers are given at once and say so, over every way; the next are new and say
// nothing.
func TestStaleAnswersAreMarkedAndRefreshed(t *testing.T) {
	t.Parallel()
	root, before, after := oldMirror(t)
	program, release := waitingHook(t)
	p, said := launchBy(t, "", root, "--fetch-hook", program, "--fetch-age", "30m")
	const (
		stale, fetched = "X-Repomcp-Mirror-Stale", "X-Repomcp-Mirror-Fetched"
		metaStale      = "io.github.repomcp/mirrorStale"
		metaFetched    = "io.github.repomcp/mirrorFetched"
	)
	// An id never changes its meaning: no fetch is requested.
	if status, _, h := p.getHeader(t, "/raw/app/"+before+"/f"); status != http.StatusOK || h.Get(stale) != "" {
		t.Errorf("by the id: %d, %v", status, h)
	}
	for path, want := range map[string]int{
		"/raw/app/main/f": 200, "/raw/app/HEAD/f": 200, "/refs/app": 200, "/archive/app/main.tar": 200,
		"/archive/app/" + before[:8] + ".tar": 200,
		// They may be there after the next fetch.
		"/raw/app/new/f": 404, "/archive/app/new.tar": 404, "/raw/app/" + after + "/f": 404,
	} {
		status, body, h := p.getHeader(t, path)
		if status != want || h.Get(stale) != "true" || status == 200 && h.Get(fetched) == "" {
			t.Errorf("%s: %d %q, %v", path, status, body, h)
		}
	}
	card := p.ask(t, "tools/call", `"name":"get_repository","arguments":{"repo":"app"}`)
	text, _ := json.Marshal(card["content"])
	data, _ := card["structuredContent"].(map[string]any)
	meta, _ := card["_meta"].(map[string]any)
	if data["stale"] != true || !strings.Contains(string(text), `stale: true`) ||
		!strings.Contains(string(text), "is being refreshed") ||
		meta[metaStale] != true || meta[metaFetched] != data["fetched"] || data["fetched"] == nil ||
		meta["io.github.repomcp/origin"] != "repository" {
		t.Errorf("%s\n%v\n%v", text, data, meta)
	}
	file := p.ask(t, "tools/call", `"name":"get_file_contents","arguments":{"repo":"app","path":"f"}`)
	if meta, _ := file["_meta"].(map[string]any); meta[metaStale] != true {
		t.Errorf("a tool: %v", file)
	}
	if pinned := p.ask(t, "tools/call", `"name":"get_file_contents","arguments":{"repo":"app","path":"f","ref":"`+
		before+`"}`); pinned["_meta"] != nil && pinned["_meta"].(map[string]any)[metaStale] != nil {
		t.Errorf("a tool of a commit: %v", pinned)
	}
	missing := p.ask(t, "tools/call", `"name":"get_file_contents","arguments":{"repo":"app","path":"f","ref":"new"}`)
	if text, _ := json.Marshal(missing["content"]); missing["isError"] != true ||
		!strings.Contains(string(text), "is being refreshed") {
		t.Errorf("a tool of a branch that is not there: %s", text)
	}
	read := p.ask(t, "resources/read", `"uri":"repo://app/refs/heads/main/contents/f"`)
	contents, _ := json.Marshal(read["contents"])
	if !strings.Contains(string(contents), `"`+metaStale+`":true`) ||
		!strings.Contains(string(contents), `"text":"1\n"`) {
		t.Errorf("a resource: %s", contents)
	}
	if unread := p.ask(t, "resources/read", `"uri":"repo://app/refs/heads/new/contents/f"`); unread["data"] == nil ||
		unread["data"].(map[string]any)["mirrorStale"] != true {
		t.Errorf("a resource of a branch that is not there: %v", unread)
	}
	release()
	if err := gittest.Wait(func() error {
		status, body, h := p.getHeader(t, "/raw/app/new/f")
		if status != http.StatusOK || h.Get(stale) != "" || body != "2\n" {
			return fmt.Errorf("the mirror is not refreshed: %d %q, %v\n%s", status, body, h, said)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if card := p.ask(t, "tools/call", `"name":"get_repository","arguments":{"repo":"app"}`); card["structuredContent"].(map[string]any)["stale"] != nil ||
		card["structuredContent"].(map[string]any)["head"].(map[string]any)["sha"] != after {
		t.Errorf("after the fetch: %v", card)
	}
	if log := said.String(); !strings.Contains(log, "stale=true") || strings.Contains(log, "the fetch hook failed") {
		t.Error(log)
	}
}

// A hook that fails harms no answer, and is counted.
func TestAFailingHookIsCounted(t *testing.T) {
	t.Parallel()
	root, before, _ := oldMirror(t)
	program := filepath.Join(t.TempDir(), "hook")
	gittest.WriteProgram(t, program, "#!/bin/sh\necho no network; exit 1\n")
	p, said := launchBy(t, "", root, "--fetch-hook", program, "--admin-listen", "127.0.0.1:0")
	admin := said.Await(t, adminAt)[1]
	for range 30 {
		status, _, h := p.getHeader(t, "/archive/app/main.manifest.json")
		if status != http.StatusOK || h.Get("X-Repomcp-Mirror-Stale") != "true" {
			t.Fatalf("%d %v", status, h)
		}
	}
	awaitMetrics(t, p, admin, []string{"repomcp_fetch_hook_calls_total{result=\"failed\"} 1\n"})
	if log := said.String(); strings.Count(log, "the fetch hook failed") != 1 || !strings.Contains(log, "no network") {
		t.Error(log)
	}
	if _, body := p.get(t, p.url+"/refs/app"); !strings.Contains(body, before) {
		t.Error(body)
	}
}

func TestWrongHooksAndProxiesAreRefused(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--fetch-hook=/none/such":              "--fetch-hook: there is no such program",
		"--trusted-proxy=10.0.0.1:80":          `--trusted-proxy: "10.0.0.1:80" is no address`,
		"--fetch-hook=https://":                "--fetch-hook: the address has no host",
		"--fetch-hook=/bin/sh --fetch-age=1ms": "--fetch-age 1ms: the least is 1s",
	} {
		arguments := append([]string{"serve", "--root", t.TempDir(), "--listen", "127.0.0.1:0"},
			strings.Fields(flags)...)
		command := exec.CommandContext(within(t), program(t), arguments...)
		said, _ := command.CombinedOutput() // the code says how it went
		if command.ProcessState.ExitCode() != cli.ExitUsage || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v %s", flags, command.ProcessState, said)
		}
	}
}

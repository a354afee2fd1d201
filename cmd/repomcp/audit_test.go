package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/repomcp/repomcp/internal/gittest"
)

const auditSchema = "../../docs/audit.schema.json"

// auditLine is a line as this test compares it; the schema holds the rest.
type auditLine struct {
	Outcome, Principal, Transport, Action, Tool, Asked, Repository, Ref, Commit, Path, Reason string
	Rule, Status                                                                              int
	Bytes                                                                                     int64
}

// auditFields are the fields of the schema.
func auditFields(t *testing.T) map[string]any {
	t.Helper()
	content, err := os.ReadFile(auditSchema)
	var schema struct{ Properties map[string]any }
	if err != nil || json.Unmarshal(content, &schema) != nil || len(schema.Properties) < 15 {
		t.Fatalf("%v, the schema has %d fields", err, len(schema.Properties))
	}
	return schema.Properties
}

// auditLines reads a log, and holds every line against the schema and its list of fields.
func auditLines(t *testing.T, file string) (list []auditLine) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(auditSchema)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fields := auditFields(t)
	for text := range bytes.Lines(content) {
		validate(t, schema, json.RawMessage(text))
		var all map[string]any
		var line auditLine
		if err := errors.Join(json.Unmarshal(text, &all), json.Unmarshal(text, &line)); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for name := range all {
			if fields[name] == nil {
				t.Errorf("the schema does not have %q of %s", name, text)
			}
		}
		list = append(list, line)
	}
	return list
}

// dlLink finds a link in a reply.
var dlLink = regexp.MustCompile(`http://[^"\\ ]+/dl/[\w-]+`)

// audited is a server with an audit log.
type audited struct {
	*testing.T
	url, token, log string
}

// get requests a path, with the token unless another is given, and returns the status.
func (a *audited) get(path, token string) int {
	a.Helper()
	request, err := http.NewRequestWithContext(a.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		a.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.Fatal(err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		a.Fatal(err)
	}
	return response.StatusCode
}

// call calls a method of MCP over HTTP, and returns the reply.
func (a *audited) call(method, name string, params map[string]any) string {
	a.Helper()
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		a.Fatal(err)
	}
	request, err := http.NewRequestWithContext(a.Context(), http.MethodPost, a.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		a.Fatal(err)
	}
	for key, value := range map[string]string{
		"Authorization": "Bearer " + a.token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method,
		"Mcp-Name": name,
	} {
		request.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.Fatal(err)
	}
	reply, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		a.Fatal(err)
	}
	return string(reply)
}

// run runs a command of the program with the token.
func (a *audited) run(arguments ...string) {
	a.Helper()
	command := exec.Command(program(a.T), arguments...)
	command.Env = append(os.Environ(), "REPOMCP_TOKEN="+a.token)
	if said, err := command.CombinedOutput(); err != nil {
		a.Fatalf("repomcp %q: %v: %s", arguments, err, said)
	}
}

// expect waits for a line that has the values of another one, and returns it. A line is written after
// its reply.
func (a *audited) expect(what string, want auditLine) auditLine {
	a.Helper()
	fits := func(got auditLine) bool {
		return got.Outcome == want.Outcome && got.Action == want.Action && got.Tool == want.Tool &&
			got.Principal == want.Principal && got.Repository == want.Repository && got.Rule == want.Rule &&
			got.Commit == want.Commit && got.Path == want.Path && (want.Transport == "" || got.Transport == want.Transport) &&
			strings.Contains(got.Asked, want.Asked)
	}
	var lines []auditLine
	for range 3000 { // a minute, on a busy machine
		lines = auditLines(a.T, a.log)
		for _, got := range lines {
			if fits(got) {
				return got
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	a.Errorf("%s: no line is %+v in\n%+v", what, want, lines)
	return auditLine{}
}

// auditedServer starts a server whose alice may read two of three repositories.
func auditedServer(t *testing.T) (a *audited, head string) {
	t.Helper()
	root, dir := t.TempDir(), t.TempDir()
	a = &audited{T: t, log: filepath.Join(dir, "audit.jsonl")}
	for _, name := range []string{"open/one", "open/two", "closed/three"} {
		repo := gittest.At(t, filepath.Join(root, name+".git"))
		repo.Commit("main", gittest.Regular("dir/file", "a needle of "+name+"\n"), gittest.Regular("more", "hay\n"))
		if name == "open/one" {
			head = strings.TrimSpace(repo.Git("rev-parse", "main"))
		}
	}
	tokens, rules := filepath.Join(dir, "tokens"), filepath.Join(dir, "access.yaml")
	made, err := exec.Command(program(t), "token", "new", "alice", "--group", "staff", "--tokens", tokens).Output()
	if err != nil {
		t.Fatal(err)
	}
	a.token = strings.TrimSpace(string(made))
	text := "rules:\n- groups: [owners]\n  repositories: [\"**\"]\n- groups: [staff]\n  repositories: [\"open/**\"]\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := launchBy(t, "", root, "--tokens", tokens, "--access", rules, "--audit-log", a.log)
	a.url = p.url
	return a, head
}

// Who read what is in a line of the contract, over every transport, and so is who was refused.
func TestAuditLog(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	a, head := auditedServer(t)
	const alice, one = "token:alice", "open/one"
	read := auditLine{Outcome: "done", Principal: alice, Repository: one, Rule: 2, Commit: head}
	with := func(change func(*auditLine)) auditLine {
		line := read
		change(&line)
		return line
	}

	a.get("/raw/open/one/main/dir/file", a.token)
	got := a.expect("a file", with(func(l *auditLine) { l.Action, l.Path, l.Asked = "GET", "dir/file", "/raw/open/one" }))
	if got.Bytes != int64(len("a needle of open/one\n")) || got.Status != http.StatusOK || got.Ref == "" {
		t.Errorf("a file: %+v, want its bytes, status and ref", got)
	}
	a.get("/archive/open/one/main.tar?path=dir&password=hunter2", a.token) // refused: an unknown option
	a.expect("an unknown option", auditLine{Outcome: "refused", Principal: alice, Action: "GET", Asked: "path=dir&password=-"})
	a.get("/archive/open/one/main.tar", a.token)
	a.expect("an archive", with(func(l *auditLine) { l.Action, l.Asked = "GET", "main.tar" }))
	a.get("/commit/open/one/main.patch", a.token)
	a.expect("a patch", with(func(l *auditLine) { l.Action, l.Asked = "GET", "main.patch" }))

	a.call("tools/call", "get_file_contents", map[string]any{"name": "get_file_contents",
		"arguments": map[string]any{"owner": "open", "repo": "one", "path": "dir/file"}})
	a.expect("a tool", with(func(l *auditLine) { l.Action, l.Tool, l.Path = "tools/call", "get_file_contents", "dir/file" }))
	a.call("tools/call", "get_file_contents", map[string]any{"name": "get_file_contents",
		"arguments": map[string]any{"repo": "open/one", "files": []string{"more", "dir/file", "none"}}})
	a.expect("a file of several", with(func(l *auditLine) { l.Action, l.Tool, l.Path = "tools/call", "get_file_contents", "more" }))
	a.call("tools/call", "search_code", map[string]any{"name": "search_code", "arguments": map[string]any{"query": "needle"}})
	a.expect("a search", with(func(l *auditLine) { l.Action, l.Tool = "tools/call", "search_code" }))
	a.call("resources/read", "repo://open/one/contents/dir/file", map[string]any{"uri": "repo://open/one/contents/dir/file"})
	a.expect("a resource", with(func(l *auditLine) {
		l.Action, l.Path, l.Asked = "resources/read", "dir/file", "repo://open/one/contents/dir/file"
	}))
	a.run("cat", strings.Replace(a.url, "http", "ws", 1)+"/ws", "open/one@main/dir/file")
	a.expect("a stream over WebSocket", with(func(l *auditLine) {
		l.Transport, l.Action, l.Path, l.Asked = "websocket", "resources/stream", "dir/file", "repo://"
	}))
	a.get("/repositories", a.token)
	a.expect("a list", auditLine{Outcome: "done", Principal: alice, Action: "GET", Asked: "/repositories"})

	a.get("/raw/closed/three/main/dir/file", a.token)
	a.expect("a hidden repository", auditLine{Outcome: "refused", Principal: alice, Action: "GET", Asked: "/raw/closed/three"})
	a.call("tools/call", "get_file_contents", map[string]any{"name": "get_file_contents",
		"arguments": map[string]any{"repo": "closed/three", "path": "x"}})
	a.expect("a tool for a hidden repository", auditLine{Outcome: "refused", Principal: alice, Action: "tools/call",
		Tool: "get_file_contents", Repository: "closed/three", Path: "x"})
	if status := a.get("/raw/open/one/main/dir/file", "rmcp_wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong token has the status %d", status)
	}
	if denied := a.expect("a wrong token", auditLine{Outcome: "denied", Action: "GET", Asked: "/raw/open/one"}); denied.Reason == "" {
		t.Error("a wrong token is denied without a reason")
	}
	link := dlLink.FindString(a.call("tools/call", "get_archive_link", map[string]any{"name": "get_archive_link",
		"arguments": map[string]any{"owner": "open", "repo": "one"}}))
	if status := a.get(strings.TrimPrefix(link, a.url), ""); status != http.StatusOK {
		t.Errorf("the link %q has the status %d", link, status)
	}
	a.expect("a link, by the rights of its reader", with(func(l *auditLine) { l.Action, l.Asked = "GET", "/dl/-" }))
	a.get("/dl/secretlink", "")
	a.expect("a false link", auditLine{Outcome: "refused", Action: "GET", Asked: "/dl/-"})

	a.rotate()
	content, err := os.ReadFile(a.log + ".1")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{a.token, strings.TrimPrefix(link, a.url), "rmcp_wrong", "secretlink", "hunter2", "needle"} {
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("the audit log has %q", secret)
		}
	}
	for _, quiet := range []string{`"initialize"`, `"server/discover"`} {
		if bytes.Contains(content, []byte(quiet)) {
			t.Errorf("the audit log has a line about %s", quiet)
		}
	}
}

// rotate renames the log, as logrotate does: the next line is in a new file, and no line is lost.
func (a *audited) rotate() {
	a.Helper()
	before := len(auditLines(a.T, a.log))
	if err := os.Rename(a.log, a.log+".1"); err != nil {
		a.Fatal(err)
	}
	for _, quiet := range []string{"/healthz", "/.well-known/ai-catalog.json", "/mcp/server-card"} {
		if status := a.get(quiet, ""); status != http.StatusOK {
			a.Errorf("%s has the status %d", quiet, status)
		}
	}
	a.get("/refs/open/two", a.token)
	a.expect("after a rotation", auditLine{Outcome: "done", Principal: "token:alice", Action: "GET", Asked: "/refs/open/two",
		Repository: "open/two", Rule: 2})
	if now, old := len(auditLines(a.T, a.log)), len(auditLines(a.T, a.log+".1")); now != 1 || old != before {
		a.Errorf("after a rotation there are %d lines in the new file and %d in the old one, want 1 and %d", now, old, before)
	}
}

// The page names the fields of the schema, and the example of a SIEM those alone.
func TestAuditDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := auditFields(t)
	for name := range fields {
		if !bytes.Contains(page, []byte("`"+name+"`")) {
			t.Errorf("docs/audit.md does not name the field %s", name)
		}
	}
	named := 0
	for _, block := range fenced.FindAllSubmatch(page, -1) {
		switch string(block[1]) {
		case "xml":
			if err := xml.Unmarshal(block[2], new(struct{})); err != nil {
				t.Errorf("%v: %s", err, block[2])
			}
			for _, match := range regexp.MustCompile(`field name="(\w+)"|\$\((\w+)\)|<same_field>(\w+)<`).FindAllSubmatch(block[2],
				-1) {
				named++
				if name := string(bytes.Join(match[1:], nil)); fields[name] == nil {
					t.Errorf("the example asks for the field %q, which the schema does not have", name)
				}
			}
		case "json":
			file := filepath.Join(t.TempDir(), "example")
			if err := os.WriteFile(file, block[2], 0o600); err != nil {
				t.Fatal(err)
			}
			if lines := auditLines(t, file); len(lines) != 1 {
				t.Errorf("the example has %d lines, want 1", len(lines))
			}
		}
	}
	if named < 10 {
		t.Errorf("%d fields were found in the example of a SIEM, want 10 or more", named)
	}
}

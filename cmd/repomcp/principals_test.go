package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/logtest"
)

// tenant has a token, a group, and thereby a repository that is hidden from the others.
type tenant struct {
	t             *testing.T
	url           string
	token, config string // config is where the client's commands keep what they store
	name          string // of the token, the group and the folder
	canary        string // in the repository's name and in all of it
}

func (v *tenant) repository() string { return v.name + "/" + v.canary }

const modernPart = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"resourceStreaming":{}}}`

// request asks over HTTP with credentials in one of the forms that there are.
func (v *tenant) request(basic bool, method, path, body string, header http.Header) *http.Response {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if header != nil {
		request.Header = header
	}
	request.Header.Set("Authorization", "Bearer "+v.token)
	if basic {
		request.SetBasicAuth("anybody", v.token)
	}
	// A client that ends its connections could be a proxy, for which no links are made.
	transport := &http.Transport{DisableCompression: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() {
		_ = response.Body.Close() // only read from
		transport.CloseIdleConnections()
	})
	return response
}

func (v *tenant) read(response *http.Response) (int, string) {
	v.t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Error(err)
	}
	if reader, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		if body, err = io.ReadAll(reader); err != nil {
			v.t.Error(err)
		}
	}
	return response.StatusCode, string(body)
}

// message sends one of MCP, in the era that has sessions or in the other one.
func (v *tenant) message(session, method, params string) *http.Response {
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream, */*"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
	}
	meta := modernPart
	if session != "" {
		header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream, */*"},
			"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Session-Id": {session},
		}
		meta = `"_meta":{}`
	}
	var named struct{ URI, Name string }
	if err := json.Unmarshal([]byte("{"+params+"}"), &named); err != nil {
		v.t.Fatal(err)
	}
	if name := named.URI + named.Name; name != "" && session == "" {
		header.Set("Mcp-Name", name)
	}
	if params != "" {
		params += ","
	}
	return v.request(false, http.MethodPost, "/mcp",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta), header)
}

func (v *tenant) initialize() (session string) {
	v.t.Helper()
	response := v.request(false, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}})
	if session = response.Header.Get("Mcp-Session-Id"); session == "" {
		v.t.Fatalf("%s: no session", response.Status)
	}
	return session
}

// command runs a command of the client.
func (v *tenant) command(stdin string, words ...string) (string, error) {
	command := exec.Command(program(v.t), words...)
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+v.config)
	command.Stdin = strings.NewReader(stdin)
	said, err := command.CombinedOutput()
	return string(said), err
}

// socket asks over WebSocket.
func (v *tenant) socket(method, params string) string {
	v.t.Helper()
	conn, _, err := websocket.Dial(v.t.Context(), v.url+"/ws", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + v.token}},
	})
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, params, modernPart)
	if err := conn.Write(v.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		v.t.Fatal(err)
	}
	_, reply, err := conn.Read(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	return string(reply)
}

// about are all entrances, each asked about one repository: what came, with what was asked.
func (v *tenant) about(repository, path string) map[string]string {
	answers := make(map[string]string)
	for form, basic := range map[string]bool{"Bearer": false, "Basic": true} {
		for _, at := range []string{"/raw/" + repository + "/main/" + path, "/archive/" + repository + "/main.tar.gz",
			"/archive/" + repository + "/main.zip", "/refs/" + repository, "/repositories"} {
			_, answers[form+" "+at] = v.read(v.request(basic, http.MethodGet, at, "", nil))
		}
		_, answers[form+" page"] = v.read(v.request(basic, http.MethodGet, "/", "",
			http.Header{"Accept": {"text/html"}}))
	}
	for _, session := range []string{"", v.initialize()} {
		era := fmt.Sprintf("session %v: ", session != "")
		for what, message := range map[string][2]string{
			"read": {"resources/read", `"uri":"repo://` + repository + "/contents/" + path + `"`},
			"file": {"tools/call", `"name":"get_file_contents","arguments":{"repo":"` + repository + `","path":"` +
				path + `"}`},
			"search": {"tools/call", `"name":"search_repositories","arguments":{"query":""}`},
			"code":   {"tools/call", `"name":"search_code","arguments":{"query":"canary"}`},
			"list":   {"resources/list", ""},
		} {
			_, answers[era+what] = v.read(v.message(session, message[0], message[1]))
		}
	}
	_, answers["stream"] = v.read(v.message("", "resources/stream", `"uri":"repo://`+repository+
		`/archive/main.tar.gz"`))
	answers["WebSocket"] = v.socket("resources/read", `"uri":"repo://`+repository+"/contents/"+path+`"`)
	for _, words := range [][]string{
		{"ls", v.url + "/mcp"}, {"cat", v.url + "/mcp", "repo://" + repository + "/contents/" + path},
		{"get", v.url + "/mcp", "repo://" + repository + "/archive/main.tar", "-o", "-"},
	} {
		answers["repomcp "+words[0]], _ = v.command("", words...) // a refusal is what is looked at
	}
	folder := filepath.Join(v.t.TempDir(), "synced")
	said, _ := v.command("", "sync", v.url+"/mcp", repository, folder)
	if content, err := os.ReadFile(filepath.Join(folder, path)); err == nil {
		said += string(content)
	}
	answers["repomcp sync"] = said
	return answers
}

// hasContent tells the answers that have a file's content.
var hasContent = regexp.MustCompile(`raw|tar.gz|read|file$|stream|WebSocket|cat|get|sync`)

// follow opens a stream of events about both repositories, and returns what it brings.
func (v *tenant) follow(uris ...string) *logtest.Log {
	v.t.Helper()
	list, err := json.Marshal(uris)
	if err != nil {
		v.t.Fatal(err)
	}
	response := v.message("", "subscriptions/listen", `"notifications":{"resourceSubscriptions":`+string(list)+`}`)
	events := &logtest.Log{}
	go func() {
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			_, _ = fmt.Fprintln(events, lines.Text())
		}
		_, _ = fmt.Fprintln(events, "THE END")
	}()
	events.Await(v.t, "acknowledged")
	return events
}

// link has a link made for an archive.
func (v *tenant) link(repository string) string {
	v.t.Helper()
	_, text := v.read(v.message("", "tools/call", `"name":"get_archive_link","arguments":{"repo":"`+repository+`"}`))
	found := regexp.MustCompile(`/dl/[A-Za-z0-9_-]+`).FindString(text)
	if found == "" {
		v.t.Fatalf("no link: %s", text)
	}
	return found
}

// Two principals over every entrance of the real program: each finds its own and nothing of
// the other, also as the rules change and tokens end.
func TestPrincipalsSeeTheirOwn(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root, dir := t.TempDir(), t.TempDir()
	file, access := filepath.Join(dir, "tokens"), filepath.Join(dir, "access.yaml")
	tenants := []*tenant{{name: "red", canary: "canaryapple"}, {name: "blue", canary: "canaryberry"}}
	mirrors := make(map[string]*gittest.Repo)
	for _, v := range tenants {
		v.t, v.config = t, filepath.Join(dir, v.name)
		mirrors[v.name] = gittest.At(t, filepath.Join(root, v.repository()+".git"))
		mirrors[v.name].Commit("main", gittest.Regular("file", "content of "+v.canary+"\n"))
		made, err := exec.Command(program(t), "token", "new", v.name, "--group", v.name, "--tokens", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		v.token = strings.TrimSpace(string(made))
	}
	write := func(groups map[string]string) {
		t.Helper()
		text := "rules:\n"
		for folder, group := range groups {
			text += fmt.Sprintf("- groups: [%s]\n  repositories: [%q]\n", group, folder+"/**")
		}
		if err := os.WriteFile(access, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(map[string]string{"red": "red", "blue": "blue"})
	p, said := launchBy(t, "", root, "--tokens", file, "--access", access, "--rescan", "200ms")
	red, blue := tenants[0], tenants[1]
	for _, v := range tenants {
		v.url = p.url
		if said, err := v.command(v.token+"\n", "login", v.url); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}

	looked := 0
	for i, v := range tenants {
		other := tenants[1-i]
		for what, answer := range v.about(v.repository(), "file") {
			want := v.canary
			if hasContent.MatchString(what) {
				want = "content of " + v.canary
			}
			if looked++; !strings.Contains(answer, want) && !strings.HasSuffix(what, "main.zip") {
				t.Errorf("%s, %s, of its own: %.300s", v.name, what, answer)
			}
			if strings.Contains(answer, other.canary) {
				t.Errorf("%s, %s, of its own, tells of the other: %.300s", v.name, what, answer)
			}
		}
		for what, answer := range v.about(other.repository(), "file") {
			looked++
			for _, asked := range []string{other.repository(), strings.ReplaceAll(other.repository(), "/", "%2F")} {
				answer = strings.ReplaceAll(answer, asked, "ASKED")
			}
			if strings.Contains(answer, other.canary) {
				t.Errorf("%s, %s, of the other: %.300s", v.name, what, answer)
			}
		}
	}
	if looked < 90 {
		t.Errorf("only %d replies were looked at", looked)
	}

	// Rights end while they are used: red loses its own, and blue gets it.
	link, before := red.link(red.repository()), red.link(red.repository())
	if status, _ := red.read(red.request(false, http.MethodGet, before, "", nil)); status != http.StatusOK {
		t.Errorf("a link of its own: %d", status)
	}
	head := "repo://" + red.repository() + "/refs/heads/main"
	theirs := "repo://" + blue.repository() + "/refs/heads/main"
	redHears, blueHears := red.follow(head, theirs), blue.follow(head, theirs)
	mirrors["red"].Commit("main", gittest.Regular("file", "second"))
	redHears.Await(t, "updated.*"+red.canary)
	write(map[string]string{"red": "blue", "blue": "blue"})
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	said.Await(t, `read again" file="access rules"`)
	// The client gets the notifications of a deleted repository, and no later ones.
	redHears.Await(t, `(?s)resources/updated.*resources/updated`)
	told := strings.Count(redHears.String(), "updated")
	if status, _ := red.read(red.request(false, http.MethodGet, link, "", nil)); status != http.StatusNotFound {
		t.Errorf("a link to what its maker may not read any more: %d", status)
	}
	mirrors["red"].Commit("main", gittest.Regular("file", "third"))
	mirrors["blue"].Commit("main", gittest.Regular("file", "second"))
	blueHears.Await(t, "updated.*"+blue.canary) // by now red would have heard
	for what, answer := range red.about(red.repository(), "file") {
		answer = strings.ReplaceAll(strings.ReplaceAll(answer, red.repository(), "ASKED"),
			strings.ReplaceAll(red.repository(), "/", "%2F"), "ASKED")
		if strings.Contains(answer, red.canary) || strings.Contains(answer, "third") {
			t.Errorf("%s after the right ended: %.300s", what, answer)
		}
	}
	if now := strings.Count(redHears.String(), "updated"); now != told {
		t.Errorf("red heard on: %s", redHears)
	}

	// A token that is revoked ends what it opened.
	if said, err := exec.Command(program(t), "token", "revoke", "red", "--tokens", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	redHears.Await(t, "THE END")
	if status, _ := red.read(red.request(true, http.MethodGet, "/repositories", "",
		nil)); status != http.StatusUnauthorized {
		t.Errorf("a token that is revoked: %d", status)
	}
	if strings.Contains(blueHears.String(), "THE END") {
		t.Error("the stream of the other has ended as well")
	}
	p.stop(t)
	checkLog(t, said.String(), tenants)
}

// checkLog wants each request to have its principal, or why it has none, and no token.
func checkLog(t *testing.T, log string, tenants []*tenant) {
	t.Helper()
	requests := 0
	for line := range strings.Lines(log) {
		for _, v := range tenants {
			if strings.Contains(line, v.token) {
				t.Errorf("the log has a token: %s", line)
			}
		}
		if !strings.Contains(line, "msg=request") {
			continue
		}
		requests++
		if !strings.Contains(line, "principal=token:") && !strings.Contains(line, "denied=") {
			t.Errorf("a request has no principal: %s", line)
		}
	}
	if requests < 100 {
		t.Errorf("only %d requests were logged", requests)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/gittest"
)

const toolsPage = "../../docs/tools.md"

// serveSamples runs the program over testrepos until the test ends.
func serveSamples(t *testing.T, flags ...string) *peer {
	t.Helper()
	gittest.Long(t)
	ctx, cancel := context.WithCancel(t.Context())
	log, said := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		arguments := append([]string{"serve", "--root", "../../testrepos", "--listen", "127.0.0.1:0"}, flags...)
		ended <- run(ctx, arguments, func(string) (string, bool) { return "", false }, io.Discard, said)
		_ = said.Close() // of a pipe, it does not fail
	}()
	url := make(chan string, 1)
	go func() { // until the end, so that the program never waits
		var seen bytes.Buffer
		buffer := make([]byte, 4096)
		for {
			n, err := log.Read(buffer)
			seen.Write(buffer[:n])
			if match := listening.FindSubmatch(seen.Bytes()); match != nil {
				select {
				case url <- string(match[1]):
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("the server ended with %d", code)
		}
	})
	select {
	case found := <-url:
		return &peer{url: found}
	case <-time.After(time.Minute):
		t.Fatal("the server did not say where it listens")
		return nil
	}
}

// toolList is what tools/list says, as far as the page has it.
type toolList struct {
	Tools []struct {
		Name        string
		InputSchema struct {
			Properties json.RawMessage
			Required   []string
		}
	}
}

var (
	section   = regexp.MustCompile("(?m)^## `([a-z_]+)`\n")
	arguments = regexp.MustCompile(`(?s)<!-- arguments -->\n.*?<!-- end -->\n`)
	example   = regexp.MustCompile("(?s)```json\n([^`]*)\n```\n```text\n(.*?)```\n")
)

// TestDocumentationOfTools runs the examples of docs/tools.md, and holds the
// lists of arguments against the schemas.
func TestDocumentationOfTools(t *testing.T) {
	page, err := os.ReadFile(toolsPage)
	if err != nil {
		t.Fatal(err)
	}
	p := serveSamples(t, "--public-url", "https://git.example")
	var list toolList
	raw, err := p.request(t.Context(), "tools/list", map[string]any{})
	if err != nil || json.Unmarshal(raw, &list) != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	tables := make(map[string]string)
	for _, tool := range list.Tools {
		tables[tool.Name] = argumentTable(t, tool.InputSchema.Properties, tool.InputSchema.Required)
	}
	starts := section.FindAllSubmatchIndex(page, -1)
	var written bytes.Buffer
	written.Write(page[:starts[0][0]])
	for i, at := range starts {
		end := len(page)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		name := string(page[at[2]:at[3]])
		table, known := tables[name]
		if !known {
			t.Errorf("there is no tool %s", name)
		}
		delete(tables, name)
		written.Write(runSection(t, p, name, table, page[at[0]:end]))
	}
	for name := range tables {
		t.Errorf("docs/tools.md has nothing about %s", name)
	}
	checkOverview(t, p, page[:starts[0][0]], list)
	if bytes.Equal(written.Bytes(), page) {
		return
	}
	if !*update {
		t.Fatalf("docs/tools.md does not say what the tools do; go test ./cmd/repomcp -run Documentation -update "+
			"writes:\n%s", written.Bytes())
	}
	if err := os.WriteFile(toolsPage, written.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkOverview looks for all tools and prompts in what is before the sections.
func checkOverview(t *testing.T, p *peer, overview []byte, list toolList) {
	t.Helper()
	var rows []string
	for _, tool := range list.Tools {
		rows = append(rows, fmt.Sprintf("\n| [`%[1]s`](#%[1]s) | ", tool.Name))
	}
	var prompts struct{ Prompts []struct{ Name string } }
	if raw, err := p.request(t.Context(), "prompts/list", map[string]any{}); err != nil ||
		json.Unmarshal(raw, &prompts) != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, prompt := range prompts.Prompts {
		rows = append(rows, "\n| `"+prompt.Name+"` | ")
	}
	for _, row := range rows {
		if !bytes.Contains(overview, []byte(row)) {
			t.Errorf("the overview of docs/tools.md lacks %q", row)
		}
	}
}

// runSection is a section with the arguments and results that there are.
func runSection(t *testing.T, p *peer, name, table string, text []byte) []byte {
	t.Helper()
	if n := len(arguments.FindAll(text, -1)); n != 1 {
		t.Errorf("%s has %d lists of arguments", name, n)
	}
	text = arguments.ReplaceAllLiteral(text, []byte("<!-- arguments -->\n"+table+"<!-- end -->\n"))
	if !example.Match(text) {
		t.Errorf("%s has no example", name)
	}
	return example.ReplaceAllFunc(text, func(found []byte) []byte {
		call := example.FindSubmatch(found)[1]
		params := map[string]any{}
		if err := json.Unmarshal(call, &params); err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		if params["name"] != name {
			t.Errorf("an example of %s calls %v", name, params["name"])
		}
		raw, err := p.request(t.Context(), "tools/call", params)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Appendf(nil, "```json\n%s\n```\n```text\n%s\n```\n", call, shown(t, raw))
	})
}

// shown are the texts of a result, blocks divided by a line, and the URIs of its
// links.
func shown(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var result struct {
		Content []struct{ Type, Text, URI string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.IsError {
		t.Fatalf("%v: %s", err, raw)
	}
	var blocks []string
	for _, c := range result.Content {
		if c.Type == "resource_link" {
			blocks = append(blocks, "resource_link "+c.URI)
			continue
		}
		blocks = append(blocks, strings.TrimSuffix(c.Text, "\n"))
	}
	return steady(strings.Join(blocks, "\n---\n"))
}

// argumentTable lists arguments in the order of the schema.
func argumentTable(t *testing.T, properties json.RawMessage, required []string) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(properties))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| argument | type | |\n| --- | --- | --- |\n")
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		var property struct {
			Type, Description string
			Default           any
			Maximum           float64
		}
		if err := decoder.Decode(&property); err != nil {
			t.Fatal(err)
		}
		kind := property.Type
		for _, r := range required {
			if r == name {
				kind += ", required"
			}
		}
		if property.Default != nil && property.Default != false {
			kind += fmt.Sprintf(", default %v", property.Default)
		}
		if property.Maximum != 0 {
			kind += fmt.Sprintf(", at most %v", property.Maximum)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, kind, strings.ReplaceAll(property.Description, "|", "\\|"))
	}
	return b.String()
}

// The command that a result gives is one that works.
func TestCommandsOfToolsDownload(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	p := serveSamples(t)
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      []string // arguments of git, in the repository
	}{
		{"get_archive_link", map[string]any{"repo": "hello", "format": "tar", "paths": []string{"src"},
			"prefix": "it's/"}, []string{"-c", "tar.umask=0002", "archive", "--prefix=it's/", "HEAD", "src"}},
		{"get_file_contents", map[string]any{"repo": "media", "path": "images/logo.png"},
			[]string{"cat-file", "blob", "HEAD:images/logo.png"}},
		{"get_file_contents", map[string]any{"repo": "media", "path": "text/latin1.txt"},
			[]string{"cat-file", "blob", "HEAD:text/latin1.txt"}},
	} {
		raw, err := p.request(t.Context(), "tools/call", map[string]any{"name": c.tool, "arguments": c.arguments})
		if err != nil {
			t.Fatal(err)
		}
		_, command, ok := strings.Cut(shown(t, raw), "Download it with: ")
		if !ok {
			t.Fatalf("%s: there is no command: %s", c.tool, raw)
		}
		command, _, _ = strings.Cut(command, "\n")
		dir := t.TempDir()
		shell := exec.CommandContext(t.Context(), "sh", "-c", command)
		shell.Dir = dir
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		git := exec.CommandContext(t.Context(), "git", c.want...)
		git.Dir, git.Env = filepath.Join("../../testrepos", c.arguments["repo"].(string)+".git"), gittest.Env()
		want, err := git.Output()
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 {
			t.Fatalf("%s made %v, %v", command, files, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, files[0].Name())); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d, %v", command, len(got), len(want), err)
		}
	}
}

// Clients behind a proxy get no address of this machine.
func TestToolsInventNoAddress(t *testing.T) {
	p := serveSamples(t)
	if err := p.initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	for proxied, want := range map[string]string{"": "Download it with: curl ",
		"10.0.0.1": "Download it from this server over HTTP: GET /archive/hello/"} {
		header := http.Header{"Mcp-Session-Id": {p.session}, "Mcp-Protocol-Version": {sessionVersion}}
		if proxied != "" {
			header.Set("X-Forwarded-For", proxied)
		}
		reply, _, err := p.post(t.Context(), "tools/call", map[string]any{"name": "get_archive_link",
			"arguments": map[string]any{"repo": "hello"}}, header)
		if text := shown(t, reply); err != nil || !strings.Contains(text, want) ||
			strings.Contains(string(reply), p.url) != (proxied == "") {
			t.Errorf("X-Forwarded-For %q: %s, %v", proxied, reply, err)
		}
	}
}

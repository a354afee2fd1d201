package main

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	installPages = "../../docs/install"
	// What the pages write for the address of a server, and for the folder that a
	// program which is started serves.
	writtenEndpoint = "http://127.0.0.1:8080/mcp"
	securedEndpoint = "https://git.example.com/mcp" // one that wants a token
	writtenRoot     = "/srv/git"
)

var fenced = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)\n```")

// codeBlocks returns those of one language.
func codeBlocks(t *testing.T, page, language string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(installPages, page))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range fenced.FindAllSubmatch(content, -1) {
		if string(match[1]) == language {
			found = append(found, string(match[2]))
		}
	}
	return found
}

// installed is the configuration of a server, with the fields of all clients.
type installed struct {
	Type, URL, HTTPURL, ServerURL, URI string
	Command, Cmd                       string
	Args                               []string
}

// clientPages are the pages, and under which key each client looks for servers.
var clientPages = map[string]string{
	"claude-code.md": "mcpServers", "claude-desktop.md": "mcpServers", "vscode.md": "servers",
	"cursor.md": "mcpServers", "codex.md": "mcp_servers", "gemini-cli.md": "mcpServers", "zed.md": "context_servers",
	"windsurf.md": "mcpServers", "goose.md": "extensions",
}

// entries reads the configurations and the commands of a page.
func entries(t *testing.T, page, key string) []installed {
	t.Helper()
	var found []installed
	add := func(block string, decode func([]byte, any) error) {
		var configuration map[string]any
		if err := decode([]byte(block), &configuration); err != nil {
			t.Fatalf("%s: %v: %s", page, err, block)
		}
		servers := map[string]installed{}
		if text, err := json.Marshal(configuration[key]); err != nil || json.Unmarshal(text, &servers) != nil ||
			len(servers) != 1 {
			t.Fatalf("%s: %v: %s has %d servers, want one", page, err, block, len(servers))
		}
		found = append(found, servers["repomcp"])
	}
	for language, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal, "toml": toml.Unmarshal, "yaml": yaml.Unmarshal,
	} {
		for _, block := range codeBlocks(t, page, language) {
			add(block, decode)
		}
	}
	for _, block := range codeBlocks(t, page, "sh") {
		for line := range strings.Lines(block) {
			if words := strings.Fields(line); words[0] != "repomcp" { // the story connect has these
				found = append(found, addedByCommand(t, words))
			}
		}
	}
	return found
}

// addedByCommand understands the commands by which clients take a server: an
// address among the words, or the command that follows the name.
func addedByCommand(t *testing.T, words []string) installed {
	t.Helper()
	if i := slices.IndexFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "http") &&
			strings.Contains(w, ":")
	}); i > 0 {
		return installed{URL: words[i]}
	}
	i := slices.Index(words, "repomcp") // the name
	if i < 0 || slices.Index(words[i+1:], "repomcp") < 0 {
		t.Fatalf("%q adds nothing", words)
	}
	command := slices.DeleteFunc(words[i+1:], func(w string) bool { return w == "--" })
	return installed{Command: command[0], Args: command[1:]}
}

// What the pages tell clients is used by one: commands are started, and addresses
// asked.
func TestDocumentationOfClients(t *testing.T) {
	t.Parallel()
	server := serveSamples(t)
	pages, err := filepath.Glob(filepath.Join(installPages, "*.md"))
	if err != nil || len(pages) != len(clientPages)+2 { // README.md and recipes.md
		t.Errorf("%v, %d pages", err, len(pages))
	}
	for page, key := range clientPages {
		var overHTTP, overStdio int
		for _, entry := range entries(t, page, key) {
			entry.Command = cmp.Or(entry.Command, entry.Cmd)
			switch {
			case entry.Command == "npx": // a bridge, by its address
				if !slices.Contains(entry.Args, writtenEndpoint) && !slices.Contains(entry.Args, securedEndpoint) {
					t.Errorf("%s: %v", page, entry)
				}
			case entry.Command != "":
				overStdio++
				if filepath.Base(entry.Command) != "repomcp" || !slices.Contains(entry.Args, writtenRoot) {
					t.Errorf("%s: %+v", page, entry)
					continue
				}
				arguments := slices.Clone(entry.Args)
				arguments[slices.Index(arguments, writtenRoot)] = "../../testrepos"
				useTools(t, page, &mcp.CommandTransport{Command: exec.Command(program(t), arguments...)})
			default:
				overHTTP++
				address := cmp.Or(entry.URL, entry.HTTPURL, entry.ServerURL, entry.URI)
				if address != writtenEndpoint && address != securedEndpoint {
					t.Errorf("%s: %+v", page, entry)
				}
			}
		}
		if overStdio == 0 || overHTTP == 0 && page != "claude-desktop.md" {
			t.Errorf("%s has %d configurations over HTTP and %d over stdio", page, overHTTP, overStdio)
		}
	}
	useTools(t, "over HTTP", &mcp.StreamableClientTransport{
		Endpoint: server.url + strings.TrimPrefix(writtenEndpoint, "http://127.0.0.1:8080"), DisableStandaloneSSE: true,
	})
}

// The first lines work in a clone, before there is a release: what they install is there.
// .ci/version.sh installs it.
func TestInstallationFromAClone(t *testing.T) {
	gittest.Long(t)
	blocks := codeBlocks(t, "README.md", "sh")
	if len(blocks) == 0 || !strings.Contains(blocks[0], "go install ") {
		t.Fatalf("the page begins with the commands %q, want what installs the program", blocks)
	}
	lines := exec.Command("sh", "-euc", strings.Replace(blocks[0], "go install", "go list -f {{.Name}}", 1))
	lines.Dir = "../.."
	lines.Env = append(os.Environ(), "GOPROXY=off")
	lines.Stderr = os.Stderr
	said, err := lines.Output()
	if err != nil || !strings.HasPrefix(string(said), "main\nrepomcp ") {
		t.Errorf("%v: %s, want a program and its version", err, said)
	}
}

// useTools does what the pages say is to be seen.
func useTools(t *testing.T, who string, transport mcp.Transport) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(within(t), transport,
		nil)
	if err != nil {
		t.Errorf("%s: %v", who, err)
		return
	}
	called, err := session.CallTool(within(t), &mcp.CallToolParams{
		Name: "search_repositories", Arguments: map[string]any{"query": "hello"},
	})
	if err != nil || called.IsError {
		t.Errorf("%s: %v, %+v", who, err, called)
	}
	if err := session.Close(); err != nil {
		t.Errorf("%s: %v", who, err)
	}
}

const recipes = "recipes.md"

// withServer puts a running server in the place of the one of the page.
func withServer(text, url string) string {
	return strings.ReplaceAll(text, "https://git.example.com", url)
}

// runIn runs a script of the page in a new folder, which it returns.
func runIn(t *testing.T, script string) (folder, output string) {
	t.Helper()
	for _, need := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skip(need + " is missing")
		}
	}
	command := exec.Command("bash", "-euo", "pipefail", "-c", script)
	command.Dir = t.TempDir()
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, said, script)
	}
	return command.Dir, string(said)
}

// only returns the one block of a language that has a word in it.
func only(t *testing.T, language, word string) string {
	t.Helper()
	var found []string
	for _, block := range codeBlocks(t, recipes, language) {
		if strings.Contains(block, word) {
			found = append(found, block)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d blocks of %s have %s", len(found), language, word)
	}
	return found[0]
}

var (
	quotedURL    = regexp.MustCompile(`"(https://git\.example\.com/[^"]*)"`)
	quotedDigest = regexp.MustCompile(`sha256 = "([^"]*)"`)
)

// fetched downloads the address that a recipe names.
func fetched(t *testing.T, recipe, server string) []byte {
	t.Helper()
	match := quotedURL.FindStringSubmatch(recipe)
	if match == nil {
		t.Fatalf("no address in %s", recipe)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, withServer(match[1], server), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", match[1], response.Status, err)
	}
	return body
}

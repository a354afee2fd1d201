package clientconfig

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// client returns the client with an id.
func client(t *testing.T, id string) *Client {
	t.Helper()
	c, err := Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	served  = Server{Name: "repomcp", URL: "https://git.example/mcp"}
	secured = Server{Name: "repomcp", URL: "https://git.example/mcp", TokenVariable: "TOKEN"}
	started = Server{Name: "repomcp", Command: "/bin/repomcp", Args: []string{"stdio", "--root", "/a b"}}
)

// edits are files before and after the entry of a server is added.
var edits = []struct {
	name, client  string
	server        Server
	before, after string
}{
	{"comments and a trailing comma", "zed", served, `// Settings
{
  /* of Zed */ "theme": "One", // dark
  "context_servers": { // mine
    // the first
    "other": {"command": "x"}, // why
  },
}
`, `// Settings
{
  /* of Zed */ "theme": "One", // dark
  "context_servers": { // mine
    "repomcp": {
      "url": "https://git.example/mcp"
    },
    // the first
    "other": {"command": "x"}, // why
  },
}
`},
	{"no servers yet, with tabs and CRLF", "cursor", served, "{\r\n\t\"a\": [1, 2],\r\n\t\"b\": 1e3\r\n}\r\n",
		"{\r\n\t\"mcpServers\": {\r\n\t\t\"repomcp\": {\r\n\t\t\t\"url\": \"https://git.example/mcp\"\r\n\t\t}\r\n\t}," +
			"\r\n\t\"a\": [1, 2],\r\n\t\"b\": 1e3\r\n}\r\n"},
	{"all in one line", "cursor", served, `{"mcpServers": {"a/b": {"url": "x"}}}`, `{"mcpServers": {
  "repomcp": {
    "url": "https://git.example/mcp"
  },
  "a/b": {"url": "x"}}}`},
	{"an own entry of another kind, with settings of the user", "windsurf", secured, `{
  "mcpServers": {
    "repomcp": {
      "command": "npx", "args": ["x"],
      // not these
      "disabledTools": ["get_tag"]
    }
  }
}
`, `{
  "mcpServers": {
    "repomcp": {
      "serverUrl": "https://git.example/mcp",
      "headers": {
        "Authorization": "Bearer ${env:TOKEN}"
      },
      // not these
      "disabledTools": ["get_tag"]
    }
  }
}
`},
	{"a prompt beside another one", "vscode", secured, `{
  "inputs": [
    // a key
    {"type": "promptString", "id": "key"}
  ],
  "servers": {}
}
`, `{
  "inputs": [
    {
      "type": "promptString",
      "id": "TOKEN",
      "description": "Token of repomcp",
      "password": true
    },
    // a key
    {"type": "promptString", "id": "key"}
  ],
  "servers": {
    "repomcp": {
      "type": "http",
      "url": "https://git.example/mcp",
      "headers": {
        "Authorization": "Bearer ${input:TOKEN}"
      }
    }
  }
}
`},
	{"a byte order mark", "cursor", served, "\uFEFF{}", "\uFEFF{\n  \"mcpServers\": {\n    \"repomcp\": {\n      \"url\": " +
		"\"https://git.example/mcp\"\n    }\n  }\n}"},
	{"tables and comments", "codex", secured, `# mine
model = "x" # good

[mcp_servers.other]
command = "y"

# last
[profiles.a]
text = """
[mcp_servers.repomcp]
"""`, `# mine
model = "x" # good

[mcp_servers.other]
command = "y"

# last
[profiles.a]
text = """
[mcp_servers.repomcp]
"""

[mcp_servers.repomcp]
url = "https://git.example/mcp"
bearer_token_env_var = "TOKEN"
`},
	{"an own table of another kind, with settings of the user", "codex", served, `[mcp_servers . "repomcp"] # this
# how
command = "npx" # by node
args = [
  "a", # one
  "b",
]
enabled_tools = ["get_tag"]

[mcp_servers.repomcp.env]
A = "b"

# more
[mcp_servers.repomcp.tools.get_tag]
approval_mode = "approve"
`, `[mcp_servers . "repomcp"] # this
url = "https://git.example/mcp"
# how
# by node
enabled_tools = ["get_tag"]


# more
[mcp_servers.repomcp.tools.get_tag]
approval_mode = "approve"
`},
	{"an extension beside others", "goose", secured, `# goose
GOOSE_MODEL: x

extensions:
    # tools
    developer:
        enabled: true

        args:
        - a

GOOSE_MODE: auto # why
`, `# goose
GOOSE_MODEL: x

extensions:
    repomcp:
      enabled: true
      name: "repomcp"
      description: "Git repositories"
      type: "streamable_http"
      uri: "https://git.example/mcp"
      env_keys:
        - "TOKEN"
      headers:
        Authorization: "Bearer ${TOKEN}"
    # tools
    developer:
        enabled: true

        args:
        - a

GOOSE_MODE: auto # why
`},
	{"an own extension of another kind, with settings of the user", "goose", started, `extensions:
  repomcp:
    enabled: false
    type: streamable_http
    name: repomcp
    uri: x
    headers: {A: b}
    # long
    timeout: 900
`, `extensions:
  repomcp:
    enabled: true
    name: "repomcp"
    description: "Git repositories"
    type: "stdio"
    cmd: "/bin/repomcp"
    args:
      - "stdio"
      - "--root"
      - "/a b"
    # long
    timeout: 900
`},
	{"an own entry of the same kind, with an environment", "cursor", started, `{"mcpServers": {
  "repomcp": {
    "command": "repomcp",
    "env": {"REPOMCP_LOG_LEVEL": "warn"}
  }
}}
`, `{"mcpServers": {
  "repomcp": {
    "command": "/bin/repomcp",
    "args": ["stdio", "--root", "/a b"],
    "env": {"REPOMCP_LOG_LEVEL": "warn"}
  }
}}
`},
	{"no extension", "goose", served, "extensions: {}\nA: b\n", `extensions:
  repomcp:
    enabled: true
    name: "repomcp"
    description: "Git repositories"
    type: "streamable_http"
    uri: "https://git.example/mcp"
A: b
`},
}

func TestEntriesAreMerged(t *testing.T) {
	t.Parallel()
	for _, e := range edits {
		c := client(t, e.client)
		got, err := c.Add([]byte(e.before), e.server)
		if err != nil || string(got) != e.after {
			t.Errorf("%s: %v, the file is\n%s\nwant\n%s", e.name, err, got, e.after)
			continue
		}
		if again, err := c.Add(got, e.server); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: added again, the file is\n%s\n(%v), want no change", e.name, again, err)
		}
	}
}

// squeeze leaves out blanks.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// Whatever an entry is for, removing it gives the file without it, and other lines stay.
func TestEntriesAreRemoved(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, e := range edits {
		c := client(t, e.client)
		for _, s := range []Server{served, secured, started} {
			added, err := c.Add([]byte(e.before), s)
			if err != nil {
				t.Errorf("%s: %v", e.name, err)
				continue
			}
			removed, err := c.Remove(added, s.Name)
			if err != nil {
				t.Errorf("%s: %v", e.name, err)
				continue
			}
			tried++
			own := strings.Contains(e.name, "own")
			for line := range strings.Lines(e.before) {
				// An object that was empty has got its end in another line.
				if !own && !strings.Contains(line, "{}") && !strings.Contains(squeeze(string(removed)), squeeze(line)) {
					t.Errorf("%s: the line %q is lost in\n%s", e.name, line, removed)
				}
			}
			if all, err := c.decode(removed); err != nil || objectIn(all, c.key)[s.Name] != nil {
				t.Errorf("%s: %v, the entry is still in\n%s", e.name, err, removed)
			}
		}
	}
	if want := 3 * len(edits); tried != want {
		t.Errorf("%d removals were tried, want %d", tried, want)
	}
	const two = "{\n  \"mcpServers\": {\n    \"a\": {} // first\n    ,\n    \"repomcp\": {} // second\n  }\n}\n"
	const one = "{\n  \"mcpServers\": {\n    \"a\": {} // first\n    \n     // second\n  }\n}\n"
	if got, err := client(t, "cursor").Remove([]byte(two), "repomcp"); err != nil || string(got) != one {
		t.Errorf("the last of two: %v, %q, want %q", err, got, one)
	}
}

// An input of VS Code goes with the last server that refers to it.
func TestInputsGoWithTheirServers(t *testing.T) {
	t.Parallel()
	c := client(t, "vscode")
	const file = "{\n  \"inputs\": [\n    {\"id\": \"key\"} // mine\n  ]\n}\n"
	second := secured
	second.Name = "second"
	text := []byte(file)
	for _, s := range []Server{secured, second} {
		added, err := c.Add(text, s)
		if err != nil {
			t.Fatal(err)
		}
		text = added
	}
	for _, step := range []struct {
		name string
		left int // references to the token
	}{{"repomcp", 2}, {"second", 0}} {
		removed, err := c.Remove(text, step.name)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(removed), "TOKEN"); n != step.left || !strings.Contains(string(removed), "// mine") {
			t.Errorf("without %s the token is in %d places of\n%s\nwant %d", step.name, n, removed, step.left)
		}
		text = removed
	}
	mine := strings.Replace(c.Example(secured), "Token of repomcp", "my token", 1)
	if again, err := c.Add([]byte(mine), secured); err != nil || string(again) != mine {
		t.Errorf("%v: the description of the user is changed to\n%s", err, again)
	}
	other := secured
	other.TokenVariable = "OTHER"
	text, err := c.Add([]byte(c.Example(secured)), other)
	if err != nil || string(text) != c.Example(other) {
		t.Errorf("%v: another variable makes\n%s\nwant\n%s", err, text, c.Example(other))
	}
}

// What cannot be changed with certainty is refused, and so is what is no configuration.
func TestRareFormsAreRefused(t *testing.T) {
	t.Parallel()
	for id, files := range map[string][]string{
		"cursor": {"{", "[]", "null]", `{"mcpServers": []}`, `{"mcpServers": {}, "mcpServers": {"a": {}}}`,
			`{"mcpServers": {"repomcp": "x"}}`},
		"vscode": {`{"inputs": {}}`},
		"codex": {"a = ", "mcp_servers = {a = {}}", "mcp_servers = {repomcp = {url = \"x\"}}",
			"[mcp_servers]\nrepomcp = {url = \"x\"}", "[[mcp_servers.repomcp]]\nurl = \"x\""},
		"goose": {"a: [", "- a", "extensions: [a]", "extensions: {a: {b: c}}", "extensions: &x\n  a: {}\nb: *x\na: {a: b, a: c}"},
	} {
		for _, file := range files {
			if got, err := client(t, id).Add([]byte(file), secured); !errors.Is(err, ErrForm) {
				t.Errorf("%s: %q becomes %q, %v, want a refusal", id, file, got, err)
			}
		}
	}
}

func TestFilesOfOthersAreTold(t *testing.T) {
	t.Parallel()
	for i := range Clients {
		c := &Clients[i]
		for _, s := range []Server{served, secured, started} {
			if others, err := c.Others([]byte(c.Example(s)), s.Name); others || err != nil {
				t.Errorf("%s: %t, %v, want no others beside the own entry", c.ID, others, err)
			}
		}
		if others, err := c.Others([]byte(c.Example(served)), "another"); !others || err != nil {
			t.Errorf("%s: %t, %v, want another entry to be seen", c.ID, others, err)
		}
		if others, err := c.Others(nil, "another"); others || err != nil {
			t.Errorf("%s: %t, %v, want nothing in an empty file", c.ID, others, err)
		}
	}
	if others, _ := client(t, "cursor").Others([]byte("// mine\n{}"), "repomcp"); !others {
		t.Error("a comment is no content of others, want it to be")
	}
}

func TestFilesOfUsers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ client, system, want string }{
		{"codex", "linux", "home/.codex/config.toml"}, {"zed", "linux", "settings/zed/settings.json"},
		{"zed", "darwin", "home/.config/zed/settings.json"}, {"zed", "windows", "settings/Zed/settings.json"},
		{"goose", "windows", "settings/Block/goose/config/config.yaml"}, {"claude-code", "linux", ""},
	} {
		got := client(t, test.client).Files.UserFile(test.system, "home", "settings")
		if got != filepath.FromSlash(test.want) {
			t.Errorf("%s on %s: %q, want %q", test.client, test.system, got, test.want)
		}
	}
}

func TestCommandsOfClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		client string
		server Server
		want   string
	}{
		{"gemini-cli", started, "gemini mcp add repomcp /bin/repomcp stdio -- --root '/a b'"},
		{"claude-code", served, "claude mcp add --transport http repomcp https://git.example/mcp"},
		{"claude-code", secured, ""}, {"zed", served, ""},
	} {
		if got := client(t, test.client).Command(test.server); got != test.want {
			t.Errorf("%s: %q, want %q", test.client, got, test.want)
		}
	}
	if _, err := Find("vs-code"); err == nil || !strings.Contains(err.Error(), "Did you mean vscode?") {
		t.Errorf("an unknown client: %v, want the likely one", err)
	}
}

// No edit of any file panics, loses an entry or adds one.
func FuzzAdd(f *testing.F) {
	for _, e := range edits {
		for i := range Clients {
			f.Add(i, e.before)
			f.Add(i, e.after)
		}
	}
	f.Fuzz(func(t *testing.T, i int, file string) {
		c := &Clients[uint(i)%uint(len(Clients))]
		for _, s := range []Server{secured, started} {
			added, err := c.Add([]byte(file), s) // it compares what it makes with the file
			if err != nil {
				continue
			}
			if again, err := c.Add(added, s); err != nil || !bytes.Equal(again, added) {
				t.Fatalf("%s: %q becomes %q, and when it is added again %q (%v)", c.ID, file, added, again, err)
			}
			if _, err := c.Remove(added, s.Name); err != nil && !errors.Is(err, ErrForm) {
				t.Fatalf("%s: %q: %v", c.ID, added, err)
			}
		}
	})
}

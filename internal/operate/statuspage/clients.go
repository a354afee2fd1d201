package statuspage

import "strings"

// client is how one program is told of the server. The texts are those of
// docs/install, by its file.
type client struct {
	name, file string
	place      string // where the text belongs
	// text has {endpoint} for the address of MCP, and marks of tokenParts.
	text string
}

// tokenParts are marks, and what stands there where clients are asked for a token.
// YOUR_TOKEN has to be replaced by hand: the page knows nobody's token.
var tokenParts = []string{
	"{option}", ` --header "Authorization: Bearer YOUR_TOKEN"`,
	"{headers}", `, "headers": {"Authorization": "Bearer YOUR_TOKEN"}`,
	"{export}", "# export REPOMCP_TOKEN=YOUR_TOKEN\n",
	"{variable}", "\nbearer_token_env_var = \"REPOMCP_TOKEN\"",
}

// instruction is what to copy for a client.
type instruction struct{ Name, Place, Text string }

// instructions fit a server.
func instructions(endpoint string, tokens bool) []instruction {
	marks := append([]string{"{endpoint}", endpoint}, tokenParts...)
	if !tokens {
		for i := 3; i < len(marks); i += 2 {
			marks[i] = ""
		}
	}
	filler := strings.NewReplacer(marks...)
	list := make([]instruction, len(clients))
	for i, c := range clients {
		list[i] = instruction{c.name, c.place, filler.Replace(c.text)}
	}
	return list
}

// clients are those of docs/install that speak HTTP, and what most others read.
var clients = []client{
	{"Claude Code", "claude-code.md", "In a terminal", "claude mcp add --transport http repomcp {endpoint}{option}"},
	{"VS Code", "vscode.md", "In .vscode/mcp.json of a project",
		`{"servers": {"repomcp": {"type": "http", "url": "{endpoint}"{headers}}}}`},
	{"Cursor", "cursor.md", "In ~/.cursor/mcp.json", `{"mcpServers": {"repomcp": {"url": "{endpoint}"{headers}}}}`},
	{"Codex", "codex.md", "In ~/.codex/config.toml",
		"{export}[mcp_servers.repomcp]\nurl = \"{endpoint}\"{variable}"},
	{"Gemini CLI", "gemini-cli.md", "In ~/.gemini/settings.json",
		`{"mcpServers": {"repomcp": {"httpUrl": "{endpoint}"{headers}}}}`},
	{"Zed", "zed.md", "In settings.json of Zed", `{"context_servers": {"repomcp": {"url": "{endpoint}"{headers}}}}`},
	{"Other clients", "claude-code.md", "As JSON",
		`{"mcpServers": {"repomcp": {"type": "http", "url": "{endpoint}"{headers}}}}`},
}

package statuspage

import "strings"

// client is the installation instruction of a program. The texts equal those of docs/install, by
// file.
type client struct {
	name, file string
	place      string // where the text belongs
	// text contains {endpoint} for the address of MCP, and placeholders of tokenParts.
	text string
}

// tokenParts are placeholders with their replacements for clients that need a token. The user
// replaces YOUR_TOKEN: the page knows no tokens.
var tokenParts = []string{
	"{option}", ` --header "Authorization: Bearer YOUR_TOKEN"`,
	"{headers}", `, "headers": {"Authorization": "Bearer YOUR_TOKEN"}`,
	"{export}", "# export REPOMCP_TOKEN=YOUR_TOKEN\n",
	"{variable}", "\nbearer_token_env_var = \"REPOMCP_TOKEN\"",
}

// instruction is a text to copy for a client.
type instruction struct{ Name, Place, Text string }

// instructions returns the instructions for a server.
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

// clients are the HTTP clients of docs/install, and the form that most others read.
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

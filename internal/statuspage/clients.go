package statuspage

import "strings"

// endpointMark stands for the address of MCP. YOUR_TOKEN has to be replaced by hand: the
// page knows nobody's token.
const endpointMark = "{endpoint}"

// client is how one program is told of the server. The texts are those of
// docs/install, by its file.
type client struct {
	name, file string
	place      string // where the text belongs
	// open is for a server that asks nobody who they are, and asked for one that wants
	// a token.
	open, asked string
}

// instruction is what to copy for a client.
type instruction struct{ Name, Place, Text string }

// instructions fit a server.
func instructions(endpoint string, tokens bool) []instruction {
	list := make([]instruction, len(clients))
	for i, c := range clients {
		text := c.open
		if tokens {
			text = c.asked
		}
		list[i] = instruction{c.name, c.place, strings.ReplaceAll(text, endpointMark, endpoint)}
	}
	return list
}

// clients are those of docs/install that speak HTTP, and what most others read.
var clients = []client{
	{
		name: "Claude Code", file: "claude-code.md", place: "In a terminal",
		open:  `claude mcp add --transport http repomcp {endpoint}`,
		asked: `claude mcp add --transport http repomcp {endpoint} --header "Authorization: Bearer YOUR_TOKEN"`,
	},
	{
		name: "VS Code", file: "vscode.md", place: "In .vscode/mcp.json of a project",
		open: `{"servers": {"repomcp": {"type": "http", "url": "{endpoint}"}}}`,
		asked: `{"servers": {"repomcp": {"type": "http", "url": "{endpoint}", ` +
			`"headers": {"Authorization": "Bearer YOUR_TOKEN"}}}}`,
	},
	{
		name: "Cursor", file: "cursor.md", place: "In ~/.cursor/mcp.json",
		open: `{"mcpServers": {"repomcp": {"url": "{endpoint}"}}}`,
		asked: `{"mcpServers": {"repomcp": {"url": "{endpoint}", ` +
			`"headers": {"Authorization": "Bearer YOUR_TOKEN"}}}}`,
	},
	{
		name: "Codex", file: "codex.md", place: "In ~/.codex/config.toml",
		open: "[mcp_servers.repomcp]\nurl = \"{endpoint}\"",
		asked: "# export REPOMCP_TOKEN=YOUR_TOKEN\n[mcp_servers.repomcp]\nurl = \"{endpoint}\"\n" +
			"bearer_token_env_var = \"REPOMCP_TOKEN\"",
	},
	{
		name: "Gemini CLI", file: "gemini-cli.md", place: "In ~/.gemini/settings.json",
		open: `{"mcpServers": {"repomcp": {"httpUrl": "{endpoint}"}}}`,
		asked: `{"mcpServers": {"repomcp": {"httpUrl": "{endpoint}", ` +
			`"headers": {"Authorization": "Bearer YOUR_TOKEN"}}}}`,
	},
	{
		name: "Zed", file: "zed.md", place: "In settings.json of Zed",
		open: `{"context_servers": {"repomcp": {"url": "{endpoint}"}}}`,
		asked: `{"context_servers": {"repomcp": {"url": "{endpoint}", ` +
			`"headers": {"Authorization": "Bearer YOUR_TOKEN"}}}}`,
	},
	{
		name: "Other clients", file: "claude-code.md", place: "As JSON",
		open: `{"mcpServers": {"repomcp": {"type": "http", "url": "{endpoint}"}}}`,
		asked: `{"mcpServers": {"repomcp": {"type": "http", "url": "{endpoint}", ` +
			`"headers": {"Authorization": "Bearer YOUR_TOKEN"}}}}`,
	},
}

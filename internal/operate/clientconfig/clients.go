package clientconfig

import (
	"path/filepath"
	"strings"
)

// Client is a program that speaks MCP, and what its configuration looks like.
type Client struct {
	ID, Name string
	// Files are the places of its configuration.
	Files Files
	// Desktop is true for a program that does not see the PATH of a shell: commands need full paths.
	Desktop bool

	format *format
	key    string // of the object that has the servers
	// Names of members, and values of "type"; "" if the client has none.
	httpType, stdioType, urlKey, commandKey string
	// header refers to an environment variable NAME in a header; "" if the client cannot.
	header string
	// tokenKey is a member for the name of the variable, instead of a header.
	tokenKey string
	// variables is a member that lists the variables to which headers refer.
	variables string
	// prompts is true if header is the id of an input that the client prompts for.
	prompts bool
	// named is true if an entry repeats its name and says that it is enabled.
	named bool
	// stdioArgs are more arguments of repomcp stdio.
	stdioArgs []string

	// addHTTP and addStdio are commands of the client itself that add a server, with NAME and URL in
	// their places, or with PROGRAM, its MODE and its FLAGS; "" if there is none.
	addHTTP, addStdio string
}

// Files are places of a client's configuration. "~" is the user's home folder, and "CONFIG" the
// folder that os.UserConfigDir returns.
type Files struct {
	// User is the file for all projects; "" if the client itself has to change it. Windows and
	// Darwin are set where the place differs there.
	User, Windows, Darwin string
	// Project is the file below the folder of a project, or "".
	Project string
}

// Clients are all clients, in the order of the documentation.
var Clients = []Client{
	{
		ID: "claude-code", Name: "Claude Code", Files: Files{Project: ".mcp.json"},
		format: &jsonFormat, key: "mcpServers", httpType: "http", urlKey: "url", commandKey: "command",
		header:   "${NAME}",
		addHTTP:  "claude mcp add --transport http NAME URL",
		addStdio: "claude mcp add NAME -- PROGRAM MODE FLAGS",
	},
	{
		ID: "claude-desktop", Name: "Claude Desktop", Desktop: true,
		Files:  Files{User: "CONFIG/Claude/claude_desktop_config.json"},
		format: &jsonFormat, key: "mcpServers", commandKey: "command",
	},
	{
		ID: "vscode", Name: "VS Code", Files: Files{User: "CONFIG/Code/User/mcp.json", Project: ".vscode/mcp.json"},
		format: &jsonFormat, key: "servers", httpType: "http", stdioType: "stdio", urlKey: "url", commandKey: "command",
		header: "${input:NAME}", prompts: true,
		// VS Code shows standard error as warnings.
		stdioArgs: []string{"--log-level", "warn"},
	},
	{
		ID: "cursor", Name: "Cursor", Files: Files{User: "~/.cursor/mcp.json", Project: ".cursor/mcp.json"},
		format: &jsonFormat, key: "mcpServers", urlKey: "url", commandKey: "command", header: "${env:NAME}",
	},
	{ //nolint:gosec // names of settings, and no credentials
		ID: "codex", Name: "Codex", Files: Files{User: "~/.codex/config.toml", Project: ".codex/config.toml"},
		format: &tomlFormat, key: "mcp_servers", urlKey: "url", commandKey: "command", tokenKey: "bearer_token_env_var",
		addHTTP:  "codex mcp add NAME --url URL",
		addStdio: "codex mcp add NAME -- PROGRAM MODE FLAGS",
	},
	{
		ID: "gemini-cli", Name: "Gemini CLI",
		Files:  Files{User: "~/.gemini/settings.json", Project: ".gemini/settings.json"},
		format: &jsonFormat, key: "mcpServers", urlKey: "httpUrl", commandKey: "command", header: "$NAME",
		addHTTP:  "gemini mcp add --transport http NAME URL",
		addStdio: "gemini mcp add NAME PROGRAM MODE -- FLAGS",
	},
	{
		ID: "zed", Name: "Zed",
		Files: Files{
			User: "CONFIG/zed/settings.json", Project: ".zed/settings.json",
			Darwin: "~/.config/zed/settings.json", Windows: "CONFIG/Zed/settings.json",
		},
		// Zed sends headers as they are written.
		format: &jsonFormat, key: "context_servers", urlKey: "url", commandKey: "command",
	},
	{
		ID: "windsurf", Name: "Windsurf", Files: Files{User: "~/.codeium/windsurf/mcp_config.json"},
		format: &jsonFormat, key: "mcpServers", urlKey: "serverUrl", commandKey: "command", header: "${env:NAME}",
	},
	{
		ID: "goose", Name: "goose",
		Files: Files{
			User: "~/.config/goose/config.yaml", Windows: "CONFIG/Block/goose/config/config.yaml",
		},
		format: &yamlFormat, key: "extensions", httpType: "streamable_http", stdioType: "stdio", urlKey: "uri",
		commandKey: "cmd", header: "${NAME}", variables: "env_keys", named: true,
	},
}

// Shown returns the place to people: the file for all projects on Linux, or that of a project.
func (f Files) Shown() string {
	if f.User == "" {
		return f.Project + " of a project"
	}
	return strings.Replace(f.User, "CONFIG/", "~/.config/", 1)
}

// UserFile returns the file for all projects on an operating system (a GOOS), or "".
func (f Files) UserFile(system, home, settings string) string {
	file := f.User
	switch {
	case system == "windows" && f.Windows != "":
		file = f.Windows
	case system == "darwin" && f.Darwin != "":
		file = f.Darwin
	}
	if below, ok := strings.CutPrefix(file, "~/"); ok {
		return filepath.Join(home, filepath.FromSlash(below))
	}
	if below, ok := strings.CutPrefix(file, "CONFIG/"); ok {
		return filepath.Join(settings, filepath.FromSlash(below))
	}
	return ""
}

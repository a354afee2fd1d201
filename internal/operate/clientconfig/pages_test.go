package clientconfig

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages of docs/install")

const pages = "../../../docs/install"

// written are the servers of the pages.
func written(c *Client) (overHTTP, withToken, program Server) {
	overHTTP = Server{Name: DefaultName, URL: "http://127.0.0.1:8080/mcp"}
	withToken = Server{Name: DefaultName, URL: "https://git.example.com/mcp", TokenVariable: "REPOMCP_TOKEN"}
	program = Server{Name: DefaultName, Command: "repomcp", Args: []string{"stdio", "--root", "/srv/git"}}
	if c.Desktop {
		program.Command = "/usr/local/bin/repomcp"
	}
	return overHTTP, withToken, program
}

// about has what a page says beside the configurations.
type about struct {
	before, note string // "" for nothing
	seen         string // what shows that it works
}

var texts = map[string]about{
	"claude-code": {
		note: "The file is for all developers of a project. Claude Code itself rewrites the file for you alone while it runs:\n" +
			"use its own command for that one.",
		seen: "`claude mcp list` says \"Connected\", `/mcp` in a session lists the tools, and\n" +
			"\"which repositories does repomcp have?\" is answered by `search_repositories`.",
	},
	"claude-desktop": {
		before: "**A bundle.** `make mcpb` makes a `.mcpb` file in `dist`; open it with Claude Desktop, and choose the folder of\n" +
			"your repositories when it asks.\n\n**By hand**, Settings, Developer, Edit Config opens the file.",
		note: "The command is a full path, because the desktop does not know the PATH of your shell. Claude Desktop contacts\n" +
			"custom connectors from the internet, so it cannot reach a server on your computer. The bridge `mcp-remote`\n" +
			"with Node.js can.",
		seen: "after a restart \"repomcp\" is among the tools of a new chat. The program's log is\n" +
			"`mcp-server-repomcp.log`, in `~/Library/Logs/Claude` on macOS.",
	},
	"vscode": {
		before: "\"MCP: Open User Configuration\" opens the file for all projects.",
		note: "VS Code shows the program's log as warnings, so the log should be short. `${workspaceFolder}` instead of\n" +
			"`/srv/git` serves the commits of the open folder.",
		seen: "\"MCP: List Servers\" says \"Running\", and the tools are in the tool picker of the chat in agent\nmode.",
	},
	"cursor": {seen: "the settings list \"repomcp\" among the MCP servers, with a green dot and its tools."},
	"codex": {
		note: "Codex reads the file of a project only if the project is trusted.",
		seen: "`codex mcp list` shows it as \"enabled\", and `/mcp` in a session lists the tools.",
	},
	"gemini-cli": {seen: "`gemini mcp list` says \"Connected\", and `/mcp` in a session lists the tools."},
	"zed": {
		before: "\"zed: open settings file\" opens the file for all projects.",
		note: "Zed replaces no variables in headers, so a token needs the bridge `mcp-remote` with Node.js. A version of Zed\n" +
			"without support for `url` needs it, too.",
		seen: "the settings of the agent list \"repomcp\" with a green dot, and its tools.",
	},
	"windsurf": {seen: "after a refresh the settings of Cascade list \"repomcp\" among the MCP servers, with its tools."},
	"goose": {
		seen: "`goose info -v` shows the extension, and a session asked for its repositories calls\n" +
			"`search_repositories`.",
	},
}

// elsewhere tells the places on other systems.
func (f Files) elsewhere() string {
	darwin, windows := f.Darwin, f.Windows
	if below, ok := strings.CutPrefix(f.User, "CONFIG/"); ok {
		if darwin == "" {
			darwin = "~/Library/Application Support/" + below
		}
		if windows == "" {
			windows = f.User
		}
	}
	var list []string
	if darwin != "" {
		list = append(list, "macOS: `"+darwin+"`")
	}
	if windows != "" {
		list = append(list, "Windows: `%APPDATA%\\"+
			strings.ReplaceAll(strings.TrimPrefix(windows, "CONFIG/"), "/", `\`)+"`")
	}
	if list == nil {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// place tells where a client has its configuration.
func (c *Client) place() string {
	switch f := c.Files; {
	case f.User == "":
		return "In `" + f.Project + "` of a project."
	case f.Project == "":
		return "In `" + f.Shown() + "`" + f.elsewhere() + "."
	default:
		return "In `" + f.Shown() + "`" + f.elsewhere() + ", or in\n`" + f.Project + "` of a project (`--project`)."
	}
}

// pageOf returns the page of a client.
func pageOf(c *Client) string {
	var b strings.Builder
	say := func(paragraphs ...string) {
		for _, p := range paragraphs {
			if p != "" {
				b.WriteString(p + "\n\n")
			}
		}
	}
	block := func(language, text string) { say("```" + language + "\n" + strings.TrimSuffix(text, "\n") + "\n```") }
	overHTTP, withToken, program := written(c)
	text, flag := texts[c.ID], ""
	if c.Files.User == "" {
		flag = " --project"
	}
	b.WriteString("<!-- Made by go test ./internal/operate/clientconfig -run Pages -update -->\n")
	say("# "+c.Name, text.before, c.place())
	say("`repomcp connect` writes these configurations. It changes a file with other content only with `--write`, and keeps\n" +
		"a copy of the old file beside it. `--remove` removes the entry.")
	block("sh", fmt.Sprintf("repomcp connect %s %s%s\nrepomcp connect %[1]s --root %[4]s%[3]s", c.ID, overHTTP.URL, flag,
		program.Args[2]))
	if own := c.Command(overHTTP); own != "" {
		say(c.Name + " has commands of its own:")
		block("sh", own+"\n"+c.Command(program))
	}
	say("Over HTTP, from a running server (`repomcp serve --root /srv/git`):")
	block(c.format.name, c.Example(overHTTP))
	token := "with a token from the environment variable `REPOMCP_TOKEN`"
	if c.Prompts() {
		token = "with a token that " + c.Name + " prompts for"
	}
	say("Over HTTP " + token + " (`--token-env REPOMCP_TOKEN`):")
	block(c.format.name, c.Example(withToken))
	say("Without a server, as a program that " + c.Name + " starts:")
	block(c.format.name, c.Example(program))
	say(text.note)
	b.WriteString("To see that it works: " + text.seen + "\n")
	return b.String()
}

// overview is the list of clients in the README of the pages.
func overview() string {
	var b strings.Builder
	b.WriteString("| Client | `repomcp connect` | File | Token |\n|---|---|---|---|\n")
	for i := range Clients {
		c := &Clients[i]
		token := "from the environment variable"
		_, withToken, _ := written(c)
		switch {
		case c.Prompts():
			token = "from a prompt"
		case strings.Contains(c.Example(withToken), "mcp-remote"):
			token = "from the environment variable, by `mcp-remote`"
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | `%[2]s` | `%s` | %s |\n", c.Name, c.ID, c.Files.Shown(), token)
	}
	return b.String()
}

// hold compares a file with what the table says, or writes it.
func hold(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(pages, name))
	if *update {
		err = os.WriteFile(filepath.Join(pages, name), []byte(want), 0o600)
		got = []byte(want)
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/install/%s is not what the table of clients says; go test ./internal/operate/clientconfig -run Pages "+
			"-update writes\n%s", name, want)
	}
}

func TestPagesAreThoseOfTheTable(t *testing.T) {
	if len(Clients) < 9 || len(texts) != len(Clients) {
		t.Fatalf("there are %d clients and %d texts, want 9 or more of both", len(Clients), len(texts))
	}
	for i := range Clients {
		c := &Clients[i]
		if texts[c.ID].seen == "" {
			t.Errorf("%s: the page does not tell what shows that it works", c.Name)
		}
		hold(t, c.ID+".md", pageOf(c))
	}
	readme, err := os.ReadFile(filepath.Join(pages, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- clients -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(readme), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("docs/install/README.md has no list of clients between %q and %q", begin, end)
	}
	hold(t, "README.md", before+begin+overview()+end+after)
}

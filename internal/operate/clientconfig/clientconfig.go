// Package clientconfig has one table of MCP clients, and writes a server into their configuration.
// The pages of docs/install, the status page and the command connect are made from this table.
//
// # Order of use
//
// [Find] a client, then [Client.Add] or [Client.Remove] the entry of a [Server] in the content of the
// client's file. [Client.Example] is what Add makes of an empty file.
//
// # Promises
//
// An edit cuts and inserts whole members and touches no other byte: comments, order, indentation and
// entries of others stay. Members of the server's own entry that this package never writes, such as
// a list of disabled tools, stay as well. Each edit is decoded and compared with the intended change
// before it is returned; a file for which that fails is refused and not changed.
//
// No token is ever written: a configuration names the environment variable that has the token, or
// has the client prompt for it.
package clientconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// DefaultName is the name of a server in configurations.
const DefaultName = "repomcp"

// Server is what a client is told of a server. Either URL or Command is set.
type Server struct {
	Name string // in the configuration: letters, digits, - and _
	URL  string // the MCP endpoint
	// TokenVariable is the environment variable with the token for URL; "" if the server requires
	// none or the client logs in by OAuth.
	TokenVariable string
	// Command is a program that serves over stdio, with its arguments.
	Command string
	Args    []string
}

// member is a named value of a configuration: a bool, a string, a []string or a []member.
type member struct {
	name  string
	value any
}

// IDs returns the ids of all clients.
func IDs() []string {
	ids := make([]string, len(Clients))
	for i := range Clients {
		ids[i] = Clients[i].ID
	}
	return ids
}

// Find returns the client with an id, or an error that names those that there are.
func Find(id string) (*Client, error) {
	ids := IDs()
	if i := slices.Index(ids, id); i >= 0 {
		return &Clients[i], nil
	}
	near := ""
	if closest := spelling.Closest(id, ids, 1); len(closest) > 0 {
		near = " Did you mean " + closest[0] + "?"
	}
	return nil, fmt.Errorf("there is no client %q.%s There are %s", id, near, strings.Join(ids, ", "))
}

// entry returns the members that configure the client for a server.
func (c *Client) entry(s Server) []member {
	if s.Command != "" {
		return c.program(s.Name, s.Command, append(slices.Clone(s.Args), c.stdioArgs...))
	}
	if c.urlKey == "" || s.TokenVariable != "" && c.header == "" && c.tokenKey == "" {
		return c.program(s.Name, "npx", bridge(s))
	}
	list := append(c.fixed(s.Name, c.httpType), member{c.urlKey, s.URL})
	switch {
	case s.TokenVariable == "":
	case c.tokenKey != "":
		list = append(list, member{c.tokenKey, s.TokenVariable})
	default:
		header := "Bearer " + strings.ReplaceAll(c.header, "NAME", s.TokenVariable)
		if c.variables != "" {
			list = append(list, member{c.variables, []string{s.TokenVariable}})
		}
		list = append(list, member{"headers", []member{{"Authorization", header}}})
	}
	return list
}

// program returns the members for a program that the client starts.
func (c *Client) program(name, command string, args []string) []member {
	return append(c.fixed(name, c.stdioType), member{c.commandKey, command}, member{"args", args})
}

// fixed returns the members that do not depend on a server's address.
func (c *Client) fixed(name, kind string) []member {
	var list []member
	if c.named {
		list = append(list, member{"enabled", true}, member{"name", name}, member{"description", "Git repositories"})
	}
	if kind != "" {
		list = append(list, member{"type", kind})
	}
	return list
}

// owned returns the names of the members that an edit replaces: all that [Client.entry] may give, and
// the environment of a program where there is none any more, which some clients refuse.
func (c *Client) owned(entry []member) []string {
	names := []string{"args", "headers"}
	if !slices.ContainsFunc(entry, func(m member) bool { return m.name == c.commandKey }) {
		names = append(names, "env")
	}
	for _, name := range []string{c.urlKey, c.tokenKey, c.variables, c.commandKey} {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, m := range c.fixed("", c.httpType+c.stdioType) {
		names = append(names, m.name)
	}
	return names
}

// bridge returns the arguments of npx for mcp-remote, which connects clients that only start
// programs. mcp-remote itself replaces ${NAME} in a header by the variable.
func bridge(s Server) []string {
	args := []string{"-y", "mcp-remote", s.URL}
	if strings.HasPrefix(s.URL, "http://") {
		args = append(args, "--allow-http")
	}
	if s.TokenVariable != "" {
		args = append(args, "--header", "Authorization:Bearer ${"+s.TokenVariable+"}")
	}
	return args
}

// Prompts reports whether the client asks for a token, instead of taking it from its environment.
func (c *Client) Prompts() bool { return c.prompts }

// prompt returns the element of VS Code's list of inputs that asks for the token; nil for other
// clients and servers.
func (c *Client) prompt(s Server) []member {
	if !c.prompts || s.TokenVariable == "" || s.URL == "" {
		return nil
	}
	return []member{
		{"type", "promptString"}, {"id", s.TokenVariable}, {"description", "Token of " + s.Name}, {"password", true},
	}
}

// Command returns the command line by which the client itself adds a server, or "". With a token it
// is "": such commands would show it, and keep it in a file.
func (c *Client) Command(s Server) string {
	command := c.addHTTP
	if s.Command != "" {
		command = c.addStdio
	}
	if command == "" || s.TokenVariable != "" {
		return ""
	}
	words := make([]string, 0, len(s.Args))
	for _, word := range s.Args {
		words = append(words, shellWord(word))
	}
	return strings.NewReplacer("NAME", s.Name, "URL", shellWord(s.URL), "PROGRAM", shellWord(s.Command),
		"MODE", strings.Join(words[:min(1, len(words))], " "), "FLAGS", strings.Join(words[min(1, len(words)):], " "),
	).Replace(command)
}

// bareWord matches words that no shell changes.
var bareWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord quotes a word for a POSIX shell where it has to be.
func shellWord(word string) string {
	if bareWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

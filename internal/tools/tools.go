// Package tools is what coding agents can call: read-only MCP tools, with the
// names and shapes of github-mcp-server where it has the same.
//
// Make the tools with [New] and register them with the MCP server. Results are
// small texts in a fixed order; descriptions are static, so that no
// repository's content can speak to the model through them.
package tools

import (
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/repos"
)

// New lists the tools over a catalogue.
func New(catalogue *repos.Catalogue) []server.ServerTool {
	return []server.ServerTool{searchRepositories(catalogue)}
}

package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/repos"
)

const (
	defaultPerPage = 30
	// maxPerPage keeps a page within what a model reads at once.
	maxPerPage = 100
)

// searchArguments are those of github-mcp-server's search_repositories.
type searchArguments struct {
	Query   string `json:"query"`
	Page    int    `json:"page"`
	PerPage int    `json:"perPage"`
}

func searchRepositories(catalogue *repos.Catalogue) server.ServerTool {
	tool := mcp.NewTool("search_repositories",
		mcp.WithTitleAnnotation("Search repositories"),
		mcp.WithDescription("Find repositories by a part of their name. An empty query lists all."),
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithDestructiveHintAnnotation(false),
		mcp.WithIdempotentHintAnnotation(true),
		mcp.WithOpenWorldHintAnnotation(false),
		mcp.WithString("query", mcp.Required(), mcp.Description("Part of the repository's name; upper and lower case are the same.")),
		mcp.WithNumber("page", mcp.Description("Page, from 1."), mcp.Min(1), mcp.DefaultNumber(1)),
		mcp.WithNumber("perPage", mcp.Description("Repositories per page."), mcp.Min(1), mcp.Max(maxPerPage), mcp.DefaultNumber(defaultPerPage)),
	)
	return server.ServerTool{Tool: tool, Handler: func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments := searchArguments{Page: 1, PerPage: defaultPerPage}
		if err := call.BindArguments(&arguments); err != nil {
			return mcp.NewToolResultError("The arguments do not fit: query is a text, page and perPage are whole numbers."), nil
		}
		if arguments.Page < 1 || arguments.PerPage < 1 || arguments.PerPage > maxPerPage {
			return mcp.NewToolResultError(fmt.Sprintf("page starts at 1; perPage is 1 to %d.", maxPerPage)), nil
		}
		return mcp.NewToolResultText(searchResult(catalogue.Names(), arguments)), nil
	}}
}

// searchResult is a line per repository and, last, how to go on.
func searchResult(names []string, arguments searchArguments) string {
	var matches []string
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(arguments.Query)) {
			matches = append(matches, name)
		}
	}
	if len(matches) == 0 {
		return "No repository's name contains the query. An empty query lists all repositories."
	}
	// A page number near the largest integer must not overflow.
	pages := (len(matches) + arguments.PerPage - 1) / arguments.PerPage
	if arguments.Page > pages {
		return fmt.Sprintf("There are %d repositories on %d pages.", len(matches), pages)
	}
	start := (arguments.Page - 1) * arguments.PerPage
	end := min(start+arguments.PerPage, len(matches))
	result := strings.Join(matches[start:end], "\n")
	if end < len(matches) {
		result += fmt.Sprintf("\n(%d to %d of %d repositories; go on with page %d)", start+1, end, len(matches), arguments.Page+1)
	}
	return result
}

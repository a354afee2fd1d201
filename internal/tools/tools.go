// Package tools is what coding agents can call: read-only MCP tools, with the
// names and shapes of github-mcp-server where it has the same.
//
// # Order of use
//
// Make the tools with [New] and register them with the MCP server. The URI of a
// file, or a link to it, is that of package resources.
//
// A tool is a row of the table in this file: name, title, description, what it
// returns as data, and a function that takes its arguments as a struct. The
// struct says with define which arguments there are; the input schema and the
// reading of a call both follow from that. The output schema follows from the
// type of the data.
//
// # Promises
//
// Descriptions and schemas are static, so that no repository's content can
// speak to the model through them. They and their properties have a fixed order.
//
// Text is returned exactly once. Clients show the model either the text or the
// data of a result, never both, and some prefer the data: so a tool whose
// result is a text of a repository declares no output schema and returns text
// alone; one whose result is a list or a record returns it as data, and the
// same facts as lines of text. Neither has anything that the other lacks, the
// notes included. The text is not the data's JSON once more, which the
// specification recommends for old clients: they get lines that say the same
// in fewer tokens. Lines have the beginnings of ids, and people without addresses,
// where data has the whole.
//
// What comes from a repository, its names, subjects and descriptions included, is
// in a block of its own, marked as such in _meta; so is the result when it has
// data. Notes are the server's words. They name what they are about in quotes.
// Names in lists are quoted as git quotes them when they have characters that
// are not seen, or are no UTF-8; see quote.
//
// # Limits
//
// A result has at most maxResultBytes, its texts, data and links together, cut
// between two lines where that is possible. It then says so and how to go on, and
// where the whole is. Work is bounded by constants beside the loops that do it.
//
// A link is only what was asked for: frameworks read every link that they get.
package tools

import (
	"errors"
	"log/slog"
	"slices"

	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
)

// Options of the tools. All but the Logger are required.
type Options struct {
	Catalogue *repos.Catalogue
	// Resources of the same catalogue.
	Resources *resources.Service
	Searcher  *search.Searcher
	// Facts are what logs, blames and comparisons remember.
	Facts *history.Facts
	// NoLinks leaves links out of results. The addresses stand in the text and the
	// data.
	NoLinks bool
	// Logger gets what an operator wants to know; nil discards it.
	Logger *slog.Logger
}

// service is what the tools work with.
type service struct {
	catalogue *repos.Catalogue
	resources *resources.Service
	searcher  *search.Searcher
	facts     *history.Facts
	trees     handedTrees
	noLinks   bool
	logger    *slog.Logger
}

// table has the tools in the order in which they are documented. MCP lists them
// by name.
var table = []definition{
	tool("search_repositories", "Search repositories",
		"Find repositories by words of their names and descriptions. Start here: other tools take the names that it "+
			"lists as repo.",
		repositoryList{}, (*service).searchRepositories),
	tool("get_repository", "Repository card",
		"Description, default branch with its latest commit, number of branches and tags, addresses of downloads.",
		repositoryCard{}, (*service).getRepository),
	tool("list_branches", "List branches",
		"Branches with commit, date and subject, the newest first.",
		refList{}, (*service).listBranches),
	tool("list_tags", "List tags",
		"Tags (releases) with commit, date and subject, the newest first.",
		refList{}, (*service).listTags),
	tool("get_tag", "Get a tag",
		"Tagger, date, message, signature and target of a tag.",
		nil, (*service).getTag),
	tool("get_repository_tree", "Repository tree",
		"Entries of a folder at any commit, as git ls-tree -l prints them.",
		entryList{}, (*service).getRepositoryTree),
	tool("get_file_contents", "File or folder contents",
		"Text of a file at any commit, whole or a range of lines; or the entries of a folder. A binary file is linked.",
		nil, (*service).getFileContents),
	tool("find_files", "Find files",
		"Find files of a commit by part of the path (query) or pattern (glob).",
		fileList{}, (*service).findFiles),
	tool("search_code", "Search code",
		"Find lines in the files of a repository at any commit, or of all repositories. Qualifiers as on GitHub: "+
			"repo:, org:, path:, filename:, extension:, language:, negated with -.",
		codeFound{}, (*service).searchCode),
	tool("list_commits", "List commits",
		"git log of a ref or range such as v1.0..v1.1: by path, author, time, message (grep) or content (pickaxe).",
		commitList{}, (*service).listCommits),
	tool("get_commit", "Get a commit",
		"A commit with its message, and its changed files or its patch, as git show.",
		nil, (*service).getCommit),
	tool("compare_commits", "Compare commits",
		"What head has that base has not: commits, and changed files or the patch, as git diff base...head.",
		nil, (*service).compareCommits),
	tool("get_file_blame", "Blame of a file",
		"Commit, author and date of each line of a file, across renames.",
		blamed{}, (*service).getFileBlame),
	tool("get_archive_link", "Archive link",
		"Where to download the files of a commit as one archive, with the command for it.",
		archiveLink{}, (*service).getArchiveLink),
}

// New lists the tools.
func New(o Options) []server.ServerTool {
	s := &service{
		catalogue: o.Catalogue, resources: o.Resources, searcher: o.Searcher, facts: o.Facts, trees: newHandedTrees(),
		noLinks: o.NoLinks, logger: o.Logger,
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	list := make([]server.ServerTool, len(table))
	for i, d := range table {
		list[i] = server.ServerTool{Tool: d.describe(), Handler: d.handler(s)}
	}
	return list
}

// Choose leaves the tools that are named; without names all. The error is for
// whoever starts the server.
func Choose(all []server.ServerTool, names []string) ([]server.ServerTool, error) {
	if len(names) == 0 {
		return all, nil
	}
	offered := make([]string, len(all))
	for i, tool := range all {
		offered[i] = tool.Tool.Name
	}
	for _, name := range names {
		if !slices.Contains(offered, name) {
			return nil, errors.New(Unknown("tool", name, offered))
		}
	}
	return slices.DeleteFunc(all,
		func(tool server.ServerTool) bool { return !slices.Contains(names, tool.Tool.Name) }), nil
}

// Package tools is what coding agents can call: read-only MCP tools, with the
// names and shapes of github-mcp-server where it has the same.
//
// # Order of use
//
// Make the tools with [New] and register them with the MCP server. What they
// cannot know themselves, such as the URI of a file or a link to it, they ask
// a [Locator] for.
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
// Content of repositories is in blocks of its own, marked as such in _meta: also
// the lines that were found or blamed, which are in the data as well.
// Names in lists are quoted as git quotes them when they have characters that
// are not seen, or are no UTF-8; see quote.
//
// # Limits
//
// A result has at most maxResultBytes of list or text, cut between two lines
// where that is possible. It then says so and how to go on, and has a link to
// the whole. Work is bounded by constants beside the loops that do it.
package tools

import (
	"log/slog"

	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
)

// Options of the tools. All but the Logger are required.
type Options struct {
	Catalogue *repos.Catalogue
	Locator   Locator
	Searcher  *search.Searcher
	// Facts are what logs, blames and comparisons remember.
	Facts *history.Facts
	// Logger gets what an operator wants to know; nil discards it.
	Logger *slog.Logger
}

// service is what the tools work with.
type service struct {
	catalogue *repos.Catalogue
	locator   Locator
	searcher  *search.Searcher
	facts     *history.Facts
	logger    *slog.Logger
}

// table has the tools in the order in which they are documented. MCP lists them
// by name.
var table = []definition{
	tool("search_repositories", "Search repositories",
		"Find repositories by words of their names. Without a query it lists all. The names that it gives are the argument repo of all other tools.",
		repositoryList{}, (*service).searchRepositories),
	tool("get_repository", "Repository card",
		"What there is to know of a repository: description, default branch with its latest commit, number of branches and tags, and the URIs of its resources.",
		repositoryCard{}, (*service).getRepository),
	tool("list_branches", "List branches",
		"Branches with commit, date and subject, the newest first; all or those that fit a query or contain a commit.",
		refList{}, (*service).listBranches),
	tool("list_tags", "List tags",
		"Tags (releases) with commit, date and subject, the newest first; all or those that fit a query or contain a commit.",
		refList{}, (*service).listTags),
	tool("get_tag", "Get a tag",
		"Tagger, date, message, signature and target of a tag.",
		nil, (*service).getTag),
	tool("get_repository_tree", "Repository tree",
		"Entries of a folder at a commit, with recursive of all folders below it, in git's order: mode, type, object id, size in bytes and path, as git ls-tree -l prints them.",
		entryList{}, (*service).getRepositoryTree),
	tool("get_file_contents", "File or folder contents",
		"The text of a file at a commit, whole or a range of lines, or the entries of a folder. Of a binary file it gives facts and a link, of a symbolic link, a submodule and a git-lfs pointer what they lead to.",
		nil, (*service).getFileContents),
	tool("find_files", "Find files",
		"Find files of a commit by their paths: by a part of the path (query), or by a pattern (glob).",
		fileList{}, (*service).findFiles),
	tool("search_code", "Search code",
		"Find lines in the files of one repository at any commit, or of all repositories at their default branches. The query may have qualifiers as on GitHub: repo:, org:, path:, filename:, extension:, language:, and - before one to leave out.",
		codeFound{}, (*service).searchCode),
	tool("list_commits", "List commits",
		"git log: commits of a ref or a range such as v1.0..v1.1, the newest first; by path, author, time, message (grep) or content (pickaxe).",
		commitList{}, (*service).listCommits),
	tool("get_commit", "Get a commit",
		"A commit with its whole message and what it changed against its first parent, as git show prints it: the list of files with their changed lines, or the patch.",
		nil, (*service).getCommit),
	tool("compare_commits", "Compare commits",
		"What head has that base has not: the commits, and the files with their changed lines or the patch, as git diff base...head.",
		nil, (*service).compareCommits),
	tool("get_file_blame", "Blame of a file",
		"Which commit each line of a file comes from, with its author and date, also from before the file was renamed.",
		blamed{}, (*service).getFileBlame),
	tool("get_archive_link", "Archive link",
		"Where to download the files of a commit as one archive: resource URI, and the command that downloads it. The archive is made when it is fetched; nothing of it is in the result.",
		archiveLink{}, (*service).getArchiveLink),
}

// New lists the tools.
func New(o Options) []server.ServerTool {
	s := &service{catalogue: o.Catalogue, locator: o.Locator, searcher: o.Searcher, facts: o.Facts, logger: o.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	list := make([]server.ServerTool, len(table))
	for i, d := range table {
		list[i] = server.ServerTool{Tool: d.describe(), Handler: d.handler(s)}
	}
	return list
}

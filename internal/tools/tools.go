// Package tools has the MCP tools that coding agents call. All of them only read; names and shapes
// are those of github-mcp-server where it has the same tool.
//
// # Order of use
//
// Create the tools with [New] and register them with the MCP server. URIs of files and links to
// them come from package resources.
//
// A tool is a row of the table in this file: name, title, description, structured data, and a
// function that takes its arguments as a struct. The struct's method define declares the arguments;
// the input schema and the parsing of a call both derive from it. The output schema derives from
// the type of the data. Most functions are methods of a visit: an open repository with the result
// to fill.
//
// # Promises
//
// Descriptions and schemas are static, so that a repository's content cannot address the model
// through them. Tools and their properties have a fixed order.
//
// A result contains its text exactly once. Clients show the model either the text or the data of a
// result, and some prefer the data. So a tool that returns content of a repository declares no
// output schema and returns only text; a tool that returns a list or a record returns it as data,
// and the same facts as lines of text, notes included. The text is not the data's JSON, which the
// specification recommends for old clients: lines say the same in fewer tokens. Lines have
// abbreviated ids, and people without addresses; data is complete.
//
// Content of a repository, including names, subjects and descriptions, is in a block of its own,
// which _meta marks; _meta also marks a result with data. Notes are the server's words, and name
// their subjects in quotes. Lists quote names with invisible characters or invalid UTF-8 as git
// does; see quote.
//
// # Limits
//
// A result has at most maxResultBytes of texts, data and links together. A longer one is cut
// between two lines where possible, and says so, how to continue and where the whole is. Work is
// bounded by constants beside the loops that do it.
//
// A result links only to what was requested: frameworks read every link that they get.
//
// # Decisions
//
// A tool returns text or data, never a part of each: clients show one of the two to the model.
package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// Options of the tools. Only the Logger, Limits and NoLinks are optional.
type Options struct {
	Catalogue repos.Views
	// Resources belong to the same catalogue.
	Resources *resources.Service
	Searcher  *search.Searcher
	// History caches what logs, blames and comparisons learn.
	History *history.Cache
	// NoLinks leaves links out of results; the text and the data still have the addresses.
	NoLinks bool
	// Limits is asked before costly work; nil limits nothing.
	Limits *limits.Limiter
	// Logger gets messages for the operator; nil discards them.
	Logger *slog.Logger
}

// service has the dependencies of the tools.
type service struct {
	Options
	trees handedTrees
}

// table lists the tools in the order of their documentation. MCP lists them by name.
var table = []definition{
	tool("search_repositories", "Search repositories",
		"Find repositories by words of their names and descriptions. Start here: other tools take the names that it "+
			"lists as repo.",
		repositoryList{}, (*service).searchRepositories),
	tool("get_repository", "Repository card",
		"Description, default branch with its latest commit, number of branches and tags, addresses of downloads.",
		repositoryCard{}, inRepository((*visit).getRepository)),
	tool("list_branches", "List branches",
		"Branches with commit, date and subject, the newest first.",
		refList{}, inRepository((*visit).listBranches)),
	tool("list_tags", "List tags",
		"Tags (releases) with commit, date and subject, the newest first.",
		refList{}, inRepository((*visit).listTags)),
	tool("get_tag", "Get a tag",
		"Tagger, date, message, signature and target of a tag.",
		nil, inRepository((*visit).getTag)),
	tool("get_repository_tree", "Repository tree",
		"Entries of a folder at any commit, as git ls-tree -l prints them.",
		entryList{}, inRepository((*visit).getRepositoryTree)),
	tool("get_file_contents", "File or folder contents",
		"Text of a file at any commit, whole or a range of lines; or the entries of a folder. A binary file is linked.",
		nil, inRepository((*visit).getFileContents)),
	tool("find_files", "Find files",
		"Find files of a commit by part of the path (query) or pattern (glob).",
		fileList{}, inRepository((*visit).findFiles)),
	tool("search_code", "Search code",
		"Find the files and lines for a question or a text, in a repository at any commit or in all. Qualifiers: "+
			"symbol:, repo:, org:, path:, filename:, extension:, language:; - negates.",
		codeResults{}, (*service).searchCode),
	tool("list_commits", "List commits",
		"git log of a ref or range such as v1.0..v1.1: by path, author, time, message (grep) or content (pickaxe).",
		commitList{}, inRepository((*visit).listCommits)),
	tool("get_commit", "Get a commit",
		"A commit with its message, and its changed files or its patch, as git show.",
		nil, inRepository((*visit).getCommit)),
	tool("compare_commits", "Compare commits",
		"What head has that base has not: commits, and changed files or the patch, as git diff base...head.",
		nil, inRepository((*visit).compareCommits)),
	tool("get_file_blame", "Blame of a file",
		"Commit, author and date of each line of a file, across renames.",
		fileBlame{}, inRepository((*visit).getFileBlame)),
	tool("get_archive_link", "Archive link",
		"Where to download the files of a commit as one archive, with the command for it.",
		archiveLink{}, inRepository((*visit).getArchiveLink)),
}

// memories are upper bounds of a call's memory, measured on large histories. Lists of repositories,
// branches and tags are cheap and never refused.
var memories = map[string]int64{
	"get_repository_tree": 4 << 20,
	"get_file_contents":   4 << 20,
	"find_files":          4 << 20,
	"search_code":         32 << 20, // the files that are ranked together, and the words in all files
	"list_commits":        6 << 20,
	"get_commit":          6 << 20,
	"compare_commits":     10 << 20,
	"get_file_blame":      24 << 20,
}

// memoryOf returns the bound of a call. The arguments are not yet read.
func memoryOf(tool string, given map[string]any) int64 {
	memory := memories[tool]
	if given["symbol"] != nil || given["outline"] != nil || given["show"] == showFunctions {
		memory += definitions.MaxMemory
	}
	if tool == "list_commits" && (given["symbol"] != nil || given["lines"] != nil) {
		memory += memories["get_file_blame"] // lines are followed through versions as there
	}
	return memory
}

// Tool is a tool's description for agents, and its handler.
type Tool struct {
	mcp.Tool
	Handler Handler
}

// Handler runs a tool. A failed tool returns a result.
type Handler = func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error)

// New lists the tools.
func New(o Options) []Tool {
	s := &service{o, lru.New[treeKey, treePlace](maxHandedTrees)}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	list := make([]Tool, len(table))
	for i, d := range table {
		list[i] = Tool{Tool: d.describe(), Handler: d.handler(s)}
	}
	return list
}

// Choose returns the named tools, or all if there are no names. The error is for the operator.
func Choose(all []Tool, names []string) ([]Tool, error) {
	if len(names) == 0 {
		return all, nil
	}
	offered := make([]string, len(all))
	for i, tool := range all {
		offered[i] = tool.Name
	}
	for _, name := range names {
		if !slices.Contains(offered, name) {
			return nil, errors.New(Unknown("tool", name, offered))
		}
	}
	return slices.DeleteFunc(all,
		func(tool Tool) bool { return !slices.Contains(names, tool.Name) }), nil
}

// Unknown returns the message for an unknown tool or prompt: the likely one, and the available
// ones. kind is the noun for one.
func Unknown(kind, name string, offered []string) string {
	near := spelling.Closest(clip(name), offered, 1)
	if len(near) == 0 {
		near = toolAbout(name, offered)
	}
	hint := didYouMean(near)
	if hasWord(name, unserved) {
		hint = " Repositories are only read, and what is not in git is not here."
	}
	return fmt.Sprintf("There is no %s %s.%s There are: %s.", kind, quote(clip(name)), hint,
		strings.Join(offered, ", "))
}

// unserved are words in the names of other servers' tools that write, or that are about things
// outside git.
var unserved = []string{
	"create", "update", "delete", "push", "merge", "write", "edit", "issue", "pull_request", "workflow", "alert",
}

func hasWord(name string, words []string) bool {
	name = strings.ToLower(clip(name))
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// subjects maps words in the names of other servers' tools to the tool for the same subject. The
// first match counts.
var subjects = []struct{ word, tool string }{
	{"release", "list_tags"}, {"get_tag", "get_tag"}, {"tag", "list_tags"}, {"branch", "list_branches"},
	{"blame", "get_file_blame"}, {"annotate", "get_file_blame"},
	{"diff", "compare_commits"}, {"compare", "compare_commits"}, {"changes", "compare_commits"},
	{"log", "list_commits"}, {"history", "list_commits"}, {"commits", "list_commits"}, {"show", "get_commit"},
	{"commit", "get_commit"},
	{"archive", "get_archive_link"}, {"download", "get_archive_link"}, {"zip", "get_archive_link"},
	{"clone", "get_archive_link"},
	{"grep", "search_code"}, {"symbol", "search_code"}, {"definition", "search_code"}, {"reference", "search_code"},
	{"code", "search_code"},
	{"glob", "find_files"}, {"find", "find_files"}, {"search_file", "find_files"}, {"list_file", "find_files"},
	{"tree", "get_repository_tree"}, {"dir", "get_repository_tree"}, {"folder", "get_repository_tree"},
	{"read", "get_file_contents"}, {"file", "get_file_contents"}, {"content", "get_file_contents"},
	{"cat", "get_file_contents"}, {"view", "get_file_contents"}, {"open", "get_file_contents"},
	{"search", "search_code"}, {"list_repo", "search_repositories"}, {"project", "search_repositories"},
	{"repo", "get_repository"},
}

// toolAbout finds the tool for the subject of another server's tool.
func toolAbout(name string, offered []string) []string {
	name = strings.ToLower(clip(name))
	for _, s := range subjects {
		if strings.Contains(name, s.word) && slices.Contains(offered, s.tool) {
			return []string{s.tool}
		}
	}
	return nil
}

// synonyms maps folded argument names of other tools to names that may mean the same here.
var synonyms = map[string]string{
	"q": "query grep", "text": "query grep", "search": "query grep", "keyword": "query grep", "message": "grep",
	"pattern": "glob query grep", "regex": "query grep", "regexp": "query grep",
	"limit": "perPage", "count": "perPage", "max": "perPage", "maxresults": "perPage", "first": "perPage",
	"pagesize": "perPage", "maxcount": "perPage", "n": "perPage", "num": "perPage",
	"page": "cursor", "after": "cursor since", "before": "until", "nextcursor": "cursor",
	"line": "start_line", "linestart": "start_line", "firstline": "start_line", "lineend": "end_line",
	"lastline": "end_line", "linerange": "lines", "viewrange": "lines", "range": "lines ref",
	"from": "base since", "to": "head until",
	"basehead": "base head", "startdate": "since", "enddate": "until",
	"file": "path paths", "filename": "path paths", "filepath": "path paths", "dir": "path paths",
	"directory": "path paths", "folder": "path paths", "path": "paths", "paths": "path files",
	"filepattern": "path glob", "glob": "path path_filter", "function": "symbol", "functionname": "symbol",
	"repository": "repo", "reponame": "repo", "project": "repo", "org": "owner", "user": "owner",
	"name": "tag query repo", "branch": "ref head", "revision": "ref head", "rev": "ref head", "tag": "ref head",
	"commit": "sha head", "commitsha": "sha head", "commitid": "sha head", "hash": "sha head",
	"maxdepth": "depth", "levels": "depth", "diff": "detail", "includediff": "detail",
	"patch": "detail", "ignorecase": "case case_sensitive",
}

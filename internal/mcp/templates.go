package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/resources"
)

// template is one form of URI that clients may fill in.
type template struct {
	Meta        map[string]any `json:"_meta,omitempty"`
	Description string         `json:"description"`
	MIMEType    string         `json:"mimeType,omitempty"`
	Name        string         `json:"name"`
	Streamable  bool           `json:"streamable,omitempty"` // of SEP-2532
	Title       string         `json:"title"`
	URI         string         `json:"uriTemplate"`
}

// listTemplates answers resources/templates/list.
func (s *Server) listTemplates(_ context.Context, _ *Request, params mcp.PaginatedParams) (any, *Error) {
	if params.Cursor != "" {
		return nil, foreignCursor()
	}
	return members{"resourceTemplates": s.templates()}, nil
}

// variablesOf returns the variables of a template, in order.
func variablesOf(uriTemplate string) []string {
	return mcp.NewResourceTemplate(uriTemplate, "").URITemplate.Varnames()
}

// templates are the grammar of [resources.Parse] as RFC 6570 templates, by name.
func (s *Server) templates() []template {
	list := []template{
		description("repo://{+repo}", "repository", "Repository",
			"Description, default branch, head commit, counts and links of a repository, as JSON."),
		s.stream("repo://{+repo}/refs", "refs", "Branches and tags", resources.TypeJSON,
			"All branches and tags with their commits, as JSON; with ?all=1 all other refs, too."),
		description("repo://{+repo}/refs/heads/{branch}", "branch", "Branch",
			"Commit, tree and time of a branch, as JSON. Subscribe to it to learn of pushes."),
		description("repo://{+repo}/refs/tags/{tag}", "tag", "Tag",
			"Commit, tree and time of a tag, as JSON."),
		s.stream("repo://{+repo}/contents{/path*}", "contents", "File or folder", "",
			"A file, or a folder as a JSON listing, on the default branch."),
		s.stream("repo://{+repo}/refs/heads/{branch}/contents{/path*}", "contents-branch", "File or folder of a "+
			"branch", "",
			"A file, or a folder as a JSON listing, on a branch."),
		s.stream("repo://{+repo}/refs/tags/{tag}/contents{/path*}", "contents-tag", "File or folder of a tag", "",
			"A file, or a folder as a JSON listing, at a tag."),
		s.stream("repo://{+repo}/sha/{sha}/contents{/path*}", "contents-commit", "File or folder of a commit", "",
			"A file, or a folder as a JSON listing, at a commit given by its full or abbreviated id."),
		s.stream("repo://{+repo}/compare/{+base}...{+head}.{form}", "compare", "Patch of a comparison", "text/plain",
			"What head has that base has not. form diff: as git diff base...head (.. compares the two themselves); "+
				"patch: a mail for each commit, for git am. "+s.howToFetch()),
		s.stream("repo://{+repo}/commit/{+sha}.{form}", "commit", "Patch of a commit", "text/plain",
			"What a commit changed. form diff: as git show; patch: a mail for git am. "+s.howToFetch()),
		s.stream(archiveTemplate(), "archive", "Archive", "", s.archiveDescription()),
	}
	return slices.SortedFunc(slices.Values(list), func(a, b template) int { return cmp.Compare(a.Name, b.Name) })
}

// description is the template of a resource that only resources/read serves.
func description(uri, name, title, text string) template {
	return template{URI: uri, Name: name, Title: title, Description: text, MIMEType: resources.TypeJSON}
}

// stream is the template of a resource that resources/stream serves as well.
func (s *Server) stream(uri, name, title, mimeType, text string) template {
	return template{
		Meta: s.streamable(), URI: uri, Name: name, Title: title, Description: text,
		MIMEType: mimeType, Streamable: s.resources.Downloads(),
	}
}

// archiveTemplate returns the template with all options of an archive.
func archiveTemplate() string {
	var names []string
	for _, p := range archive.Parameters() {
		if p.Repeat {
			p.Name += "*"
		}
		names = append(names, p.Name)
	}
	return "repo://{+repo}/archive/{+ref}.{format}{?" + strings.Join(names, ",") + "}"
}

func (s *Server) archiveDescription() string {
	var b strings.Builder
	b.WriteString("The files of a commit as one archive. ref is HEAD, a branch, a tag, refs/… or a commit id. ")
	b.WriteString("Formats: " + strings.Join(archive.FormatNames(), " ") + ". " + s.howToFetch())
	for _, p := range archive.Parameters() {
		b.WriteString(" " + p.Name + ": " + p.Usage + ".")
	}
	return b.String()
}

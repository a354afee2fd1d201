package tools

import (
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxResultBytes bounds the list or text of a result: some 8,000 to 10,000
	// tokens, from which clients begin to warn of and to cut results.
	maxResultBytes = 32 << 10

	// metaOrigin marks the blocks that have content of a repository.
	metaOrigin   = "io.github.repomcp/origin"
	originOfRepo = "repository"
)

// result is what a tool says. Notes are about the result: how much it is of the
// whole, how to go on, where the rest is.
type result struct {
	content    string // of a repository, in a block of its own
	hasContent bool
	lines      []string // of a list or a record
	data       noted    // the same for programs; nil for a tool without schema
	notes      []string
	links      []Handle
	stopped    bool // the tree is too large to be walked
}

// noted is data that carries the notes.
type noted interface{ setNotes(notes []string) }

// remarks are embedded in the data of every tool: clients that show the data
// show no text.
type remarks struct {
	Notes []string `json:"notes,omitempty" jsonschema:"What to know of this result, and how to go on"`
}

func (r *remarks) setNotes(notes []string) { r.Notes = notes }

// note adds a sentence.
func (r *result) note(format string, arguments ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, arguments...))
}

// link adds a link, and the command that follows it.
func (r *result) link(h Handle) {
	r.links = append(r.links, h)
	if where := h.where(); where != "" {
		r.notes = append(r.notes, where)
	}
}

// render makes the content of a repository the first block: some clients show
// only one. Lines and notes follow together, then links.
func (r *result) render() *mcp.CallToolResult {
	out := &mcp.CallToolResult{}
	if r.hasContent {
		block := mcp.NewTextContent(r.content)
		block.Meta = mcp.NewMetaFromMap(map[string]any{metaOrigin: originOfRepo})
		out.Content = append(out.Content, block)
	}
	text := strings.Join(append(r.lines[:len(r.lines):len(r.lines)], r.notes...), "\n")
	if text != "" || !r.hasContent {
		out.Content = append(out.Content, mcp.NewTextContent(text))
	}
	for _, h := range r.links {
		out.Content = append(out.Content, newLink(h))
	}
	if r.data != nil {
		r.data.setNotes(r.notes)
		out.StructuredContent = r.data
	}
	return out
}

// resourceLink has the fields of SEP-2166, which mcp-go's does not. Typed clients
// strip them, so that they are in _meta as well.
type resourceLink struct {
	mcp.ResourceLink
	HTTP        string `json:"httpUrl,omitempty"`
	HTTPExpires string `json:"httpUrlExpiresAt,omitempty"`
}

func newLink(h Handle) mcp.Content {
	link := resourceLink{ResourceLink: mcp.NewResourceLink(h.URI, quote(h.FileName), "", h.MIMEType), HTTP: h.HTTP, HTTPExpires: h.HTTPExpires}
	if h.Size != UnknownSize {
		link.Size = &h.Size
	}
	if len(h.Meta) > 0 {
		link.Meta = mcp.NewMetaFromMap(h.Meta)
	}
	return link
}

package mcp

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	// pageSize is the number of repositories on a page of resources/list; each has up to two
	// resources, and one for each of its skills.
	pageSize = 50
	listTTL  = 10 * time.Second
)

// listLifetime is how long a client may reuse a list: no longer than the links in it are valid,
// whose expiry is cut to whole seconds.
func (s *Server) listLifetime() time.Duration {
	if links := s.resources.LinkLifetime(); links > 0 {
		return min(listTTL, links-time.Second)
	}
	return listTTL
}

// listedResource is [mcp.Resource] with the members of SEP-2532 and SEP-2166, which stand in _meta
// as well.
type listedResource struct {
	Meta             map[string]any `json:"_meta,omitempty"`
	Description      string         `json:"description"`
	HTTPURL          any            `json:"httpUrl,omitempty"`
	HTTPURLExpiresAt any            `json:"httpUrlExpiresAt,omitempty"`
	MIMEType         string         `json:"mimeType"`
	Name             string         `json:"name"`
	Streamable       bool           `json:"streamable,omitempty"`
	URI              string         `json:"uri"`
}

// listResources answers resources/list with a page of the catalogue.
func (s *Server) listResources(ctx context.Context, _ *Request, params mcp.PaginatedParams) (any, *Error) {
	after, ok := parseCursor(params.Cursor)
	if !ok {
		return nil, foreignCursor()
	}
	view := s.options.Catalogue.For(ctx)
	names, more := view.Page(after, pageSize)
	list := make([]listedResource, 0, 2*len(names))
	var reads []resources.Read
	for _, name := range names {
		repository, err := view.Known(name)
		if err != nil {
			continue
		}
		ref, head, err := repository.HeadTip()
		if err != nil || ref == "" {
			list = append(list, card(repository))
			continue
		}
		ofSkills, commit, err := s.skillsOf(ctx, view, repository, head)
		if err != nil {
			return nil, resources.AsError(err, "")
		}
		if len(ofSkills) > 0 {
			reads = append(reads, resources.Read{Repository: name, Commit: commit})
		}
		list = append(list, card(repository), s.tarball(ctx, name, ref, head))
		list = append(list, skillResources(name, ofSkills)...)
	}
	resources.AccountOf(ctx).ReadFor(ctx, reads)
	result := members{"resources": list}
	if more {
		result["nextCursor"] = cursorAfter(names[len(names)-1])
	}
	return result, nil
}

// foreignCursor refuses a cursor that the list has not made. Templates, tools and prompts fit on
// one page, so their lists make no cursors.
func foreignCursor() *Error {
	return wrongMember("cursor", "nextCursor of the result before, of the same list and as it was; leave it out for "+
		"the first page")
}

// cursorPrefix distinguishes the cursors of this list from other base64 strings.
const cursorPrefix = "repositories after "

// cursorAfter is the cursor of the page that follows a name. It contains a name and not a number,
// so it stays right while repositories come and go: none is listed twice or left out. It is not
// signed, since every server must accept it: a forged name leads to a page that the client could
// have reached anyway.
func cursorAfter(name string) mcp.Cursor { return encodeCursor(cursorPrefix, name) }

// parseCursor accepts exactly what cursorAfter writes, and no cursor at all.
func parseCursor(cursor mcp.Cursor) (after string, ok bool) {
	if cursor == "" {
		return "", true
	}
	after, ok = decodeCursor(cursorPrefix, cursor)
	return after, ok && repos.IsName(after)
}

// encodeCursor makes a cursor of a value. The prefix says which list it belongs to.
func encodeCursor(prefix, value string) mcp.Cursor {
	return mcp.Cursor(base64.StdEncoding.EncodeToString([]byte(prefix + value)))
}

// decodeCursor accepts exactly what encodeCursor writes.
func decodeCursor(prefix string, cursor mcp.Cursor) (value string, ok bool) {
	decoded, err := base64.StdEncoding.DecodeString(string(cursor))
	if err != nil {
		return "", false
	}
	value, ok = strings.CutPrefix(string(decoded), prefix)
	// The decoder ignores line ends and stray bits.
	return value, ok && encodeCursor(prefix, value) == cursor
}

// card is the listed description of a repository.
func card(repository *repos.Repository) listedResource {
	name := repository.Name()
	card := listedResource{
		URI: resources.Resource{Repository: name}.String(), Name: name, MIMEType: resources.TypeJSON,
		Description: "A git repository: description, default branch, head commit, counts and links.",
	}
	if repository.Quarantined() {
		card.Description = "A git repository that cannot be read at the moment, and is quarantined."
	}
	return card
}

// tarball is the listed archive of the default branch of a repository.
func (s *Server) tarball(ctx context.Context, name, ref string, head git.ID) listedResource {
	r := resources.Resource{
		Repository: name, Kind: resources.Archive, Revision: ref, Options: archive.Options{Format: archive.TarGz},
	}
	meta := resources.MergeMeta(s.streamable(), s.resources.ArchiveLinkMeta(ctx, r, head))
	return listedResource{
		Meta: meta, URI: r.String(), Name: name + " (tar.gz)", MIMEType: r.Options.Format.MediaType(),
		Streamable:  s.resources.Downloads(),
		Description: "All files of the default branch. " + s.howToFetch(),
		HTTPURL:     meta[resources.MetaHTTP], HTTPURLExpiresAt: meta[resources.MetaHTTPExpires],
	}
}

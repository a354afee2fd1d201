package resources

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
)

// pageSize is the number of repositories on a page of resources/list; each has
// up to two resources.
const pageSize = 50

// list replaces what mcp-go found, which is nothing but the one resource that
// all reads are redirected to, by a page of the catalogue.
func (s *Server) list(ctx context.Context, _ any, message *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	after, ok := parseCursor(message.Params.Cursor)
	if !ok {
		fail(ctx, &Error{Reason: ReasonParams, Message: "The cursor is none of this server's. Take it from nextCursor of the result before, as it is, or begin without one."})
		return
	}
	names, more := s.catalogue.Page(after, pageSize)
	result.Resources = make([]mcp.Resource, 0, 2*len(names))
	for _, name := range names {
		if repository, err := s.catalogue.Known(name); err == nil {
			result.Resources = append(result.Resources, s.listed(ctx, repository)...)
		}
	}
	result.NextCursor = ""
	if more {
		result.NextCursor = cursorAfter(names[len(names)-1])
	}
}

// cursorPrefix tells the cursors of this list from other texts in base64.
const cursorPrefix = "repositories after "

// cursorAfter is the cursor of the page that follows a name. It is a name and no
// number, so that it stays right while repositories come and go: none is listed
// twice or left out.
func cursorAfter(name string) mcp.Cursor {
	return mcp.Cursor(base64.StdEncoding.EncodeToString([]byte(cursorPrefix + name)))
}

// parseCursor accepts exactly what cursorAfter writes, and no cursor at all.
func parseCursor(cursor mcp.Cursor) (after string, ok bool) {
	if cursor == "" {
		return "", true
	}
	content, err := base64.StdEncoding.Strict().DecodeString(string(cursor))
	if err != nil {
		return "", false
	}
	after, ok = strings.CutPrefix(string(content), cursorPrefix)
	// Decoding passes over line ends.
	return after, ok && repos.IsName(after) && cursorAfter(after) == cursor
}

// listed are the resources that a repository is listed with: its card, and the
// archive of its default branch.
func (s *Server) listed(ctx context.Context, repository *repos.Repository) []mcp.Resource {
	name := repository.Name()
	card := mcp.NewResource(Resource{Repository: name}.String(), name,
		mcp.WithResourceDescription("A git repository: description, default branch, head commit, counts and links."),
		mcp.WithMIMEType(mimeJSON))
	ref, head := repository.HeadTip()
	if ref == "" {
		return []mcp.Resource{card}
	}
	r := Resource{Repository: name, Kind: Archive, Revision: ref, Options: archive.Options{Format: archive.TarGz}}
	tarball := mcp.NewResource(r.String(), name+" (tar.gz)",
		mcp.WithResourceDescription("All files of the default branch. Download it with resources/stream."),
		mcp.WithMIMEType(r.Options.Format.MediaType()))
	tarball.Meta = mcp.NewMetaFromMap(mergeMeta(map[string]any{metaStreamable: true}, s.listedLink(ctx, r, head)))
	return []mcp.Resource{card, tarball}
}

// listedLink is the httpUrl of an archive in a list, as members of _meta. No
// repository is opened for it: what a branch holds is a commit, by git's rule,
// and a page of fifty would take longer than all else of it.
func (s *Server) listedLink(ctx context.Context, r Resource, head repos.ID) map[string]any {
	if !s.linking(ctx) {
		return nil
	}
	asked, name := r.String(), archiveName(r, head.String())
	r.Revision = head.String()
	r.Options = r.Options.Canonical()
	return s.httpMeta(ctx, &Content{Repository: r.Repository, Asked: asked, FileName: name, Frozen: r.String(), Streamable: true})
}

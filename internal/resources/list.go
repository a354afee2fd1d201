package resources

import (
	"context"
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
)

// pageSize is the number of repositories on a page of resources/list; each has
// up to two resources.
const pageSize = 50

// list replaces what mcp-go found, which is nothing but the one resource that
// all reads are redirected to, by a page of the catalogue. The cursor is the
// last name of the page before, so that it stays right while repositories come
// and go. mcp-go has checked that it is base64.
func (s *Server) list(_ context.Context, _ any, message *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	after, err := base64.StdEncoding.DecodeString(string(message.Params.Cursor))
	if err != nil {
		after = nil
	}
	names, more := s.catalogue.Page(string(after), pageSize)
	result.Resources = make([]mcp.Resource, 0, 2*len(names))
	for _, name := range names {
		if repository, err := s.catalogue.Get(name); err == nil {
			result.Resources = append(result.Resources, listed(repository)...)
		}
	}
	result.NextCursor = ""
	if more {
		result.NextCursor = mcp.Cursor(base64.StdEncoding.EncodeToString([]byte(names[len(names)-1])))
	}
}

// listed are the resources that a repository is listed with: its card, and the
// archive of its default branch.
func listed(repository *repos.Repository) []mcp.Resource {
	name := repository.Name()
	card := mcp.NewResource(Resource{Repository: name}.String(), name,
		mcp.WithResourceDescription("A git repository: description, default branch, head commit, counts and links."),
		mcp.WithMIMEType(mimeJSON))
	ref := repository.DefaultRef()
	if ref == "" {
		return []mcp.Resource{card}
	}
	r := Resource{Repository: name, Kind: Archive, Revision: ref, Format: archive.TarGz}
	tarball := mcp.NewResource(r.String(), name+" (tar.gz)",
		mcp.WithResourceDescription("All files of the default branch. Download it with resources/stream."),
		mcp.WithMIMEType(r.Format.MediaType()))
	tarball.Meta = mcp.NewMetaFromMap(map[string]any{metaStreamable: true})
	return []mcp.Resource{card, tarball}
}

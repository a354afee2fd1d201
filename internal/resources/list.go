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
func (s *Server) list(ctx context.Context, _ any, message *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	after, err := base64.StdEncoding.DecodeString(string(message.Params.Cursor))
	if err != nil {
		after = nil
	}
	names, more := s.catalogue.Page(string(after), pageSize)
	result.Resources = make([]mcp.Resource, 0, 2*len(names))
	for _, name := range names {
		if repository, err := s.catalogue.Get(name); err == nil {
			result.Resources = append(result.Resources, s.listed(ctx, repository)...)
		}
	}
	result.NextCursor = ""
	if more {
		result.NextCursor = mcp.Cursor(base64.StdEncoding.EncodeToString([]byte(names[len(names)-1])))
	}
}

// listed are the resources that a repository is listed with: its card, and the
// archive of its default branch.
func (s *Server) listed(ctx context.Context, repository *repos.Repository) []mcp.Resource {
	name := repository.Name()
	card := mcp.NewResource(Resource{Repository: name}.String(), name,
		mcp.WithResourceDescription("A git repository: description, default branch, head commit, counts and links."),
		mcp.WithMIMEType(mimeJSON))
	ref, _ := repository.HeadTip()
	if ref == "" {
		return []mcp.Resource{card}
	}
	r := Resource{Repository: name, Kind: Archive, Revision: ref, Options: archive.Options{Format: archive.TarGz}}
	tarball := mcp.NewResource(r.String(), name+" (tar.gz)",
		mcp.WithResourceDescription("All files of the default branch. Download it with resources/stream."),
		mcp.WithMIMEType(r.Options.Format.MediaType()))
	tarball.Meta = mcp.NewMetaFromMap(mergeMeta(map[string]any{metaStreamable: true}, s.listedLink(ctx, repository, r)))
	return []mcp.Resource{card, tarball}
}

// listedLink is the httpUrl of an archive in a list, as members of _meta; where
// it cannot be made there is none. Only the branch's commit is read for it: to
// plan fifty archives would hold up a page for seconds.
func (s *Server) listedLink(ctx context.Context, repository *repos.Repository, r Resource) map[string]any {
	if s.options.Links.Authority == nil {
		return nil
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return nil
	}
	defer func() {
		if err := snapshot.Close(); err != nil {
			s.logger.Error("closing a repository failed", "error", err)
		}
	}()
	commit, err := snapshot.Resolve(ctx, r.Revision)
	if err != nil {
		return nil
	}
	r.Revision = commit.ID.String()
	r.Options = r.Options.Canonical()
	return s.httpMeta(&Content{Repository: r.Repository, Frozen: r.String(), FrozenName: archiveName(r, r.Revision), Streamable: true})
}

package main

import (
	"context"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools"
)

// locator tells tools where resources are: the two packages do not know each
// other.
type locator struct{ server *resources.Service }

var _ tools.Locator = locator{}

// Card is the URI of a repository.
func (l locator) Card(repository string) string {
	return resources.Resource{Repository: repository, Kind: resources.Card}.String()
}

// RefsURI is the URI of a repository's branches and tags.
func (l locator) RefsURI(repository string) string {
	return resources.Resource{Repository: repository, Kind: resources.Refs}.String()
}

// Refs finds the list of a repository's branches and tags.
func (l locator) Refs(ctx context.Context, repository string) (tools.Handle, error) {
	h, err := l.server.Handle(ctx, resources.Resource{Repository: repository, Kind: resources.Refs})
	return l.handle(ctx, h), err
}

// Repositories finds the list of all repositories.
func (l locator) Repositories(ctx context.Context) (tools.Handle, error) {
	h, err := l.server.Handle(ctx, resources.Resource{Kind: resources.Catalogue})
	return l.handle(ctx, h), err
}

// Contents finds a file or folder.
func (l locator) Contents(ctx context.Context, repository, commit, path string) (tools.Handle, error) {
	h, err := l.server.Handle(ctx, resources.Resource{
		Repository: repository, Kind: resources.Contents, Revision: commit, Path: path,
	})
	return l.handle(ctx, h), err
}

// Archive finds an archive.
func (l locator) Archive(
	ctx context.Context, repository, commit string, options archive.Options,
) (tools.Handle, error) {
	h, err := l.server.Handle(ctx, archiveOf(repository, commit, options))
	return l.handle(ctx, h), err
}

// MeasuredArchive finds an archive and its extent.
func (l locator) MeasuredArchive(
	ctx context.Context, repository, commit string, options archive.Options,
) (tools.ArchiveHandle, error) {
	h, err := l.server.MeasuredHandle(ctx, archiveOf(repository, commit, options))
	return tools.ArchiveHandle{
		Handle: l.handle(ctx, h.Handle), Base: h.Base, Measured: h.Measured, Extent: h.Extent,
	}, err
}

func archiveOf(repository, commit string, options archive.Options) resources.Resource {
	return resources.Resource{Repository: repository, Kind: resources.Archive, Revision: commit, Options: options}
}

func (l locator) handle(ctx context.Context, h resources.Handle) tools.Handle {
	handle := tools.Handle{
		URI: h.URI, MIMEType: h.MIMEType, FileName: h.FileName, Size: h.Size,
		HTTP: h.HTTP, HTTPExpires: h.HTTPExpires, Meta: h.Meta, Route: h.Route,
	}
	if address := l.server.Address(ctx); address != "" && h.Route != "" {
		handle.URL = address + h.Route
	}
	return handle
}

package resources

import (
	"cmp"
	"log/slog"
	"sync"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/limits"
	"github.com/repomcp/repomcp/internal/refresh"
	"github.com/repomcp/repomcp/internal/repos"
)

// Options of a [Service]. Catalogue and Engine are required.
type Options struct {
	Catalogue repos.Views
	// Engine writes archives.
	Engine        *archive.Engine
	ArchiveLimits archive.Limits
	// Cache keeps archives; nil generates them for each request.
	Cache *cache.Cache
	// Limits is asked before contents are sent; nil limits nothing.
	Limits *limits.Limiter
	// Links makes addresses that need no credentials.
	Links Linking
	// Refresher has mirrors refreshed that are old; nil leaves that to others.
	Refresher *refresh.Refresher
	// NoHTTP says that no HTTP server runs: contents are to be had by the methods of
	// MCP alone.
	NoHTTP bool
	Logger *slog.Logger
}

// Service finds what URIs name in the repositories of a catalogue.
type Service struct {
	options Options
	extents *extents // of archives
	files   *extents // apart, since many small files are read and few archives

	unreached sync.Once // says that links are missing for want of a public URL
}

// New makes a service.
func New(options Options) *Service {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.Links.Lifetime = cmp.Or(options.Links.Lifetime, defaultLinkLifetime)
	return &Service{options: options, extents: newExtents(), files: newExtents()}
}

// Downloads reports whether contents can be had over HTTP.
func (s *Service) Downloads() bool { return !s.options.NoHTTP }

// Redirects reports whether a client may be sent to where archives are kept.
func (s *Service) Redirects() bool { return s.options.Cache != nil && s.options.Cache.Redirects() }

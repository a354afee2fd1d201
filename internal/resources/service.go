package resources

import (
	"cmp"
	"log/slog"
	"sync"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
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
	// Freshen has a mirror refreshed if it is old, without waiting, and reports whether it
	// is old; nil leaves that to others.
	Freshen func(*repos.Repository) (stale bool)
	// NoHTTP says that no HTTP server runs: contents are to be had by the methods of
	// MCP alone.
	NoHTTP bool
	Logger *slog.Logger
}

// Service finds what URIs name in the repositories of a catalogue.
type Service struct {
	options  Options
	archives *known // what their bytes teach, by ETag
	files    *known // the same by object id: apart, since many small files are read and few archives

	unreached sync.Once // says that links are missing for want of a public URL
}

// New makes a service.
func New(options Options) *Service {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.Links.Lifetime = cmp.Or(options.Links.Lifetime, defaultLinkLifetime)
	return &Service{options: options, archives: newKnown(), files: newKnown()}
}

// Downloads reports whether contents can be had over HTTP.
func (s *Service) Downloads() bool { return !s.options.NoHTTP }

// Redirects reports whether a client may be sent to where archives are kept.
func (s *Service) Redirects() bool { return s.options.Cache != nil && s.options.Cache.Redirects() }

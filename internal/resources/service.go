package resources

import (
	"cmp"
	"log/slog"
	"sync"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/repos"
)

// Options of a [Service]. Catalogue and Engine are required.
type Options struct {
	Catalogue repos.Views
	// Engine writes archives.
	Engine        *archive.Engine
	ArchiveLimits archive.Limits
	// CheckoutOrigin is the URL from which checkouts fetch, with {repo} for the name of the repository:
	// see [CheckOriginTemplate]. Without it that is this server's own address, if GitClients says that
	// git can clone from it, or else where the mirror comes from.
	CheckoutOrigin string
	GitClients     bool
	// Cache keeps archives; nil generates them for each request.
	Cache *cache.Cache
	// Limits reserves memory before contents are sent; nil limits nothing.
	Limits *limits.Limiter
	// History caches what walks over history have read; nil means a cache of its own.
	History *history.Cache
	// Links makes URLs that need no credentials.
	Links Linking
	// Freshen refreshes a stale mirror without waiting, and reports whether it is stale; nil means
	// that mirrors are not refreshed on demand.
	Freshen func(*repos.Repository) (stale bool)
	// NoHTTP says that no HTTP server runs: contents are only available through MCP.
	NoHTTP bool
	Logger *slog.Logger
}

// Service finds the resources of URIs in the repositories of a catalogue.
type Service struct {
	options  Options
	archives *known // facts about their bytes and those of patches, by ETag
	files    *known // the same by object id; separate, since many small files are read and few archives

	unreached sync.Once // logs once that there are no links without a public URL
}

// New makes a service.
func New(options Options) *Service {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.Links.Lifetime = cmp.Or(options.Links.Lifetime, defaultLinkLifetime)
	if options.History == nil {
		options.History = history.NewCache(0)
	}
	return &Service{options: options, archives: newKnown(), files: newKnown()}
}

// Downloads reports whether contents are available over HTTP.
func (s *Service) Downloads() bool { return !s.options.NoHTTP }

// Redirects reports whether a client may be sent to object storage.
func (s *Service) Redirects() bool { return s.options.Cache != nil && s.options.Cache.Redirects() }

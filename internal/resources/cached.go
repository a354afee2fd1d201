package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// errReopen says that an archive that one request has open cannot be opened again, for example
// because no ref leads to its commit any more.
var errReopen = errors.New("the archive cannot be opened again")

// cached is the source of an archive that comes through the cache. A look searches the cache. A
// range of an archive that is not cached is generated alone: that is faster than waiting for the
// whole.
type cached struct {
	*packed
	cache *cache.Cache
	key   cache.Key
	build cache.Build
}

// newCached connects an archive with the cache. The key gives no access: a request that has the key
// has found the archive. The key contains the limits as well as the ETag, since some limits are
// only met while an archive is written.
func (s *Service) newCached(ctx context.Context, found *Found, source *packed) *cached {
	client := access.ClientOf(ctx)
	generate := s.builder(access.PrincipalOf(ctx), found.Frozen, found.ETag)
	return &cached{
		packed: source, cache: s.options.Cache,
		key: cache.KeyOf("archive", found.ETag, fmt.Sprintf("%+v", s.options.ArchiveLimits)),
		build: func(ctx context.Context, w io.Writer) error {
			return generate(access.WithAddress(ctx, client), w) // charged to the client
		},
	}
}

// reserve looks into the cache. Otherwise the whole is built for all requests that ask for it
// meanwhile, and the reservation belongs to the build, whichever request begins it.
func (c *cached) reserve(ctx context.Context, b *Body) error {
	switch {
	case b.want.Reply:
	case b.want.Method == Get && b.want.Range == nil:
		defer AccountOf(ctx).Stage("cache")()
		entry, err := c.cache.Get(ctx, c.key, b.MIMEType, c.build, c.reserveBuild(b))
		if err != nil {
			return err
		}
		return b.useEntry(entry)
	case b.want.Range != nil || b.makesDigest():
		if err := c.find(ctx, b); err != nil || b.entry != nil {
			return err
		}
	}
	return c.packed.reserve(ctx, b)
}

func (c *cached) reserveBuild(b *Body) cache.Reserve {
	repository, memory := b.Found.Repository, c.memory()
	return func(ctx context.Context) (func(), error) {
		grant, err := c.limits.Stream(ctx, repository, memory)
		return grant.Release, err
	}
}

func (c *cached) find(ctx context.Context, b *Body) error {
	entry, ok := c.cache.Find(ctx, c.key, b.MIMEType, c.build, c.reserveBuild(b))
	if !ok {
		return nil
	}
	return b.useEntry(entry)
}

// useEntry adopts an entry and what it knows.
func (b *Body) useEntry(entry *cache.Entry) error {
	b.entry = entry
	if whole, known := entry.Identity(); known {
		return b.learnKept(whole)
	}
	return nil
}

// measure asks the cache for a HEAD if trees do not tell the length.
func (c *cached) measure(ctx context.Context, b *Body, certain bool) error {
	err := c.packed.measure(ctx, b, certain)
	if err == nil && b.want.Method == Head && b.Size == UnknownSize {
		err = c.find(ctx, b)
	}
	return err
}

// write writes the bytes from the cache, which hashes them. An archive that cannot be opened again
// is still open here.
func (c *cached) write(ctx context.Context, b *Body, p *part) error {
	if b.entry == nil {
		return c.packed.write(ctx, b, p)
	}
	offset, length := p.rest()
	err := b.entry.WriteRange(ctx, p, offset, length)
	if errors.Is(err, errReopen) {
		b.source = c.packed
	}
	if err != nil {
		return err
	}
	if whole, known := b.entry.Identity(); known {
		return b.learnKept(whole)
	}
	return nil
}

// findCached finds an archive whose commit is not in the mirror: the mirror lags behind, and
// another server has made the archive. The caller must have proof that the archive may be read,
// since no ref is checked. A commit that is here but no longer served was withdrawn, and is
// [git.ErrNotFound].
func (s *Service) findCached(ctx context.Context, uri string) (*Found, error) {
	r, err := Parse(uri, s.names(ctx))
	if err != nil {
		return nil, err
	}
	if r.Kind != Archive || s.options.Cache == nil {
		return nil, git.ErrNotFound
	}
	repository, err := s.options.Catalogue.For(ctx).Get(r.Repository)
	if err != nil {
		return nil, err
	}
	tag, err := s.absentTag(repository, r)
	if err != nil {
		return nil, err
	}
	found := describedArchive(r, r.Revision, tag)
	found.Immutable, found.Commit, found.mirror = true, r.Revision, repository
	// If the cached bytes turn out to be damaged, the archive is opened once more: the commit may
	// have arrived.
	s.connectArchive(ctx, found, &packed{
		s.options.Limits, r.Options.Format, nil, s.builder(access.PrincipalOf(ctx), found.Frozen, tag),
	})
	kept := &Body{Found: found, MIMEType: found.MIMEType, Size: UnknownSize}
	err = found.source.(*cached).find(ctx, kept)
	if err == nil && kept.entry == nil {
		err = git.ErrNotFound
	}
	if err = errors.Join(err, kept.Close()); err != nil {
		return nil, err
	}
	return found, nil
}

// absentTag is the ETag of an archive whose commit is not in the mirror.
func (s *Service) absentTag(repository *repos.Repository, r Resource) (tag string, err error) {
	snapshot, err := repository.Snapshot()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	id, err := git.ParseID(r.Revision)
	if err != nil {
		return "", err
	}
	if here, err := snapshot.Has(id); err != nil || here {
		return "", cmp.Or(err, git.ErrNotFound)
	}
	info, err := snapshot.InfoAttributes()
	if err != nil {
		return "", err
	}
	tag, strong := s.options.Engine.Tag(id, r.Options, info)
	if !strong {
		return "", git.ErrNotFound
	}
	return tag, nil
}

// builder generates an archive from its own snapshot, as the principal of the request that began
// it: a build may outlast that request.
func (s *Service) builder(principal access.Principal, uri, tag string) cache.Build {
	return func(ctx context.Context, w io.Writer) error {
		found, err := s.Find(access.WithPrincipal(ctx, principal), uri)
		if err != nil {
			return fmt.Errorf("%w: %w", errReopen, err)
		}
		defer func() {
			if err := found.Close(); err != nil {
				s.options.Logger.ErrorContext(ctx, "closing a resource failed", "error", err)
			}
		}()
		if found.ETag != tag || found.Weak {
			return fmt.Errorf("%w: it is another one by now", errReopen)
		}
		return found.source.write(ctx, &Body{Found: found}, wholeOf(w))
	}
}

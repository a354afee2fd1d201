package resources

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// errReopen says that what one request has open cannot be opened again, such as
// a commit that no ref leads to any more.
var errReopen = errors.New("the archive cannot be opened again")

// cachedBytes is how the bytes of an archive are had through the cache.
type cachedBytes struct {
	cache *cache.Cache
	key   cache.Key
	build cache.Build
	lent  *atomic.Pointer[limits.Grant] // what was reserved for the first build
	entry *cache.Entry                  // once they were found or asked for
}

// connectCache connects an archive with the cache. The key gives no access: whoever
// has it has opened the archive. It names the limits as well as the bytes, since
// some of those are only met while an archive is written. What a weak ETag names
// is made for each request.
func (s *Service) connectCache(ctx context.Context, c *Content) {
	if s.options.Cache == nil || c.Weak {
		return
	}
	client, repository, memory := access.ClientOf(ctx), c.Repository, c.memory
	generate, lent := s.builder(access.PrincipalOf(ctx), c.Frozen, c.ETag), new(atomic.Pointer[limits.Grant])
	largest := fmt.Sprintf("%+v", s.options.ArchiveLimits)
	c.cached = &cachedBytes{cache: s.options.Cache, key: cache.KeyOf("archive", c.ETag, largest), lent: lent}
	// A build is on the account of who asked for it. The first has what was reserved
	// before; one that takes its place, for a client that was too slow for it, reserves
	// as much.
	c.cached.build = func(ctx context.Context, w io.Writer) error {
		ctx = access.WithAddress(ctx, client)
		if lent.Swap(nil) == nil {
			grant, err := s.options.Limits.Stream(ctx, repository, memory)
			if err != nil {
				return err
			}
			defer grant.Release()
		}
		return generate(ctx, w)
	}
}

// openCached finds an archive by its commit where the commit is not here: the mirror
// lags behind, and another server has made the archive. It is for who has shown
// that the archive may be read, since no ref is asked. What is here and no longer
// served was taken back, and is [git.ErrNotFound] as ever.
func (s *Service) openCached(ctx context.Context, uri string) (*Content, error) {
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
	content := describedArchive(r, r.Revision, tag)
	content.Immutable, content.Commit, content.mirror, content.limits = true, r.Revision, repository, s.options.Limits
	// Where the kept bytes turn out to be damaged it is opened once more: the commit may
	// have come.
	content.write = s.builder(access.PrincipalOf(ctx), content.Frozen, tag)
	content.remember(s.extents)
	s.connectCache(ctx, content)
	err = content.Find(ctx)
	if err == nil && !content.fetched() {
		err = git.ErrNotFound
	}
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return content, nil
}

// absentTag is the ETag of an archive whose commit is not here.
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

// builder generates an archive from a snapshot of its own, for the principal who has
// opened it: it may go on when the request that it was begun for has ended.
func (s *Service) builder(principal access.Principal, uri, tag string) cache.Build {
	return func(ctx context.Context, w io.Writer) error {
		content, err := s.Open(access.WithPrincipal(ctx, principal), uri)
		if err != nil {
			return fmt.Errorf("%w: %w", errReopen, err)
		}
		defer func() {
			if err := content.Close(); err != nil {
				s.options.Logger.ErrorContext(ctx, "closing a resource failed", "error", err)
			}
		}()
		if content.ETag != tag || content.Weak {
			return fmt.Errorf("%w: it is another one by now", errReopen)
		}
		return content.write(ctx, w)
	}
}

// Fetch begins to get the whole bytes from where they are kept, or to have them
// generated for all who ask for them meanwhile. Of what is whole already, Size
// and Digest are known then. It is for bytes that will be sent, and does nothing
// where there is no cache; but a file is compared with its id.
func (c *Content) Fetch(ctx context.Context) error {
	if c.prove != nil || c.prepare != nil {
		return c.Count(ctx)
	}
	if c.cached == nil || c.cached.entry != nil {
		return nil
	}
	defer AccountOf(ctx).Stage("cache")()
	entry, err := c.cached.cache.Get(ctx, c.cached.key, c.MIMEType, c.cached.build, c.lend())
	if err != nil {
		return err
	}
	return c.useEntry(entry)
}

// Find is Fetch of what is kept: nothing is generated for it.
func (c *Content) Find(ctx context.Context) error {
	if c.cached == nil || c.cached.entry != nil {
		return nil
	}
	entry, ok := c.cached.cache.Find(ctx, c.cached.key, c.MIMEType, c.cached.build)
	if !ok {
		return nil
	}
	return c.useEntry(entry)
}

// useEntry takes an entry over, and what it knows.
func (c *Content) useEntry(entry *cache.Entry) error {
	c.cached.entry = entry
	if whole, known := entry.Identity(); known {
		return c.noteIdentity(whole)
	}
	return nil
}

// noteIdentity notes what whole bytes are. That they are others than those that were
// announced, or made before, nobody may be left to find out.
func (c *Content) noteIdentity(whole cache.Identity) error {
	if c.certain && c.Size != whole.Size || c.Digest != nil && !bytes.Equal(c.Digest, whole.Sum[:]) {
		return fmt.Errorf("the cache has %d bytes that are not those made before", whole.Size)
	}
	c.noteWhole(whole.Size, whole.Sum[:])
	return nil
}

// Redirect returns a URL to GET the same bytes from, for a minute. It is a
// secret. It needs [Content.Fetch], and most contents have none.
func (c *Content) Redirect(ctx context.Context) (url string, ok bool) {
	if !c.fetched() {
		return "", false
	}
	url, err := c.cached.entry.Redirect(ctx, c.FileName)
	return url, err == nil
}

// fetched reports whether the bytes come through the cache.
func (c *Content) fetched() bool { return c.cached != nil && c.cached.entry != nil }

// release lets go of them.
func (c *Content) release() {
	if c.fetched() {
		c.cached.entry.Close()
		c.cached.entry = nil
	}
}

// writeCached writes what comes through the cache, which hashes it.
func (c *Content) writeCached(ctx context.Context, w io.Writer) error {
	counted := &countWriter{w: w}
	err := c.cached.entry.WriteTo(ctx, counted)
	if errors.Is(err, errReopen) && counted.offered == 0 {
		// This request has it open still.
		c.release()
		return c.WriteTo(ctx, w)
	}
	if err != nil {
		c.extents.put(c.tag, extent{size: UnknownSize, atLeast: counted.offered})
		return err
	}
	whole, _ := c.cached.entry.Identity()
	return c.noteIdentity(whole)
}

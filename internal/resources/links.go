package resources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/links"
)

const (
	// defaultLinkLifetime is what the large hosts give for private archives.
	defaultLinkLifetime = 5 * time.Minute

	// MetaHTTP is the key of an address that needs no credentials (SEP-2166).
	MetaHTTP = MetaPrefix + "httpUrl"
	// MetaHTTPExpires is the key of the time until which it does not.
	MetaHTTPExpires = MetaPrefix + "httpUrlExpiresAt"
)

// Linking makes signed links. Without an Authority there are none.
type Linking struct {
	Authority *links.Authority
	Base      links.Base
	// Local says that Base is the address that the server listens on. Such links
	// are made only for clients that reach the server there: see [FromHere].
	Local bool
	// Lifetime of links; 0 means 5 minutes.
	Lifetime time.Duration
	// ManyUses lets a downloadUrl be used more than once.
	ManyUses bool
	// Relevant leaves out of a principal what decides nothing about access, so that a
	// link is not longer than it need be; nil leaves nothing out.
	Relevant func(access.Principal) access.Principal
}

// hereKey of a context says that its request came from here.
type hereKey struct{}

// FromHere marks a request whose client is known to reach the server at the
// address that the server listens on.
func FromHere(ctx context.Context) context.Context { return context.WithValue(ctx, hereKey{}, true) }

// CanLink reports whether links can be made for a request: its client must
// reach what they lead to. Its operator is told once where that is not known.
func (s *Service) CanLink(ctx context.Context) bool {
	l := s.options.Links
	switch {
	case l.Authority == nil:
		return false
	case !l.Local || ctx.Value(hereKey{}) != nil:
		return true
	}
	s.unreached.Do(func() {
		s.options.Logger.Warn("no links are made for clients that may come through a proxy or a tunnel: set " +
			"--public-url to the address that they use")
	})
	return false
}

// address is where the client of a request reaches the server, without a slash
// at its end, or "" when nobody knows.
func (s *Service) address(ctx context.Context) string {
	if !s.CanLink(ctx) {
		return ""
	}
	return s.options.Links.Base.Address()
}

// LinkLifetime is how long links are good for; 0 when there are none.
func (s *Service) LinkLifetime() time.Duration {
	if s.options.Links.Authority == nil {
		return 0
	}
	return s.options.Links.Lifetime
}

// DownloadLink makes a URL for one download of a found. Where the server knows who
// asks, the URL is good together with the credentials of the same principal alone
// (SEP-2532, section 3). A session is not what it is bound to: its id is no credential,
// and neither WebSocket nor 2026-07-28 has one that a download could repeat.
func (s *Service) DownloadLink(ctx context.Context, found *Found) (url string, link links.Link, err error) {
	principal := access.PrincipalOf(ctx).ID
	return s.link(ctx, found, links.Grant{
		Kind: links.Download, SingleUse: !s.options.Links.ManyUses, Principal: principal,
	})
}

// link makes a URL for a content as it is now: of a branch it names the commit.
func (s *Service) link(
	ctx context.Context, found *Found, grant links.Grant,
) (url string, link links.Link, err error) {
	reader := access.PrincipalOf(ctx)
	if relevant := s.options.Links.Relevant; relevant != nil {
		reader = relevant(reader)
	}
	grant.Reader, grant.Rights = reader.ID, rightsOf(reader)
	grant.Methods = links.GET | links.HEAD
	grant.Resource, grant.Repository, grant.Lifetime = found.Frozen, found.Repository, s.options.Links.Lifetime
	if found.Asked != "" {
		grant.Asked, grant.FileName = toldByLink(found.Asked), toldByLink(found.FileName)
	}
	token, link, err := s.options.Links.Authority.Mint(grant)
	if err != nil {
		return "", links.Link{}, fmt.Errorf("making a link: %w", err)
	}
	return s.options.Links.Base.URL(token), link, nil
}

// toldByLink is a text that a link repeats to its bearer, or "" when it is so
// long that the link might not pass a proxy. The canonical one is told then.
func toldByLink(text string) string {
	const most = 512
	if len(text) > most {
		return ""
	}
	return text
}

// LinkMeta are the members of _meta that give a content's httpUrl (SEP-2166),
// if it has one: only what resources/stream serves as well does.
func (s *Service) LinkMeta(ctx context.Context, found *Found) map[string]any {
	if !s.CanLink(ctx) || !found.Streamable {
		return nil
	}
	url, link, err := s.link(ctx, found, links.Grant{Kind: links.HTTP})
	if err != nil {
		s.options.Logger.DebugContext(ctx, "a resource is shown without its httpUrl", "uri", found.URI, "error", err)
		return nil
	}
	return map[string]any{MetaHTTP: url, MetaHTTPExpires: link.Expires.Format(time.RFC3339)}
}

// ArchiveLinkMeta is LinkMeta of an archive of a branch, by the commit at its head.
// No repository is opened for it: what a branch holds is a commit, by git's rule,
// and a page of fifty would take longer than all else of it.
func (s *Service) ArchiveLinkMeta(ctx context.Context, r Resource, head git.ID) map[string]any {
	if !s.CanLink(ctx) {
		return nil
	}
	asked, name := r.String(), archiveName(r, head.String())
	r.Revision = head.String()
	r.Options = r.Options.Canonical()
	return s.LinkMeta(
		ctx, &Found{Repository: r.Repository, Asked: asked, FileName: name, Frozen: r.String(), Streamable: true},
	)
}

// Linked is what a link led to. Close what was found. [Found.Open] of a GET uses the link
// for one download, or for more bytes of it, and then [Body] has the entity tag to go on
// with.
type Linked struct {
	*Found
	Link links.Link
}

// use is that of a link.
type use struct {
	authority *links.Authority
	link      links.Link
	resume    string // the secret of a download that goes on, or ""
}

// redeem uses the link for a body whose range was selected, or could not be: the whole
// would be a second use of what goes on.
func (u *use) redeem(ctx context.Context, b *Body, selected error) error {
	beyond := errors.As(selected, new(*RangeError))
	switch {
	case u == nil, selected != nil && !beyond:
		return selected
	case u.resume != "" && !b.Part:
		return links.ErrUsed
	case beyond, b.want.Method != Get:
		return selected
	}
	used, err := u.authority.Redeem(ctx, u.link, links.Resume{Secret: u.resume, Length: b.Length, Size: b.Size})
	b.ETag = links.TagETag(b.ETag, used)
	return err
}

// ErrLinkGone says that the commit of a link is not here, but may be on another
// server or soon: mirrors lag behind each other.
var ErrLinkGone = errors.New("the commit of the link is not here yet")

// FindLink checks a token and finds what it names, for a request whose host is the
// public URL's. Nothing of the link is used up. Errors are those of
// [links.Authority.Verify], [ErrLinkGone] and those of [Service.Find].
func (s *Service) FindLink(ctx context.Context, token string, asked links.Use) (Linked, error) {
	if s.options.Links.Authority == nil {
		return Linked{}, fmt.Errorf("there are no links: %w", git.ErrNotFound)
	}
	// The Host header was held against the names that the server is known by; a
	// proxy may have put another of them there.
	asked.Host = s.options.Links.Base.Host()
	link, err := s.options.Links.Authority.Verify(token, asked)
	if err != nil {
		return Linked{}, err
	}
	if asked.Method == "HEAD" {
		// A look uses nothing up, and finds what a use would find.
		if err := s.options.Links.Authority.Peek(ctx, link); err != nil {
			return Linked{}, err
		}
	}
	// Whoever redeems it, what its reader may read now counts.
	found, err := s.findFrozen(access.WithPrincipal(ctx, readerOf(link)), link)
	if err != nil {
		return Linked{}, err
	}
	found.Asked, found.FileName = cmp.Or(link.Asked, link.Resource), cmp.Or(link.FileName, found.FrozenName)
	found.link = &use{s.options.Links.Authority, link, asked.Resume}
	return Linked{found, link}, nil
}

// linkRights are what a link says of its reader besides the id.
type linkRights struct {
	Groups []string `json:"groups,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

// rightsOf a principal, "" where nothing but the id decides.
func rightsOf(p access.Principal) string {
	if len(p.Groups)+len(p.Scopes) == 0 {
		return ""
	}
	text, _ := json.Marshal(linkRights{p.Groups, p.Scopes}) // lists of texts
	return string(text)
}

// readerOf a link. Rights that cannot be read are none.
func readerOf(link links.Link) access.Principal {
	var rights linkRights
	_ = json.Unmarshal([]byte(link.Rights), &rights)
	return access.Principal{ID: link.Reader, Groups: rights.Groups, Scopes: rights.Scopes}
}

// findFrozen opens what a link names, if need be from where it is kept: that the
// commit may be read was decided when the link was made. The principal of the context is
// the link's.
func (s *Service) findFrozen(ctx context.Context, link links.Link) (*Found, error) {
	found, err := s.Find(ctx, link.Resource)
	if !errors.Is(err, git.ErrNotFound) {
		return found, err
	}
	if _, unknown := s.options.Catalogue.For(ctx).Get(link.Repository); unknown != nil {
		return nil, err
	}
	found, err = s.findCached(ctx, link.Resource)
	if errors.Is(err, git.ErrNotFound) {
		return nil, ErrLinkGone
	}
	return found, err
}

// frozen is the URI of the same content by the commit.
func frozen(r Resource, commit string) string {
	r.Revision = commit
	return r.String()
}

// MergeMeta adds members; either map may be nil.
func MergeMeta(meta, more map[string]any) map[string]any {
	if len(more) == 0 {
		return meta
	}
	merged := make(map[string]any, len(meta)+len(more))
	maps.Copy(merged, meta)
	maps.Copy(merged, more)
	return merged
}

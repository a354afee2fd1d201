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
	// defaultLinkLifetime is the lifetime that large hosts give links to private archives.
	defaultLinkLifetime = 5 * time.Minute

	// MetaHTTP is the key of a URL that needs no credentials (SEP-2166).
	MetaHTTP = MetaPrefix + "httpUrl"
	// MetaHTTPExpires is the key of the URL's expiry.
	MetaHTTPExpires = MetaPrefix + "httpUrlExpiresAt"
)

// Linking makes signed links. Without an Authority there are none.
type Linking struct {
	Authority *links.Authority
	Base      links.Base
	// Local says that Base is the address that the server listens on. Such links are made only for
	// clients that reach the server there: see [FromHere].
	Local bool
	// Lifetime of links; 0 means 5 minutes.
	Lifetime time.Duration
	// ManyUses allows a downloadUrl to be used more than once.
	ManyUses bool
	// Relevant removes from a principal what does not affect access, so that links stay short; nil
	// removes nothing.
	Relevant func(access.Principal) access.Principal
}

// hereKey marks a context whose request reached the server's listening address directly.
type hereKey struct{}

// FromHere marks a request whose client reaches the server at its listening address.
func FromHere(ctx context.Context) context.Context { return context.WithValue(ctx, hereKey{}, true) }

// CanLink reports whether links can be made for a request: its client must be able to reach them.
// If that is unknown, the operator is told once.
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

// address is where the client of a request reaches the server, without a slash at its end, or "" if
// unknown.
func (s *Service) address(ctx context.Context) string {
	if !s.CanLink(ctx) {
		return ""
	}
	return s.options.Links.Base.Address()
}

// LinkLifetime is how long links are valid; 0 without links.
func (s *Service) LinkLifetime() time.Duration {
	if s.options.Links.Authority == nil {
		return 0
	}
	return s.options.Links.Lifetime
}

// DownloadLink makes a URL for one download. On a server with authentication the URL is valid only
// together with the credentials of the same principal (SEP-2532, section 3). It is not bound to a
// session: a session id is no credential, and neither WebSocket nor 2026-07-28 has one that a
// download could repeat.
func (s *Service) DownloadLink(ctx context.Context, found *Found) (url string, link links.Link, err error) {
	principal := access.PrincipalOf(ctx).ID
	return s.link(ctx, found, links.Grant{
		Kind: links.Download, SingleUse: !s.options.Links.ManyUses, Principal: principal,
	})
}

// link makes a URL for the present content: that of a branch names the commit.
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

// toldByLink returns a string that a link repeats to its bearer, or "" if the string is so long
// that the link might not pass a proxy. The link then repeats the canonical URI.
func toldByLink(text string) string {
	const most = 512
	if len(text) > most {
		return ""
	}
	return text
}

// LinkMeta returns the members of _meta with the resource's httpUrl (SEP-2166), if it has one: only
// resources that resources/stream serves have one.
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

// ArchiveLinkMeta is LinkMeta for an archive of a branch, by the commit at its head. It opens no
// repository: git guarantees that a branch points to a commit, and opening fifty repositories would
// take longer than the rest of a page.
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

// Linked is the target of a link. Close its Found. [Found.Open] of a GET uses the link up for one
// download, or for more bytes of a download; [Body] then has the entity tag that resumes it.
type Linked struct {
	*Found
	Link links.Link
}

// use is a request's use of a link.
type use struct {
	authority *links.Authority
	link      links.Link
	resume    string // the secret of a resumed download, or ""
}

// redeem uses the link up for a body whose range was selected. If no range could be selected, the
// whole would be a second use of a resumed download.
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

// ErrLinkGone says that the commit of a link is not here, but may be on another server or arrive
// soon: mirrors lag behind each other.
var ErrLinkGone = errors.New("the commit of the link is not here yet")

// FindLink checks a token and finds its target, for a request to the public URL's host. It does not
// use the link up. Errors are those of [links.Authority.Verify], [ErrLinkGone] and those of
// [Service.Find].
func (s *Service) FindLink(ctx context.Context, token string, asked links.Use) (Linked, error) {
	if s.options.Links.Authority == nil {
		return Linked{}, fmt.Errorf("there are no links: %w", git.ErrNotFound)
	}
	// The Host header was compared with the names of the server; a proxy may have inserted another
	// of them.
	asked.Host = s.options.Links.Base.Host()
	link, err := s.options.Links.Authority.Verify(token, asked)
	if err != nil {
		return Linked{}, err
	}
	if asked.Method == "HEAD" {
		// A look uses nothing up, and fails if a use would fail.
		if err := s.options.Links.Authority.Peek(ctx, link); err != nil {
			return Linked{}, err
		}
	}
	// The present rights of the link's reader count, whichever client redeems the link.
	found, err := s.findFrozen(access.WithPrincipal(ctx, readerOf(link)), link)
	if err != nil {
		return Linked{}, err
	}
	found.Asked, found.FileName = cmp.Or(link.Asked, link.Resource), cmp.Or(link.FileName, found.FrozenName)
	found.link = &use{s.options.Links.Authority, link, asked.Resume}
	return Linked{found, link}, nil
}

// linkRights are the rights in a link besides the reader's id.
type linkRights struct {
	Groups []string `json:"groups,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

// rightsOf encodes the rights of a principal; "" if it has only an id.
func rightsOf(p access.Principal) string {
	if len(p.Groups)+len(p.Scopes) == 0 {
		return ""
	}
	text, _ := json.Marshal(linkRights{p.Groups, p.Scopes}) // lists of strings
	return string(text)
}

// readerOf returns the principal of a link. Unreadable rights grant nothing.
func readerOf(link links.Link) access.Principal {
	var rights linkRights
	_ = json.Unmarshal([]byte(link.Rights), &rights)
	return access.Principal{ID: link.Reader, Groups: rights.Groups, Scopes: rights.Scopes}
}

// findFrozen opens the target of a link, from the cache if necessary: whether the commit may be
// read was decided when the link was made. The principal of the context is the link's.
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

// frozen is the URI of the same content by commit.
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

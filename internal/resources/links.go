package resources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// defaultLinkLifetime is what the large hosts give for private archives.
	defaultLinkLifetime = 5 * time.Minute

	metaDelivery         = metaPrefix + "delivery"
	metaDownload         = metaPrefix + "downloadUrl"
	metaDownloadExpires  = metaPrefix + "downloadUrlExpiresAt"
	metaHTTP             = metaPrefix + "httpUrl"
	metaHTTPExpires      = metaPrefix + "httpUrlExpiresAt"
	metaLocation         = metaPrefix + "contentLocation"
	fieldHTTP            = "httpUrl"
	fieldHTTPExpires     = "httpUrlExpiresAt"
	sessionPrincipal     = "session:"
	deliveryDownloadURL  = "downloadUrl"
	deliveryDirectStream = "direct"
	deliveryRedirect     = "redirect"
)

// Delivery is how resources/stream hands out bytes (SEP-2532).
type Delivery int

// The ways. DeliveryAny is the bytes, or a redirect to where they are kept; as a
// wish it leaves the way to the request.
const (
	DeliveryAny Delivery = iota
	DeliveryDirect
	DeliveryURL
)

// deliveries are the values of _meta's io.github.repomcp/delivery.
var deliveries = map[string]Delivery{deliveryDirectStream: DeliveryDirect, deliveryDownloadURL: DeliveryURL}

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
	// Delivery is what resources/stream does where the request does not say.
	Delivery Delivery
}

// What a context says of how its request came.
type (
	hereKey   struct{}
	socketKey struct{}
)

// FromHere marks a request whose client is known to reach the server at the
// address that the server listens on.
func FromHere(ctx context.Context) context.Context { return context.WithValue(ctx, hereKey{}, true) }

// overSocket marks a request whose reply has no place for bytes.
func overSocket(ctx context.Context) context.Context {
	return context.WithValue(ctx, socketKey{}, true)
}

// linking reports whether links can be made for a request: its client must
// reach what they lead to.
func (s *Server) linking(ctx context.Context) bool {
	l := s.options.Links
	return l.Authority != nil && (!l.Local || ctx.Value(hereKey{}) != nil)
}

// Address is where the client of a request reaches the server, without a slash
// at its end, or "" when nobody knows.
func (s *Server) Address(ctx context.Context) string {
	if !s.linking(ctx) {
		return ""
	}
	return s.options.Links.Base.Address()
}

// lifetime of links.
func (l Linking) lifetime() time.Duration {
	if l.Lifetime == 0 {
		return defaultLinkLifetime
	}
	return l.Lifetime
}

// listTTL is for how long a client may reuse a list: no longer than the links in
// it are good for, whose end is cut to whole seconds.
func (o Options) listTTL() time.Duration {
	if o.Links.Authority == nil {
		return listTTL
	}
	return min(listTTL, o.Links.lifetime()-time.Second)
}

// modes are the ways in which a client that came so gets the bytes.
func (s *Server) modes(ctx context.Context) []string {
	var modes []string
	if ctx.Value(socketKey{}) == nil {
		modes = append(modes, deliveryDirectStream)
		if s.options.Cache != nil && s.options.Cache.Redirects() {
			modes = append(modes, deliveryRedirect)
		}
	}
	if s.linking(ctx) {
		modes = append(modes, deliveryDownloadURL)
	}
	return modes
}

// declareStream says in a server's capabilities how resources/stream delivers
// to this client, or leaves it out where it cannot.
func (s *Server) declareStream(ctx context.Context, capabilities *mcp.ServerCapabilities) {
	extensions := maps.Clone(capabilities.Extensions)
	delete(extensions, ExtensionStream)
	if modes := s.modes(ctx); modes != nil {
		extensions[ExtensionStream] = map[string]any{"method": MethodStream, "modes": modes}
	}
	capabilities.Extensions = extensions
}

// DeliveryOf is how a resources/stream request is answered. acceptsBytes says
// whether its Accept admits the bytes themselves: a client that does not say so,
// as those that know JSON only, never gets them.
func (s *Server) DeliveryOf(ctx context.Context, r *Request, acceptsBytes bool) (Delivery, *Error) {
	asked, failure := r.delivery()
	if failure != nil {
		return 0, failure
	}
	wish := asked
	if wish == DeliveryAny {
		wish = s.options.Links.Delivery
	}
	if wish == DeliveryAny && !acceptsBytes {
		wish = DeliveryURL
	}
	switch {
	case wish == DeliveryURL && !s.linking(ctx):
		return 0, r.noLinks(acceptsBytes)
	case wish != DeliveryURL && !acceptsBytes:
		return 0, r.notStreamed("The Accept header admits no bytes. Send Accept: */*.", suggestAccept)
	case wish == DeliveryURL, asked == DeliveryDirect:
		return wish, nil
	default:
		return DeliveryAny, nil
	}
}

func (r *Request) delivery() (Delivery, *Error) {
	raw, ok := object(object(r.Params)[paramMeta])[metaDelivery]
	if !ok {
		return DeliveryAny, nil
	}
	var text string
	_ = json.Unmarshal(raw, &text) // another type is no way
	delivery, ok := deliveries[text]
	if !ok {
		return 0, (&Error{Reason: ReasonParams, Message: "The member " + metaDelivery + " of params._meta must be " + deliveryDirectStream + " or " + deliveryDownloadURL + "."}).with("uri", r.uri())
	}
	return delivery, nil
}

// uri is what a request asks for; its params have been checked.
func (r *Request) uri() (uri string) {
	_ = json.Unmarshal(object(r.Params)[paramURI], &uri)
	return uri
}

// What a client does that gets no URL: suggestions of errors.
const (
	suggestAccept = "Accept: */*"
	suggestDirect = metaDelivery + ": " + deliveryDirectStream
)

// noLinks tells a client that gets no URL what it can do instead.
func (r *Request) noLinks(acceptsBytes bool) *Error {
	const text = "This server makes no download URLs for this connection. "
	if acceptsBytes {
		return r.notStreamed(text+"Leave "+metaDelivery+" out, or ask the operator to set --public-url.", suggestDirect)
	}
	return r.notStreamed(text+"Send POST /mcp with Accept: */*, or ask the operator to set --public-url.", suggestAccept)
}

func (r *Request) notStreamed(message, suggestion string) *Error {
	return (&Error{Reason: ReasonNotStreamable, Message: message}).with("uri", r.uri()).with("suggestion", suggestion)
}

// downloadResult is the result of resources/stream in the downloadUrl mode. The
// expiry is named after that of SEP-2166.
type downloadResult struct {
	ResultType  mcp.ResultType `json:"resultType,omitempty"`
	URI         string         `json:"uri"`
	MIMEType    string         `json:"mimeType"`
	Size        *int64         `json:"size,omitempty"`
	DownloadURL string         `json:"downloadUrl"`
	ExpiresAt   string         `json:"downloadUrlExpiresAt"`
	Meta        map[string]any `json:"_meta"`
}

// DownloadReply is the reply to a resources/stream request that tells where the
// content is to be had. What a session asked for is good for that session only.
func (s *Server) DownloadReply(ctx context.Context, r *Request, content *Content) ([]byte, *Error) {
	if !s.linking(ctx) {
		return nil, r.noLinks(false)
	}
	url, link, err := s.link(content, links.Grant{
		Kind: links.Download, SingleUse: !s.options.Links.ManyUses, Principal: principalOf(r.Session), Bound: r.Session != "",
	})
	switch {
	case errors.Is(err, links.ErrRevoked) || errors.Is(err, links.ErrTooLong):
		failure := r.notStreamed("There are no download URLs of this resource. Send POST /mcp with Accept: */* and leave "+metaDelivery+" out.", suggestAccept)
		failure.Cause = err
		return nil, failure
	case errors.Is(err, links.ErrUnavailable):
		return nil, (&Error{Reason: ReasonBusy, Cause: err, Message: "Too many download URLs were made lately. Try again in a minute, or send Accept: */*."}).with("uri", r.uri()).with("suggestion", suggestAccept)
	case err != nil:
		return nil, internal(err).with("uri", r.uri())
	}
	result := s.downloadResult(r, content, url, link)
	reply, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
	if err != nil {
		return nil, internal(err).with("uri", r.uri())
	}
	return append(reply, '\n'), nil
}

// downloadResult has what 2026-07-28 wants of every result, which mcp-go adds to
// all others.
func (s *Server) downloadResult(r *Request, content *Content, url string, link links.Link) downloadResult {
	expires := link.Expires.Format(time.RFC3339)
	result := downloadResult{
		URI: r.uri(), MIMEType: content.MIMEType, DownloadURL: url, ExpiresAt: expires,
		Meta: map[string]any{metaDownload: url, metaDownloadExpires: expires, metaLocation: content.Frozen},
	}
	if content.Size != UnknownSize {
		result.Size = &content.Size
	}
	if r.Era == ModernEra {
		result.ResultType = mcp.ResultTypeComplete
		result.Meta[mcp.MetaKeyServerInfo] = mcp.Implementation{Name: serverName, Title: serverTitle, Version: s.options.Version}
	}
	return result
}

func principalOf(session string) string {
	if session == "" {
		return ""
	}
	return sessionPrincipal + session
}

// link makes a URL for a content as it is now: of a branch it names the commit.
func (s *Server) link(content *Content, grant links.Grant) (url string, link links.Link, err error) {
	grant.Methods = links.GET | links.HEAD
	grant.Resource, grant.Repository, grant.Lifetime = content.Frozen, content.Repository, s.options.Links.lifetime()
	if content.Asked != "" {
		grant.Asked, grant.FileName = toldByLink(content.Asked), toldByLink(content.FileName)
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

// httpMeta are the members of _meta that give a content's httpUrl (SEP-2166),
// if it has one: only what resources/stream serves as well does.
func (s *Server) httpMeta(ctx context.Context, content *Content) map[string]any {
	if !s.linking(ctx) || !content.Streamable {
		return nil
	}
	url, link, err := s.link(content, links.Grant{Kind: links.HTTP})
	if err != nil {
		s.logger.DebugContext(ctx, "a resource is shown without its httpUrl", "uri", content.URI, "error", err)
		return nil
	}
	return map[string]any{metaHTTP: url, metaHTTPExpires: link.Expires.Format(time.RFC3339)}
}

// Linked is a content that was reached by a link. Close the content.
type Linked struct {
	*Content
	Link links.Link
	// Resume is the secret of a download that goes on, or "".
	Resume string
}

// LinkUse is a request for a link.
type LinkUse struct {
	Method  string
	Session string // its session id, if it has one
	Resume  string // see [links.SplitETag]
}

// methodHead is HTTP's.
const methodHead = "HEAD"

// ErrLinkGone says that the commit of a link is not here, but may be on another
// server or soon: mirrors lag behind each other.
var ErrLinkGone = errors.New("the commit of the link is not here yet")

// OpenLink checks a token and finds what it names. Nothing of the link is used
// up. Errors are those of [links.Authority.Verify], [ErrLinkGone] and those of
// [Server.Open].
func (s *Server) OpenLink(ctx context.Context, token string, use LinkUse) (Linked, error) {
	if s.options.Links.Authority == nil {
		return Linked{}, fmt.Errorf("there are no links: %w", repos.ErrNotFound)
	}
	// The Host header was held against the names that the server is known by; a
	// proxy may have put another of them there.
	link, err := s.options.Links.Authority.Verify(token, links.Use{
		Method: use.Method, Host: s.options.Links.Base.Host(), Principal: principalOf(use.Session), Authenticated: use.Session != "", Resume: use.Resume,
	})
	if err != nil {
		return Linked{}, err
	}
	if use.Method == methodHead {
		// A look uses nothing up, and finds what a use would find.
		if err := s.options.Links.Authority.Peek(ctx, link); err != nil {
			return Linked{}, err
		}
	}
	content, err := s.openFrozen(ctx, link)
	if err != nil {
		return Linked{}, err
	}
	content.Asked, content.FileName = cmp.Or(link.Asked, link.Resource), cmp.Or(link.FileName, content.FrozenName)
	return Linked{content, link, use.Resume}, nil
}

// openFrozen opens what a link names, if need be from where it is kept: that
// the bearer may read it was decided when the link was made.
func (s *Server) openFrozen(ctx context.Context, link links.Link) (*Content, error) {
	content, err := s.Open(ctx, link.Resource)
	if !errors.Is(err, repos.ErrNotFound) {
		return content, err
	}
	if _, unknown := s.catalogue.Get(link.Repository); unknown != nil {
		return nil, err
	}
	content, err = s.kept(ctx, link.Resource)
	if errors.Is(err, repos.ErrNotFound) {
		return nil, ErrLinkGone
	}
	return content, err
}

// Redeem uses the link for one download, or for length more bytes of it, and
// gives what its entity tag is to be extended by.
func (s *Server) Redeem(ctx context.Context, l Linked, length int64) (links.Redemption, error) {
	return s.options.Links.Authority.Redeem(ctx, l.Link, links.Resume{Secret: l.Resume, Length: length, Size: l.Size})
}

// frozen is the URI of the same content by the commit.
func frozen(r Resource, commit string) string {
	r.Revision = commit
	return r.String()
}

// mergeMeta adds members; either map may be nil.
func mergeMeta(meta, more map[string]any) map[string]any {
	if len(more) == 0 {
		return meta
	}
	merged := make(map[string]any, len(meta)+len(more))
	for _, m := range []map[string]any{meta, more} {
		for key, value := range m {
			merged[key] = value
		}
	}
	return merged
}

// copyHTTP copies the httpUrl from _meta to where SEP-2166 puts it.
func copyHTTP(item, meta map[string]json.RawMessage) {
	for from, to := range map[string]string{metaHTTP: fieldHTTP, metaHTTPExpires: fieldHTTPExpires} {
		if value := meta[from]; strings.HasPrefix(string(value), `"`) {
			item[to] = value
		}
	}
}

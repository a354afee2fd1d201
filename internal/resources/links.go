package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

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
	fieldHTTP            = "httpUrl"
	fieldHTTPExpires     = "httpUrlExpiresAt"
	sessionPrincipal     = "session:"
	deliveryDownloadURL  = "downloadUrl"
	deliveryDirectStream = "direct"
)

// Delivery is how resources/stream hands out bytes (SEP-2532).
type Delivery int

// The ways. The zero value leaves it to the request.
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
	// Lifetime of links; 0 means 5 minutes.
	Lifetime time.Duration
	// ManyUses lets a downloadUrl be used more than once.
	ManyUses bool
	// Delivery is what resources/stream does where the request does not say.
	Delivery Delivery
}

// DeliveryOf is what a resources/stream request asks for. acceptsBytes says
// whether its Accept admits the bytes themselves; a client that does not say
// so gets a URL, if there are links.
func (s *Server) DeliveryOf(r *Request, acceptsBytes bool) Delivery {
	asked := r.delivery()
	switch {
	case s.options.Links.Authority == nil:
		return asked // and is told what is missing
	case asked != DeliveryAny:
		return asked
	case s.options.Links.Delivery != DeliveryAny:
		return s.options.Links.Delivery
	case acceptsBytes:
		return DeliveryDirect
	default:
		return DeliveryURL
	}
}

func (r *Request) delivery() Delivery {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var text string
	if json.Unmarshal(r.Params, &params) != nil || json.Unmarshal(params.Meta[metaDelivery], &text) != nil {
		return DeliveryAny
	}
	return deliveries[text]
}

// downloadResult is the result of resources/stream in the downloadUrl mode. The
// expiry is named after that of SEP-2166.
type downloadResult struct {
	URI         string         `json:"uri"`
	MIMEType    string         `json:"mimeType"`
	Size        *int64         `json:"size,omitempty"`
	DownloadURL string         `json:"downloadUrl"`
	ExpiresAt   string         `json:"downloadUrlExpiresAt"`
	Meta        map[string]any `json:"_meta"`
}

// DownloadReply is the reply to a resources/stream request that tells where the
// content is to be had. Session is the id of the client's session, or "": a
// request with another one is then refused there.
func (s *Server) DownloadReply(r *Request, content *Content, session string) ([]byte, *Error) {
	if s.options.Links.Authority == nil {
		return nil, &Error{Reason: ReasonNotStreamable, Message: "This server makes no download URLs. Send POST /mcp with Accept: */* and leave " + metaDelivery + " out, or ask the operator to set --public-url."}
	}
	url, link, err := s.link(content, links.Grant{Kind: links.Download, SingleUse: !s.options.Links.ManyUses, Principal: principalOf(session)})
	if errors.Is(err, links.ErrRevoked) || errors.Is(err, links.ErrTooLong) {
		return nil, &Error{Reason: ReasonNotStreamable, Cause: err, Message: "There are no download URLs of this resource. Send POST /mcp with Accept: */* and leave " + metaDelivery + " out."}
	}
	if err != nil {
		return nil, internal(err)
	}
	expires := link.Expires.Format(time.RFC3339)
	result := downloadResult{
		URI: content.Frozen, MIMEType: content.MIMEType, DownloadURL: url, ExpiresAt: expires,
		Meta: map[string]any{metaDownload: url, metaDownloadExpires: expires},
	}
	if content.Size != UnknownSize {
		result.Size = &content.Size
	}
	reply, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
	if err != nil {
		return nil, internal(err)
	}
	return append(reply, '\n'), nil
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
	grant.Resource, grant.Repository, grant.Lifetime = content.Frozen, content.Repository, s.options.Links.Lifetime
	if grant.Lifetime == 0 {
		grant.Lifetime = defaultLinkLifetime
	}
	token, link, err := s.options.Links.Authority.Mint(grant)
	if err != nil {
		return "", links.Link{}, fmt.Errorf("making a link: %w", err)
	}
	return s.options.Links.Base.URL(token, content.FrozenName), link, nil
}

// httpMeta are the members of _meta that give a content's httpUrl (SEP-2166),
// if it has one: only what resources/stream serves as well does.
func (s *Server) httpMeta(content *Content) map[string]any {
	if s.options.Links.Authority == nil || !content.Streamable {
		return nil
	}
	url, link, err := s.link(content, links.Grant{Kind: links.HTTP})
	if err != nil {
		s.logger.Debug("a resource is shown without its httpUrl", "uri", content.URI, "error", err)
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
	Method, FileName string
	Session          string // its session id, if it has one
	Resume           string // see [links.SplitETag]
}

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
	content, err := s.openFrozen(ctx, link)
	if err != nil {
		return Linked{}, err
	}
	if content.FileName != use.FileName {
		return Linked{}, errors.Join(fmt.Errorf("file name: %w", repos.ErrNotFound), content.Close())
	}
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

// Redeem uses the link for one download, and gives what its entity tag is to be
// extended by.
func (s *Server) Redeem(ctx context.Context, l Linked) (links.Redemption, error) {
	return s.options.Links.Authority.Redeem(ctx, l.Link, l.Resume)
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

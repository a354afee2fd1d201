package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	metaDelivery        = resources.MetaPrefix + "delivery"
	metaDownload        = resources.MetaPrefix + "downloadUrl"
	metaDownloadExpires = resources.MetaPrefix + "downloadUrlExpiresAt"
	metaLocation        = resources.MetaPrefix + "contentLocation"
)

// Delivery is how resources/stream delivers bytes (SEP-2532): all but DeliveryAny are values of
// io.github.repomcp/delivery in _meta.
type Delivery string

// DeliveryAny means the bytes, or a redirect to where they are kept; as a preference it leaves the
// choice to the server.
const (
	DeliveryAny    Delivery = ""
	DeliveryDirect Delivery = "direct"
	DeliveryURL    Delivery = "downloadUrl"
	// deliveryRedirect is only declared: clients cannot ask for it.
	deliveryRedirect Delivery = "redirect"
)

// modes are the deliveries that the request's transport supports. A connection has no place for
// bytes.
func (s *Server) modes(ctx context.Context, r *Request) []Delivery {
	if !s.resources.Downloads() {
		return nil
	}
	var modes []Delivery
	if r.connection == "" {
		modes = append(modes, DeliveryDirect)
		if s.resources.Redirects() {
			modes = append(modes, deliveryRedirect)
		}
	}
	if s.resources.CanLink(ctx) {
		modes = append(modes, DeliveryURL)
	}
	return modes
}

// deliveryOf decides how a resources/stream request is answered. acceptsBytes says whether its
// Accept header admits the bytes: a client that does not say so, such as one that knows only JSON,
// never gets them.
func (s *Server) deliveryOf(ctx context.Context, r *Request, acceptsBytes bool) (Delivery, *Error) {
	asked, failure := r.delivery()
	if failure != nil {
		return "", failure
	}
	wish := cmp.Or(asked, s.options.Delivery)
	if wish == DeliveryAny && !acceptsBytes {
		wish = DeliveryURL
	}
	switch {
	case wish == DeliveryURL && !s.resources.CanLink(ctx):
		return "", r.noLinks(acceptsBytes)
	case wish != DeliveryURL && !acceptsBytes:
		return "", r.notStreamed("The Accept header admits no bytes. Send Accept: */*.", suggestAccept)
	case wish == DeliveryURL, asked == DeliveryDirect:
		return wish, nil
	default:
		return DeliveryAny, nil
	}
}

// delivery returns how the request wants its bytes.
func (r *Request) delivery() (Delivery, *Error) {
	raw, ok := r.Params.meta[metaDelivery]
	if !ok {
		return DeliveryAny, nil
	}
	delivery := Delivery(text(raw))
	if delivery != DeliveryDirect && delivery != DeliveryURL {
		failure := &Error{Reason: ReasonParams, Message: fmt.Sprintf("The member %s of params._meta must be %s or "+
			"%s.", metaDelivery, DeliveryDirect, DeliveryURL)}
		return "", failure.With(paramURI, r.Params.URI)
	}
	return delivery, nil
}

// A client without a URL can do one of these: suggestions of errors.
const (
	suggestAccept = "Accept: */*"
	suggestDirect = metaDelivery + ": " + string(DeliveryDirect)
)

// noLinks tells a client that cannot get a URL what to do instead.
func (r *Request) noLinks(acceptsBytes bool) *Error {
	const text = "This server makes no download URLs for this connection. "
	if acceptsBytes {
		return r.notStreamed(text+"Leave "+metaDelivery+" out, or ask the operator to set --public-url.", suggestDirect)
	}
	return r.notStreamed(text+"Send POST /mcp with Accept: */*, or ask the operator to set "+
		"--public-url.", suggestAccept)
}

func (r *Request) notStreamed(message, suggestion string) *Error {
	failure := &Error{Reason: ReasonNotStreamable, Message: message}
	return failure.With(paramURI, r.Params.URI).With("suggestion", suggestion)
}

// downloadResult is the result of resources/stream in the downloadUrl mode. The name of the expiry
// is that of SEP-2166.
type downloadResult struct {
	ResultType  mcp.ResultType `json:"resultType,omitempty"`
	URI         string         `json:"uri"`
	MIMEType    string         `json:"mimeType"`
	Size        *int64         `json:"size,omitempty"`
	DownloadURL string         `json:"downloadUrl"`
	ExpiresAt   string         `json:"downloadUrlExpiresAt"`
	Meta        map[string]any `json:"_meta"`
}

// link returns the result of a resources/stream request with the URL of the content.
func (s *Server) link(ctx context.Context, r *Request, look *resources.Body) (any, *Error) {
	if !s.resources.CanLink(ctx) {
		return nil, r.noLinks(false)
	}
	url, link, err := s.resources.DownloadLink(ctx, look.Found)
	switch {
	case errors.Is(err, links.ErrTooLong):
		failure := r.notStreamed("There are no download URLs of this resource. Send POST /mcp with Accept: */* and "+
			"leave "+metaDelivery+" out.", suggestAccept)
		failure.Cause = err
		return nil, failure
	case errors.Is(err, links.ErrUnavailable):
		return nil, (&Error{Reason: resources.ReasonBusy, Cause: err, Message: "Too many download URLs were made " +
			"lately. Try again in a minute, or send Accept: " +
			"*/*."}).With(paramURI, r.Params.URI).With("suggestion", suggestAccept)
	case err != nil:
		return nil, resources.Internal(err).With(paramURI, r.Params.URI)
	}
	return s.downloadResult(r, look, url, link), nil
}

// downloadResult has the members that 2026-07-28 demands of every result; mcp-go adds them to other
// results.
func (s *Server) downloadResult(r *Request, look *resources.Body, url string, link links.Link) downloadResult {
	expires := link.Expires.Format(time.RFC3339)
	result := downloadResult{
		URI: r.Params.URI, MIMEType: look.MIMEType, DownloadURL: url, ExpiresAt: expires,
		Meta: map[string]any{metaDownload: url, metaDownloadExpires: expires, metaLocation: look.Found.Frozen},
	}
	if look.Size != resources.UnknownSize {
		result.Size = &look.Size
	}
	if r.Era == ModernEra {
		result.ResultType = mcp.ResultTypeComplete
		result.Meta[mcp.MetaKeyServerInfo] = s.implementation()
	}
	return result
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

// subscribe answers resources/subscribe.
func (s *Server) subscribe(ctx context.Context, r *Request, _ mcp.SubscribeParams) (any, *Error) {
	err := s.options.Subscriptions.Subscribe(ctx, r.subscriber(ctx), r.Address, r.Params.URI)
	if err != nil && !errors.Is(err, watch.ErrForeign) { // a foreign URI never changes
		return nil, subscriptionError(err, r.Params.URI)
	}
	return &mcp.EmptyResult{}, nil
}

// unsubscribe answers resources/unsubscribe.
func (s *Server) unsubscribe(ctx context.Context, r *Request, _ mcp.UnsubscribeParams) (any, *Error) {
	s.options.Subscriptions.Unsubscribe(r.subscriber(ctx), r.Params.URI)
	return &mcp.EmptyResult{}, nil
}

// boundTexts say what a client can do at a bound of subscriptions.
var boundTexts = map[watch.Bound]string{
	watch.PerAddress: "All clients of your address together watch %d resources, which is the most for one address. " +
		"End subscriptions, or read the resource from time to time.",
	watch.PerSession: "A session may watch %d resources. End a subscription with resources/unsubscribe, or watch a " +
		"folder or the repository instead of single files.",
	watch.Total: "All clients of this server together watch %d resources, which is the most. Try again later, " +
		"or read the resource from time to time.",
}

func subscriptionError(err error, uri string) *Error {
	var bound *watch.BoundError
	switch {
	case errors.As(err, &bound):
		failure := &Error{Reason: ReasonSubscriptions, Message: fmt.Sprintf(boundTexts[bound.Bound], bound.Most)}
		return failure.With(paramURI, uri)
	case errors.Is(err, watch.ErrCatalogue):
		failure := &Error{Reason: resources.ReasonURI, Message: "The list of repositories is not subscribed to: " +
			"notifications/resources/list_changed tells when repositories come and go."}
		return failure.With(paramURI, uri)
	default:
		return resources.AsError(err, uri)
	}
}

// Listen answers a subscriptions/listen request, until ctx ends. notify writes its notifications,
// the first of which is the acknowledgement. The reply is the last message. Only a refused request
// has no notification before it.
func (s *Server) Listen(ctx context.Context, r *Request, notify func(message []byte) error) Reply {
	params, failure := parseParams[mcp.SubscriptionsListenParams](r)
	if raw := r.Params.members[paramNotifications]; failure == nil && (raw == nil || string(raw) == "null") {
		failure = wrongMember(paramNotifications, "an object")
	}
	if failure != nil {
		return r.reply(ctx, nil, failure)
	}
	s.listen(ctx, r, params.Notifications, notify)
	result := &mcp.SubscriptionsListenResult{}
	result.EnsureResultMeta().SetSubscriptionID(r.ID)
	s.complement(r, result)
	return r.reply(ctx, result, nil)
}

// listen subscribes until ctx ends, and skips what cannot be subscribed to: the acknowledgement
// lists the established subscriptions. Every message of the stream names its request.
func (s *Server) listen(
	ctx context.Context, r *Request, wanted mcp.SubscriptionFilter, notify func(message []byte) error,
) {
	session, refused := s.options.Subscriptions.Open(
		ctx, r.Address, wanted.ResourceSubscriptions, wanted.ResourcesListChanged,
	)
	defer s.options.Subscriptions.Forget(session)
	for uri, err := range refused {
		s.logger.Debug("a subscription was not established", "uri", resources.ClipLong(uri), "error", err)
	}
	established := mcp.SubscriptionFilter{
		ResourcesListChanged: wanted.ResourcesListChanged,
		ResourceSubscriptions: slices.DeleteFunc(slices.Clone(wanted.ResourceSubscriptions),
			func(uri string) bool { return refused[uri] != nil }),
	}
	meta := map[string]any{mcp.MetaKeySubscriptionID: r.ID}
	acknowledgement := notification{
		JSONRPC: mcp.JSONRPC_VERSION, Method: mcp.MethodNotificationSubscriptionsAcknowledged,
		Params: map[string]any{"notifications": established},
	}
	if acknowledgement.write(meta, notify) == nil && !established.IsEmpty() {
		events := newOutbox()
		s.options.Subscriptions.Connect(ctx, session, &watch.Stream{Send: events.put})
		events.forward(ctx, func(n notification) error { return n.write(meta, notify) }, nil, nil)
	}
}

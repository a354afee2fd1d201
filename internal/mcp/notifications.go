package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/watch"
)

// outboxLength is how many notifications wait for a client that does not read them. Later changes
// are reported once there is room.
const outboxLength = 100

// notification is a message whose answer, if any, is ignored.
type notification struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      int64          `json:"id,omitempty"` // of a ping
	Method  string         `json:"method"`
	Params  map[string]any `json:"params,omitempty"`

	number int64 // of the change that it is about; 0: none
}

// outbox has the notifications that wait to be written to one client.
type outbox chan notification

func newOutbox() outbox { return make(outbox, outboxLength) }

// errFull says that the client has not read earlier notifications.
var errFull = errors.New("the client does not read its notifications")

// put implements Send of [watch.Stream].
func (o outbox) put(change watch.Change) error {
	n := notification{
		JSONRPC: mcp.JSONRPC_VERSION, Method: string(mcp.MethodNotificationResourcesListChanged), number: change.Number,
	}
	if change.URI != "" {
		n.Method, n.Params = mcp.MethodNotificationResourceUpdated, map[string]any{paramURI: change.URI}
	}
	select {
	case o <- n:
		return nil
	default:
		return errFull
	}
}

// forward passes notifications to write until ctx ends or write fails. At each tick it passes a ping,
// which keeps a stream open through proxies; ticks may be nil.
func (o outbox) forward(
	ctx context.Context, write func(notification) error, ticks <-chan time.Time, pings *atomic.Int64,
) {
	for {
		var n notification
		select {
		case <-ctx.Done():
			return
		case n = <-o:
		case <-ticks:
			n = notification{JSONRPC: mcp.JSONRPC_VERSION, ID: pings.Add(1), Method: MethodPing}
		}
		if write(n) != nil {
			return
		}
	}
}

// write encodes a notification, with the meta in it.
func (n notification) write(meta map[string]any, notify func(message []byte) error) error {
	if meta != nil {
		params := map[string]any{paramMeta: meta}
		maps.Copy(params, n.Params)
		n.Params = params
	}
	message, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return notify(message)
}

// subscriberOf returns the owner of a session's subscriptions. It differs for each principal: a
// client that has found out another client's session id gets none of its notifications.
func subscriberOf(ctx context.Context, session string) string {
	return access.PrincipalOf(ctx).ID + " " + session
}

func (r *Request) subscriber(ctx context.Context) string {
	if r.Session == "" {
		return r.connection
	}
	return subscriberOf(ctx, r.Session)
}

// Events is the event stream of a session.
type Events struct {
	server  *Server
	session string // from subscriberOf
	stream  *watch.Stream
	outbox  outbox
}

// OpenEvents begins the event stream of a session. Close must follow. The stream is to end when
// replaced is called, which must not block: a session has one stream, and its client has opened another.
// lastEvent is the value of [HeaderEventID].
func (s *Server) OpenEvents(ctx context.Context, session, lastEvent string, replaced func()) *Events {
	e := &Events{server: s, session: subscriberOf(ctx, session), outbox: newOutbox()}
	seen, _ := strconv.ParseInt(lastEvent, 10, 64) // an id that is none of ours is like none
	e.stream = &watch.Stream{Send: e.outbox.put, Replaced: replaced, Seen: seen}
	s.options.Subscriptions.Connect(ctx, e.session, e.stream)
	return e
}

// Close ends the stream. The session's subscriptions stay for a while.
func (e *Events) Close() { e.server.options.Subscriptions.Disconnect(e.session, e.stream) }

// Run writes notifications with their event ids, and pings without one (0) at intervals, until ctx ends or a
// write fails.
func (e *Events) Run(ctx context.Context, write func(id int64, message []byte) error) {
	ticker := time.NewTicker(e.server.options.Heartbeat)
	defer ticker.Stop()
	e.outbox.forward(ctx, func(n notification) error {
		return n.write(nil, func(message []byte) error { return write(n.number, message) })
	}, ticker.C, &e.server.pings)
}

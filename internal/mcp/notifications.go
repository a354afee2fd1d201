package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
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

// OpenEvents begins the event stream of the session of a request. Close must follow. The stream is to end when
// replaced is called, which must not block: a session has one stream, and its client has opened another.
// lastEvent is the value of [HeaderEventID].
func (s *Server) OpenEvents(ctx context.Context, r *Request, lastEvent string, replaced func()) *Events {
	e := &Events{server: s, session: r.subscriber(ctx), outbox: newOutbox()}
	last := parseEventID(lastEvent)
	e.stream = &watch.Stream{
		Send: e.outbox.put, Replaced: replaced, Seen: last.number,
		Resumes: lastEvent != "", Watched: last.watched, Address: r.Address,
	}
	s.options.Subscriptions.Connect(ctx, e.session, e.stream)
	return e
}

// Close ends the stream. The session's subscriptions stay for a while.
func (e *Events) Close() { e.server.options.Subscriptions.Disconnect(e.session, e.stream) }

// Run writes notifications, and pings at intervals, with the ids of their events, until ctx ends or a write fails.
func (e *Events) Run(ctx context.Context, write func(id string, message []byte) error) {
	ticker := time.NewTicker(e.server.options.Heartbeat)
	defer ticker.Stop()
	id := eventID{number: e.stream.Seen}
	e.outbox.forward(ctx, func(n notification) error {
		id.number = max(id.number, n.number)
		id.watched = e.server.options.Subscriptions.Watched(e.session)
		return n.write(nil, func(message []byte) error { return write(id.String(), message) })
	}, ticker.C, &e.server.pings)
}

// eventID is the id of an event. It has all that another server needs to go on with the stream, or this one after a
// restart: sessions are kept nowhere.
type eventID struct {
	number  int64    // of the last change that the client was notified of; 0: none
	watched []string // the resources that the session watches
}

// maxWatchedBytes bounds the resources in an id, which clients send back in a header: proxies take 8 KiB of these. It
// is enough for some sixty resources; those that do not fit are left out.
const maxWatchedBytes = 3 << 10

// String writes the number, and the URIs, one to a line, in base64.
func (id eventID) String() string {
	var list []byte
	for _, uri := range id.watched {
		if len(list)+len(uri) < maxWatchedBytes && !strings.Contains(uri, "\n") {
			list = append(append(list, uri...), '\n')
		}
	}
	text := strconv.FormatInt(id.number, 10)
	if len(list) > 0 {
		text += "." + base64.RawURLEncoding.EncodeToString(list)
	}
	return text
}

// parseEventID reads an id. One that is none of ours is like none.
func parseEventID(text string) eventID {
	number, list, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	content, failed := base64.RawURLEncoding.DecodeString(list)
	if err != nil || failed != nil || len(content) > maxWatchedBytes {
		return eventID{}
	}
	return eventID{n, strings.FieldsFunc(string(content), func(r rune) bool { return r == '\n' })}
}

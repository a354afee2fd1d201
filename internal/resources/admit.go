package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// MethodStream is the method of SEP-2532.
const MethodStream = "resources/stream"

// Request is a message that passed the checks that all methods share.
type Request struct {
	Message
	Era Era
	// Version of the protocol; "" when the client did not say.
	Version string
	Stream  StreamCapability

	failure *Error // what a handler or hook of the method found
	account *Account

	// events of a subscriptions/listen request: closed once the first was
	// written.
	events    chan struct{}
	firstOnce sync.Once
}

// EventSent notes that an event of the reply was written.
func (r *Request) EventSent() { r.firstOnce.Do(func() { close(r.events) }) }

// ackTimeout bounds how long the result of a subscription waits for its
// acknowledgement; a client that does not read is dropped later than that.
const ackTimeout = 10 * time.Second

// awaitAck holds the result of subscriptions/listen back until the
// acknowledgement was written. mcp-go hands that to another goroutine, which
// drops it when the result is there first: when nothing could be subscribed to,
// it is there at once.
func awaitAck(ctx context.Context) {
	request, ok := ctx.Value(requestKey{}).(*Request)
	if !ok {
		return
	}
	select {
	case <-request.events:
	case <-ctx.Done():
	case <-time.After(ackTimeout):
	}
}

// ID of the session header, as [Server.Admit] reads it.
const (
	HeaderSession  = mcp.HeaderSessionID
	HeaderVersion  = mcp.HeaderProtocolVersion
	HeaderEventID  = mcp.HeaderLastEventID
	HeaderMethod   = mcp.HeaderMethod
	HeaderName     = mcp.HeaderName
	methodInit     = string(mcp.MethodInitialize)
	methodRead     = string(mcp.MethodResourcesRead)
	methodDiscover = string(mcp.MethodServerDiscover)
)

// SessionState is what a request's session header turned out to be.
type SessionState int

// The states.
const (
	SessionPresent SessionState = iota // or not needed
	SessionMissing
	SessionUnknown
)

// Admit decides the era of a message and applies the rules of its transport:
// versions, required headers, sessions. The rules for resources/stream are by
// construction those of every other method. header returns a header's value,
// or "".
func (s *Server) Admit(message Message, header func(string) string) (*Request, SessionState, *Error) {
	meta := readMeta(message.Params)
	r := &Request{Message: message, Version: meta.Version, events: make(chan struct{})}
	if mcp.IsModernProtocol(meta.Version) || mcp.IsModernProtocol(header(HeaderVersion)) {
		r.Era = ModernEra
		r.Stream = parseStreamCapability(meta.Capabilities)
		if failure := checkModern(message, meta, header); failure != nil {
			return r, SessionPresent, failure
		}
		return r, SessionPresent, checkParams(message, r.Era)
	}
	r.Version = header(HeaderVersion)
	if message.Method == methodInit {
		return r, SessionPresent, checkParams(message, r.Era)
	}
	id := header(HeaderSession)
	if id == "" {
		return r, SessionMissing, nil
	}
	claims, err := s.sessions.Parse(id)
	if err != nil {
		return r, SessionUnknown, nil
	}
	r.Stream = claims.Stream
	if r.Version == "" {
		r.Version = claims.Version
	}
	if failure := checkVersion(r.Version); failure != nil {
		return r, SessionPresent, failure
	}
	return r, SessionPresent, checkParams(message, r.Era)
}

// exactParams are the params that are read here and, by a reader that takes
// upper and lower case for the same, in mcp-go. Another spelling would say one
// thing to the one and another thing to the other.
var exactParams = []string{paramMeta, paramURI, "protocolVersion", "capabilities"}

const (
	paramMeta = "_meta"
	paramURI  = "uri"
)

// methodsOfURI are, by era, the methods about the resource that params.uri
// names. 2026-07-28 has no methods to subscribe: there they are unknown, with
// whatever params.
var methodsOfURI = map[Era][]string{
	SessionEra: {MethodStream, methodRead, string(mcp.MethodResourcesSubscribe), string(mcp.MethodResourcesUnsubscribe)},
	ModernEra:  {MethodStream, methodRead},
}

// checkParams applies the rules for params that methods share, so that the
// same mistake gets the same answer whoever serves the method.
func checkParams(message Message, era Era) *Error {
	if !message.IsRequest() {
		return nil
	}
	var params map[string]json.RawMessage
	if message.Params != nil && json.Unmarshal(message.Params, &params) != nil {
		return &Error{Reason: ReasonParams, Message: "The member params must be an object."}
	}
	for name := range params {
		for _, exact := range exactParams {
			if name != exact && strings.EqualFold(name, exact) {
				return &Error{Reason: ReasonParams, Message: fmt.Sprintf("A member of params is spelled like %q in another case. Names are compared exactly.", exact)}
			}
		}
	}
	if meta, ok := params[paramMeta]; ok && meta[0] != '{' {
		return &Error{Reason: ReasonParams, Message: "The member _meta of params must be an object."}
	}
	if !slices.Contains(methodsOfURI[era], message.Method) {
		return nil
	}
	var uri string
	if json.Unmarshal(params[paramURI], &uri) != nil || uri == "" {
		return &Error{Reason: ReasonParams, Message: `The member "uri" of params must be the URI of a resource.`}
	}
	if len(uri) > maxURIBytes {
		return asError(fmt.Errorf("%w: longer than %d bytes", errURI, maxURIBytes), uri)
	}
	return nil
}

// allowsBatch reports whether a version of the protocol has batches: only
// 2025-03-26 does, which a client that names no version is taken for.
func allowsBatch(version string) bool {
	return version == "" || version == mcp.ProtocolVersion20250326
}

// IsModern reports whether a version is without sessions.
func IsModern(version string) bool { return mcp.IsModernProtocol(version) }

func checkVersion(version string) *Error {
	if mcp.IsValidProtocolVersion(version) {
		return nil
	}
	return &Error{
		Reason:  ReasonVersion,
		Message: fmt.Sprintf("Protocol version %q is not supported. Use one of %q.", clip(version), mcp.ValidProtocolVersions),
		Data:    map[string]any{"supported": mcp.ValidProtocolVersions, "requested": clip(version)},
	}
}

// clip bounds a text of the client that an error repeats.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// requestMeta is what a modern request says of itself.
type requestMeta struct {
	Version      string          `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
}

func readMeta(params json.RawMessage) requestMeta {
	var members map[string]json.RawMessage
	var meta map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil || json.Unmarshal(members["_meta"], &meta) != nil {
		return requestMeta{}
	}
	var m requestMeta
	_ = json.Unmarshal(meta[mcp.MetaKeyProtocolVersion], &m.Version) // another type is no version
	m.Capabilities = meta[mcp.MetaKeyClientCapabilities]
	return m
}

// checkModern applies the rules of 2026-07-28 for requests over HTTP, in the
// order in which mcp-go applies them.
func checkModern(message Message, meta requestMeta, header func(string) string) *Error {
	version := header(HeaderVersion)
	switch {
	case header(HeaderEventID) != "":
		return mismatch("Last-Event-ID has no meaning since 2026-07-28: streams are not resumable. Send the request again with a new id.")
	case version == "":
		return mismatch("The header MCP-Protocol-Version is required. Send the version of _meta there as well.")
	case meta.Version == "":
		return &Error{Reason: ReasonParams, Message: "The member " + mcp.MetaKeyProtocolVersion + " of params._meta is required."}
	case version != meta.Version:
		return mismatch(fmt.Sprintf("The header MCP-Protocol-Version %q differs from %q in params._meta.", clip(version), clip(meta.Version)))
	}
	if failure := checkModernBody(message, meta); failure != nil || message.ID == nil {
		return failure
	}
	return checkStandardHeaders(message, header)
}

// checkModernBody applies those of the rules that are not about headers.
func checkModernBody(message Message, meta requestMeta) *Error {
	if err := checkVersion(meta.Version); err != nil {
		return err
	}
	if message.IsReply() {
		return invalidRequest("Replies of clients are not part of 2026-07-28.")
	}
	if message.ID != nil && (len(meta.Capabilities) == 0 || meta.Capabilities[0] != '{') {
		return &Error{Reason: ReasonParams, Message: "The member " + mcp.MetaKeyClientCapabilities + " of params._meta is required; {} declares none."}
	}
	return nil
}

func mismatch(text string) *Error { return &Error{Reason: ReasonHeader, Message: text} }

// checkStandardHeaders compares Mcp-Method and Mcp-Name with the body. The
// name of a stream is its URI, as that of a read; since the header is not
// required for a method that its specification does not know, it may be left
// out.
func checkStandardHeaders(message Message, header func(string) string) *Error {
	method := mcp.MCPMethod(message.Method)
	if message.Method == MethodStream {
		if header(HeaderMethod) != MethodStream {
			return mismatch("The header Mcp-Method is required and must be the method of the body.")
		}
		if header(HeaderName) == "" {
			return nil
		}
		inner := header
		method = mcp.MethodResourcesRead
		header = func(name string) string {
			if name == HeaderMethod {
				return methodRead
			}
			return inner(name)
		}
	}
	if err := mcp.ValidateStandardHeaders(header, mcp.ProtocolVersion20260728, method, message.Params); err != nil {
		return mismatch("The headers Mcp-Method and Mcp-Name must be there and say what the body says: " + clipLong(err.Error()) + ".")
	}
	return nil
}

func clipLong(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

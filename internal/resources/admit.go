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
	// Session is the id of the HTTP session that the request belongs to; "" in
	// the modern era, which has none, before initialize and without HTTP.
	Session string
	// Address is that of the client, without a port; "" where it is not known.
	// The clients of one address share what it may have.
	Address string

	failure *Error   // what a handler or hook of the method found
	tools   []string // that the client has chosen; nil are all
	account *Account

	// events of a subscriptions/listen request: closed once the first was
	// written.
	events    chan struct{}
	firstOnce sync.Once
}

// eventSent notes that an event of the reply was written.
func (r *Request) eventSent() { r.firstOnce.Do(func() { close(r.events) }) }

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
	r, state, failure := s.admit(message, header)
	return r, state, r.About(failure)
}

// About adds the URI that the request is about to a failure that does not name
// it. The failure may be nil.
func (r *Request) About(failure *Error) *Error {
	if failure == nil || failure.Data[paramURI] != nil || !slices.Contains(methodsOfURI[r.Era], r.Method) {
		return failure
	}
	var uri string
	if json.Unmarshal(object(r.Params)[paramURI], &uri) != nil || uri == "" || len(uri) > maxURIBytes {
		return failure
	}
	return failure.with(paramURI, uri)
}

func (s *Server) admit(message Message, header func(string) string) (*Request, SessionState, *Error) {
	meta := readMeta(message.Params)
	r := &Request{Message: message, Version: meta.Version, events: make(chan struct{})}
	if mcp.IsModernProtocol(meta.Version) || mcp.IsModernProtocol(header(HeaderVersion)) {
		r.Era = ModernEra
		r.Stream = parseStreamCapability(meta.Capabilities)
		if failure := checkModern(message, meta, header); failure != nil {
			return r, SessionPresent, failure
		}
		return r, SessionPresent, s.checkMessage(r, header)
	}
	r.Version = header(HeaderVersion)
	if message.Method == methodInit {
		return r, SessionPresent, s.checkMessage(r, header)
	}
	id := header(HeaderSession)
	if id == "" {
		return r, SessionMissing, nil
	}
	claims, err := s.sessions.Parse(id)
	if err != nil {
		return r, SessionUnknown, nil
	}
	r.Session, r.Stream = id, claims.Stream
	if r.Version == "" {
		r.Version = claims.Version
	}
	if failure := checkVersion(r.Version); failure != nil {
		return r, SessionPresent, failure
	}
	return r, SessionPresent, s.checkMessage(r, header)
}

// checkMessage applies the rules that do not depend on the transport; header may
// be nil.
func (s *Server) checkMessage(r *Request, header func(string) string) *Error {
	if failure := checkParams(r.Message, r.Era); failure != nil {
		return failure
	}
	return s.admitNamed(r, header)
}

// exactParams are the params that are read here and, by a reader that takes
// upper and lower case for the same, in mcp-go. Another spelling would say one
// thing to the one and another thing to the other.
var exactParams = []string{paramMeta, paramURI, "protocolVersion", "capabilities"}

const (
	paramMeta = "_meta"
	paramURI  = "uri"
)

// keptParams bound the params of methods, in bytes, that may be kept for as long
// as a connection lasts: the client's description, which usually has a few
// hundred bytes, and the URIs that one stream watches.
var keptParams = map[string]struct {
	most   int
	advice string
}{
	methodInit:   {16 << 10, "Shorten clientInfo and capabilities."},
	methodListen: {128 << 10, "Split the subscription into several."},
}

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
	if kept := keptParams[message.Method]; kept.most > 0 && len(message.Params) > kept.most {
		return &Error{Reason: ReasonParams, Message: fmt.Sprintf("The params of %s have more than %d bytes. %s", message.Method, kept.most, kept.advice)}
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

// allowsBatch reports whether a version of the protocol has batches: 2025-03-26
// does, which a client that names no version is taken for, and 2024-11-05, whose
// messages are those of JSON-RPC 2.0 without an exception. 2025-06-18 removed
// them.
func allowsBatch(version string) bool {
	return version == "" || version == mcp.ProtocolVersion20241105 || version == mcp.ProtocolVersion20250326
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

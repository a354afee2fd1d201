package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// Request is a message that passed the checks that all methods share.
type Request struct {
	Message
	Era Era
	// Version of the protocol; "" when the client did not say.
	Version string
	Stream  TransferCapability
	Binary  TransferCapability
	// Session is the id of the HTTP session that the request belongs to. It is "" in the modern
	// era, which has no sessions, before initialize and without HTTP.
	Session string
	// Address is that of the client, without a port; "" if unknown. The clients of one address
	// share its limits.
	Address string
	// Mode says how the request's transport can carry bytes beside the reply; "" is a transport
	// that carries messages alone. AcceptsBinary says that this request admits such a reply.
	// Transports set both.
	Mode          binary.Mode
	AcceptsBinary bool

	connection string   // owner of its subscriptions where there is no session
	tools      []string // chosen by the client; nil are all
	begun      *Claims  // of the session that the request began
}

// The headers that admission and transports read.
const (
	HeaderSession = mcp.HeaderSessionID
	HeaderVersion = mcp.HeaderProtocolVersion
	HeaderEventID = mcp.HeaderLastEventID
	HeaderMethod  = mcp.HeaderMethod
	HeaderName    = mcp.HeaderName
)

// SessionState is the result of looking up a request's session header.
type SessionState int

// The states.
const (
	SessionPresent SessionState = iota // or not needed
	SessionMissing
	SessionUnknown
)

// headers returns the value of a header, or "". It is nil for messages without headers; the rules
// about headers are then skipped.
type headers func(name string) string

func (h headers) get(name string) string {
	if h == nil {
		return ""
	}
	return h(name)
}

// Admit decides the era of a message that came over HTTP and applies the rules of its transport:
// versions, required headers, sessions. resources/stream has the same rules as every other method.
// header returns a header's value, or "". A session belongs to the context's principal.
func (s *Server) Admit(
	ctx context.Context, message Message, header func(string) string,
) (*Request, SessionState, *Error) {
	r := &Request{Message: message, tools: splitNames(header(HeaderTools))}
	state, failure := s.admit(r, header, func() (SessionState, *Error) { return s.enterSession(ctx, r, header) })
	return r, state, r.About(failure)
}

// admit applies the rules of both eras to a message. session looks up the session of a message of
// the older era.
func (s *Server) admit(r *Request, header headers, session func() (SessionState, *Error)) (SessionState, *Error) {
	if r.Era = eraOf(r.Message, header); r.Era == ModernEra {
		r.Version = cmp.Or(r.Params.Version, header.get(HeaderVersion))
		r.Stream, r.Binary = parseStreamCapability(r.Params.Capabilities), parseBinaryCapability(r.Params.Capabilities)
		if failure := checkModern(r.Message, header); failure != nil {
			return SessionPresent, failure
		}
	} else if state, failure := session(); state != SessionPresent || failure != nil {
		return state, failure
	}
	if failure := checkParams(r.Message, r.Era); failure != nil {
		return SessionPresent, failure
	}
	return SessionPresent, s.checkName(r)
}

// eraOf decides the era of a message. Every version without sessions belongs to the modern era, in
// which each message names its version: an unknown one is answered with the supported ones. The
// version of a session is negotiated by initialize, whatever its header says.
func eraOf(message Message, header headers) Era {
	_, named := message.Params.meta[mcp.MetaKeyProtocolVersion]
	version, stated := message.Params.Version, header.get(HeaderVersion)
	switch {
	case IsModern(version) || IsModern(stated):
		return ModernEra
	case message.Method == MethodInitialize:
		return SessionEra
	case named && !slices.Contains(Versions(), version) || stated != "" && !slices.Contains(Versions(), stated):
		return ModernEra
	default:
		return SessionEra
	}
}

// enterSession finds the session that a request over HTTP names.
func (s *Server) enterSession(ctx context.Context, r *Request, header headers) (SessionState, *Error) {
	r.Version = header(HeaderVersion)
	if r.Method == MethodInitialize {
		return SessionPresent, nil
	}
	id := header(HeaderSession)
	if id == "" {
		return SessionMissing, nil
	}
	claims, err := s.options.Sessions.Parse(id, access.PrincipalOf(ctx).ID)
	if err != nil {
		return SessionUnknown, nil
	}
	r.Session, r.Stream, r.Binary = id, claims.Stream, claims.Binary
	if r.Version == "" {
		r.Version = claims.Version
	}
	return SessionPresent, checkVersion(r.Version)
}

// About adds the URI that the request is about to a failure that does not name
// it. The failure may be nil.
func (r *Request) About(failure *Error) *Error {
	uri := r.Params.URI
	if failure == nil || failure.Data[paramURI] != nil || !slices.Contains(methodsOfURI[r.Era], r.Method) ||
		uri == "" || len(uri) > resources.MaxURIBytes {
		return failure
	}
	return failure.With(paramURI, uri)
}

// AdmitBatched returns why a request cannot be part of a batch, or nil.
func (r *Request) AdmitBatched() *Error {
	switch {
	case r.Era == ModernEra || !allowsBatch(r.Version):
		return &Error{Reason: ReasonRequest, Message: "Batches exist in the protocol versions 2024-11-05 and " +
			"2025-03-26 only. Send one message per request."}
	case r.Method == MethodStream || r.Method == MethodInitialize:
		return &Error{Reason: ReasonRequest, Message: "initialize and resources/stream cannot be part of a batch."}
	}
	return nil
}

// IsListen reports whether the request is a stream of notifications, which lasts until it is
// cancelled.
func (r *Request) IsListen() bool { return r.Era == ModernEra && r.Method == MethodListen }

// exactParams are params that are read here, or by mcp-go, which ignores the case of letters. Two readers would
// disagree about another spelling, and of two spellings one would be passed over.
var exactParams = []string{
	paramMeta, paramURI, paramVersion, paramCapabilities, "clientInfo", "name", "arguments", "cursor", "level", "ref",
	"argument", "context",
}

// keptParams bound the params, in bytes, that are kept as long as a connection lasts: the client's
// description, usually a few hundred bytes, and the URIs that one stream watches.
var keptParams = map[string]struct {
	most   int
	advice string
}{
	MethodInitialize: {16 << 10, "Shorten clientInfo and capabilities."},
	MethodListen:     {128 << 10, "Split the subscription into several."},
}

// methodsOfURI are, by era, the methods about the resource that params.uri names. 2026-07-28 has no
// methods to subscribe; there they are unknown, whatever their params.
var methodsOfURI = map[Era][]string{
	SessionEra: {
		MethodStream, MethodRead, MethodSkillsGet, MethodReadDirectory, MethodSubscribe, MethodUnsubscribe,
	},
	ModernEra: {MethodStream, MethodRead, MethodSkillsGet, MethodReadDirectory},
}

// checkParams applies the rules for params that methods share, so that the same mistake gets the
// same answer in every method.
func checkParams(message Message, era Era) *Error {
	if !message.IsRequest() {
		return nil
	}
	params := message.Params
	if kept := keptParams[message.Method]; kept.most > 0 && len(params.Raw) > kept.most {
		return &Error{Reason: ReasonParams, Message: fmt.Sprintf("The params of %s have more than %d bytes. "+
			"%s", message.Method, kept.most, kept.advice)}
	}
	for name := range params.members {
		for _, exact := range exactParams {
			if name != exact && strings.EqualFold(name, exact) {
				return &Error{Reason: ReasonParams, Message: fmt.Sprintf("A member of params is spelled like %q in "+
					"another case. Names are compared exactly.", exact)}
			}
		}
	}
	switch {
	case params.members[paramMeta] != nil && params.meta == nil:
		return wrongMember(paramMeta, "an object")
	case !slices.Contains(methodsOfURI[era], message.Method):
		return nil
	case params.URI == "":
		return wrongMember(paramURI, "the URI of a resource")
	case len(params.URI) > resources.MaxURIBytes:
		return resources.AsError(fmt.Errorf("%w: longer than %d "+
			"bytes", resources.ErrURI, resources.MaxURIBytes), params.URI)
	}
	return nil
}

// allowsBatch reports whether a version of the protocol has batches: 2025-03-26, which is assumed
// for a client that names no version, and 2024-11-05, which uses JSON-RPC 2.0 without exceptions.
// 2025-06-18 removed batches.
func allowsBatch(version string) bool {
	return version == "" || version == mcp.ProtocolVersion20241105 || version == mcp.ProtocolVersion20250326
}

func checkVersion(version string) *Error {
	if slices.Contains(Versions(), version) {
		return nil
	}
	return &Error{
		Reason: ReasonVersion,
		Message: fmt.Sprintf("Protocol version %q is not supported. Use one of "+
			"%q.", resources.Clip(version), Versions()),
		Data: map[string]any{"supported": Versions(), "requested": resources.Clip(version)},
	}
}

// checkModern applies the rules of 2026-07-28, in the same order as mcp-go.
func checkModern(message Message, header headers) *Error {
	if header == nil {
		return checkModernBody(message)
	}
	version, named := header(HeaderVersion), message.Params.Version
	switch {
	case version == "":
		return mismatch("The header MCP-Protocol-Version is required. Send the version of _meta there as well.")
	case named == "":
		return cmp.Or(checkVersion(version), unversioned())
	case version != named:
		return mismatch(fmt.Sprintf("The header MCP-Protocol-Version %q differs from %q in "+
			"params._meta.", resources.Clip(version), resources.Clip(named)))
	}
	if failure := checkModernBody(message); failure != nil || message.ID == nil {
		return failure
	}
	return checkStandardHeaders(message, header)
}

// unversioned refuses a message without a version, or with one that is no string.
func unversioned() *Error {
	return &Error{Reason: ReasonParams, Message: "The member " + mcp.MetaKeyProtocolVersion + " of params._meta is " +
		"required, and must be a string."}
}

// checkModernBody applies the rules that are not about headers.
func checkModernBody(message Message) *Error {
	if message.Params.Version == "" {
		return unversioned()
	}
	if failure := checkVersion(message.Params.Version); failure != nil {
		return failure
	}
	if message.IsReply() {
		return invalidRequest("Replies of clients are not part of 2026-07-28.")
	}
	if message.ID == nil {
		return nil
	}
	return checkMeta(message.Params)
}

// checkMeta applies the rules for _meta in requests of 2026-07-28.
func checkMeta(params Params) *Error {
	if capabilities := params.Capabilities; len(capabilities) == 0 || capabilities[0] != '{' {
		return &Error{Reason: ReasonParams, Message: "The member " + mcp.MetaKeyClientCapabilities + " of " +
			"params._meta is required, and must be an object; {} declares none."}
	}
	if err := json.Unmarshal(params.Capabilities, new(mcp.ClientCapabilities)); err != nil {
		return wrongType(params.Capabilities, err, paramMeta, mcp.MetaKeyClientCapabilities)
	}
	if level, ok := params.meta[mcp.MetaKeyLogLevel]; ok {
		return checkLevel(paramMeta+"."+mcp.MetaKeyLogLevel, mcp.LoggingLevel(text(level)))
	}
	return nil
}

// mcp-go makes the decisions below, about versions and headers. A test covers each property of
// mcp-go that is needed but not documented.

// Versions of the protocol that are served, the newest first.
func Versions() []string { return mcp.ValidProtocolVersions }

// IsModern reports whether a version has no sessions.
func IsModern(version string) bool { return mcp.IsModernProtocol(version) }

// checkStandardHeaders compares Mcp-Method and Mcp-Name with the body. The name of a stream is its
// URI, like that of a read. The header may be left out for a stream, since the specification of
// that method does not know the header.
func checkStandardHeaders(message Message, header headers) *Error {
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
				return MethodRead
			}
			return inner(name)
		}
	}
	if err := mcp.ValidateStandardHeaders(header, mcp.ProtocolVersion20260728, method, message.Params.Raw); err != nil {
		return mismatch("The headers Mcp-Method and Mcp-Name must be there and say what the body " +
			"says: " + resources.ClipLong(err.Error()) + ".")
	}
	return nil
}

package mcp

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// ExtensionStream is the identifier of resources/stream among the extensions (SEP-2133), where
// typed clients keep it.
const ExtensionStream = resources.MetaPrefix + "resource-stream"

// capabilities are the server's.
type capabilities struct {
	BinaryTransfer *binaryCapability    `json:"binaryTransfer,omitempty"` // the place that the RFC defines
	Completions    struct{}             `json:"completions"`
	Extensions     map[string]any       `json:"extensions,omitempty"`
	Prompts        struct{}             `json:"prompts"`
	Resources      resourceCapabilities `json:"resources"`
	Tools          struct{}             `json:"tools"`
}

type resourceCapabilities struct {
	ListChanged bool `json:"listChanged"`
	Stream      bool `json:"stream,omitempty"` // the place that SEP-2532 defines
	Subscribe   bool `json:"subscribe"`
}

// streamExtension says how resources/stream delivers.
type streamExtension struct {
	Method string     `json:"method"`
	Modes  []Delivery `json:"modes"`
}

// capabilities omits resources/stream and binary transfer where the request's transport cannot
// deliver them.
func (s *Server) capabilities(ctx context.Context, r *Request) capabilities {
	c := capabilities{
		Resources:  resourceCapabilities{ListChanged: true, Subscribe: true},
		Extensions: map[string]any{ExtensionSkills: skillsExtension{DirectoryRead: true}},
	}
	if modes := s.modes(ctx, r); modes != nil {
		c.Resources.Stream = true
		c.Extensions[ExtensionStream] = streamExtension{MethodStream, modes}
	}
	if c.BinaryTransfer = s.binaryCapability(r); c.BinaryTransfer != nil {
		c.Extensions[ExtensionBinary] = c.BinaryTransfer
	}
	return c
}

// initialize answers the request that begins a session.
func (s *Server) initialize(ctx context.Context, r *Request, params mcp.InitializeParams) (any, *Error) {
	claims := Claims{
		// A client without a version gets the latest one, as does a client with an unknown version.
		Version: mcp.NegotiateLegacyVersion(cmp.Or(params.ProtocolVersion, mcp.LATEST_LEGACY_PROTOCOL_VERSION)),
		Stream:  parseStreamCapability(r.Params.members[paramCapabilities]),
		Binary:  parseBinaryCapability(r.Params.members[paramCapabilities]),
	}
	r.begun = &claims
	return members{
		"protocolVersion": claims.Version, "capabilities": s.capabilities(ctx, r), "serverInfo": s.implementation(),
		"instructions": s.instructions(),
	}, nil
}

// discover answers server/discover, the modern era's replacement for initialize.
func (s *Server) discover(ctx context.Context, r *Request, _ struct{}) (any, *Error) {
	return members{
		"supportedVersions": Versions(), "capabilities": s.capabilities(ctx, r), "instructions": s.instructions(),
	}, nil
}

// TransferCapability is a client capability for bytes: resourceStreaming of SEP-2532, or
// binaryTransfer of the Binary Transfer RFC.
type TransferCapability struct {
	Declared bool `json:"d,omitempty"`
	// Preferred is the only mode of binaryTransfer that the client wants; "" leaves it to the
	// transport.
	Preferred binary.Mode `json:"p,omitempty"`
	// Extended says that the client supports this server's extension of binary transfer: see
	// [ExtensionBinary].
	Extended bool `json:"e,omitempty"`
	// MaxSize is the largest stream in bytes that the client accepts; 0 means any.
	MaxSize int64 `json:"m,omitempty"`
	// BadSize says that the size is present but invalid. Streams are then refused: an unreadable
	// limit must not be treated as no limit.
	BadSize bool `json:"b,omitempty"`
}

// These members of capabilities have the size of the largest stream.
const (
	maxStreamSize = "maxStreamSize"
	maxBinarySize = "maxBinarySize"
)

// parseStreamCapability reads resourceStreaming from raw client capabilities.
func parseStreamCapability(capabilities json.RawMessage) (c TransferCapability) {
	settings := declared(capabilities, paramStreaming, ExtensionStream)
	c.Declared = settings != nil
	c.MaxSize, c.BadSize = declaredSize(settings, maxStreamSize)
	return c
}

// badSize refuses a stream to a client whose declared size is invalid.
func badSize(capability, member string) *Error {
	return &Error{Reason: ReasonParams, Message: "The " + member + " of the client capability " + capability +
		" must be a number of bytes, 1 or more. Leave it out to accept any size."}
}

// declared returns the settings of a draft's capability, or nil if it is not declared. mcp-go's
// type for capabilities drops unknown members. Typed clients can only send it among experimental
// capabilities or extensions, so these are searched as well.
func declared(capabilities json.RawMessage, name, extension string) map[string]json.RawMessage {
	all := object(capabilities)
	for _, raw := range []json.RawMessage{
		all[name], object(all["experimental"])[name], object(all["extensions"])[extension],
	} {
		if settings := object(raw); settings != nil {
			return settings
		}
	}
	return nil
}

// declaredSize reads a number of bytes, 1 or more, from settings: 0 if it is missing or larger than
// any stream; bad reports any other value.
func declaredSize(settings map[string]json.RawMessage, name string) (size int64, bad bool) {
	raw, ok := settings[name]
	if !ok {
		return 0, false
	}
	var number *float64
	if json.Unmarshal(raw, &number) != nil || number != nil && *number < 1 {
		return 0, true
	}
	if number == nil || *number >= 1<<62 {
		return 0, false
	}
	return int64(*number), false
}

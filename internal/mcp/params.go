package mcp

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// The members of params that are read by name.
const (
	paramMeta         = "_meta"
	paramURI          = "uri"
	paramVersion      = "protocolVersion"
	paramCapabilities = "capabilities"
	paramCancelled    = "requestId"
	paramTransfer     = "transferMode"
	paramStreaming    = "resourceStreaming" // of capabilities
	paramBinary       = "binaryTransfer"    // of capabilities
)

// Params are those of a message, with what the rules for all methods ask for.
type Params struct {
	// Raw is nil when there are none.
	Raw json.RawMessage
	// URI of the resource that the message is about; "" for what is no text.
	URI string
	// Version and Capabilities are those that a request of the modern era names.
	Version      string
	Capabilities json.RawMessage

	members map[string]json.RawMessage
	meta    map[string]json.RawMessage // of _meta; nil when it is no object
}

// readParams takes an object apart, with the names of its members compared
// exactly. nil has none.
func readParams(raw json.RawMessage) Params {
	p := Params{Raw: raw, members: object(raw)}
	p.URI = text(p.members[paramURI])
	p.meta = object(p.members[paramMeta])
	p.Version, p.Capabilities = text(p.meta[mcp.MetaKeyProtocolVersion]), p.meta[mcp.MetaKeyClientCapabilities]
	return p
}

// object reads the members of a JSON object, with their names compared
// exactly; nil for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// text reads a JSON text; "" for anything else.
func text(raw json.RawMessage) (value string) {
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return value
}

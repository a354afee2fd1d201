package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxDepth bounds the nesting of a message. MCP needs fewer than ten.
	maxDepth = 64
	// maxValues bounds the values and names in a body: each costs about ten times the time and the
	// memory of its bytes. The longest reasonable message subscribes to a few thousand resources.
	maxValues = 10_000
	// maxBatch bounds the messages of a batch: each may cost as much as a separate request.
	maxBatch = 50
)

// Message is one parsed JSON-RPC message of a client.
type Message struct {
	// ID is the raw id of a request: a string or an integer. It is nil for notifications and
	// invalid requests.
	ID     json.RawMessage
	Method string
	Params Params
}

// IsRequest reports whether the message expects a reply.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsReply reports whether the message is the client's answer to a request of the server.
func (m Message) IsReply() bool { return m.Method == "" }

// ParseMessages reads a request body: one message, or a batch of them. One message that is refused has its
// id, for the reply, if that can be read.
// Anything that two JSON readers could read differently is refused: duplicate
// members, invalid UTF-8, unpaired surrogates, a byte order mark.
func ParseMessages(body []byte) (messages []Message, batch bool, err *Error) {
	switch err := checkJSON(body); {
	case errors.Is(err, errElaborate):
		return nil, false, &Error{Reason: ReasonRequest, Cause: err, Message: fmt.Sprintf("The request body has "+
			"more than %d values, or more than %d levels. Send less at a time.", maxValues, maxDepth)}
	case err != nil:
		return nil, false, &Error{Reason: ReasonParse, Cause: err, Message: "The request body is not one valid " +
			"JSON text in UTF-8 without duplicate members. Send a JSON-RPC 2.0 message."}
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); trimmed[0] != '[' {
		message, err := parseMessage(body)
		return []Message{message}, false, err
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(body, &raws); err != nil || len(raws) == 0 || len(raws) > maxBatch {
		return nil, true, &Error{Reason: ReasonRequest, Cause: err, Message: fmt.Sprintf("A batch holds 1 to %d "+
			"messages.", maxBatch)}
	}
	for _, raw := range raws {
		message, err := parseMessage(raw)
		if err != nil {
			return nil, true, err
		}
		messages = append(messages, message)
	}
	return messages, true, nil
}

// IDOf returns the id of the only message, nil if there is none.
func IDOf(messages []Message) json.RawMessage {
	if len(messages) != 1 {
		return nil
	}
	return messages[0].ID
}

// errElaborate says that a body is JSON, but larger than any sensible message.
var errElaborate = errors.New("too many values or levels")

// checkJSON reads the whole body once, strictly.
func checkJSON(body []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(body))
	for values := 1; ; values++ {
		if values > maxValues || decoder.StackDepth() > maxDepth {
			return errElaborate
		}
		if _, err := decoder.ReadToken(); err != nil {
			return err
		}
		if decoder.StackDepth() > 0 {
			continue
		}
		if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
			return errors.New("more than one JSON text")
		}
		return nil
	}
}

// parseMessage parses one message. Member names are compared exactly, as JSON demands and
// encoding/json with structs does not. One that is refused has its id, if that can be read.
func parseMessage(raw json.RawMessage) (Message, *Error) {
	members := object(raw)
	if members == nil {
		return Message{}, invalidRequest("A JSON-RPC message is an object.")
	}
	var message Message
	if id, ok := members["id"]; ok {
		if message.ID, ok = canonicalID(id); !ok {
			return Message{}, invalidRequest(fmt.Sprintf(`The member "id" must be a string or an integer, of at most `+
				`%d bytes.`, maxIDBytes))
		}
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		return message, invalidRequest(`The member "jsonrpc" must be "2.0".`)
	}
	if method, ok := members["method"]; ok {
		if err := json.Unmarshal(method, &message.Method); err != nil || message.Method == "" {
			return message, invalidRequest(`The member "method" must be a string.`)
		}
	}
	if params, ok := members["params"]; ok {
		if params[0] != '{' {
			return message, invalidRequest(`The member "params" must be an object.`)
		}
		message.Params = readParams(params)
	}
	answers := members["result"] != nil || members["error"] != nil
	if message.Method != "" && answers {
		return message, invalidRequest(`A request has no member "result" or "error".`)
	}
	if message.Method == "" && (message.ID == nil || !answers) {
		return message, invalidRequest("The message is neither a request nor a notification nor a reply.")
	}
	return message, nil
}

const (
	// maxIDBytes bounds an id, as it is written and as every reply repeats it.
	maxIDBytes = 256
	// maxFloatID is the bound below which integers are exact even if they are written with a
	// fraction or an exponent, and so are read as floating-point numbers.
	maxFloatID = 1 << 53
)

// canonicalID follows the schema of MCP: a string or an integer, never null. It returns the only
// spelling that replies use. 1.0 and 1e3 are integers, as in JSON Schema.
func canonicalID(raw json.RawMessage) (json.RawMessage, bool) {
	if len(raw) == 0 || len(raw) > maxIDBytes {
		return nil, false
	}
	if raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, false
		}
		canonical, err := json.Marshal(text)
		return canonical, err == nil && len(canonical) <= maxIDBytes
	}
	if number, ok := new(big.Int).SetString(string(raw), 10); ok {
		return []byte(number.String()), true
	}
	number, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) >= maxFloatID {
		return nil, false
	}
	return strconv.AppendInt(nil, int64(number), 10), true
}

// These members of params are read by name.
const (
	paramMeta          = "_meta"
	paramURI           = "uri"
	paramVersion       = "protocolVersion"
	paramCapabilities  = "capabilities"
	paramCancelled     = "requestId"
	paramTransfer      = "transferMode"
	paramNotifications = "notifications"
	paramStreaming     = "resourceStreaming" // in capabilities
	paramBinary        = "binaryTransfer"    // in capabilities
)

// Params are those of a message, with the members that the rules for all methods use.
type Params struct {
	// Raw is nil when there are none.
	Raw json.RawMessage
	// URI of the resource that the message is about; "" if it is no string.
	URI string
	// Version and Capabilities are those in a request of the modern era.
	Version      string
	Capabilities json.RawMessage

	members map[string]json.RawMessage
	meta    map[string]json.RawMessage // of _meta; nil when it is no object
}

// readParams parses an object, with the names of its members compared exactly. nil has none.
func readParams(raw json.RawMessage) Params {
	p := Params{Raw: raw, members: object(raw)}
	p.URI = text(p.members[paramURI])
	p.meta = object(p.members[paramMeta])
	p.Version, p.Capabilities = text(p.meta[mcp.MetaKeyProtocolVersion]), p.meta[mcp.MetaKeyClientCapabilities]
	return p
}

// memberAt finds the member of a JSON object whose value contains, or ends at, an offset. It
// returns the path of names to the member; items of arrays have numbers.
func memberAt(raw json.RawMessage, offset int64) []string {
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	for decoder.InputOffset() < offset {
		if _, err := decoder.ReadToken(); err != nil {
			break
		}
	}
	return slices.Collect(decoder.StackPointer().Tokens())
}

// object reads the members of a JSON object, with their names compared exactly; nil for anything
// else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// text reads a JSON string; "" for anything else.
func text(raw json.RawMessage) (value string) {
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return value
}

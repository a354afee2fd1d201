package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/resources"
)

// Error is a failure as the client sees it.
type Error = resources.Error

// These are reasons for which only messages are refused.
const (
	ReasonParse         resources.Reason = "parse_error"
	ReasonRequest       resources.Reason = "invalid_request"
	ReasonParams        resources.Reason = "invalid_params"
	ReasonMethod        resources.Reason = "method_not_found"
	ReasonHeader        resources.Reason = "header_mismatch"
	ReasonVersion       resources.Reason = "unsupported_protocol_version"
	ReasonCapability    resources.Reason = "client_capability_missing"
	ReasonNotStreamable resources.Reason = "stream_not_supported"
	ReasonSubscriptions resources.Reason = "too_many_subscriptions"
	ReasonNotSkill      resources.Reason = "not_a_skill"
	ReasonNotDirectory  resources.Reason = "not_a_directory"
)

// codes is the one table of JSON-RPC error codes: in the session era and in the modern one
// (2026-07-28). -32003 and -32004 in the modern era are those of SEP-2532: the core specification
// discourages new codes from -32000 to -32019 but leaves them to implementations, and one set of
// codes for the method is better than two. The server's own limits also have -32004, including
// those of resources/read: the client's next step is the same.
var codes = map[resources.Reason][2]int{
	ReasonParse:                     {-32700, -32700},
	ReasonRequest:                   {-32600, -32600},
	ReasonParams:                    {-32602, -32602},
	ReasonMethod:                    {-32601, -32601},
	ReasonHeader:                    {-32020, -32020},
	ReasonVersion:                   {-32022, -32022},
	ReasonCapability:                {-32003, -32021},
	ReasonNotStreamable:             {-32003, -32003},
	ReasonSubscriptions:             {-32000, -32603}, // never in the modern era, which acknowledges fewer
	ReasonNotSkill:                  {-32602, -32602},
	ReasonNotDirectory:              {-32602, -32602},
	resources.ReasonCancelled:       {-32800, -32800}, // from the Language Server Protocol; MCP has none
	resources.ReasonURI:             {-32602, -32602},
	resources.ReasonNotFound:        {-32002, -32602},
	resources.ReasonAmbiguous:       {-32602, -32602},
	resources.ReasonTooLarge:        {-32004, -32004},
	resources.ReasonFullNeeded:      {-32602, -32602},
	resources.ReasonUnsupportedRepo: {-32603, -32603},
	resources.ReasonCorruptRepo:     {-32603, -32603},
	resources.ReasonUnreadableRepo:  {-32603, -32603},
	resources.ReasonIncompleteRepo:  {-32603, -32603},
	resources.ReasonBusy:            {-32603, -32603},
	resources.ReasonInternal:        {-32603, -32603},
}

// Era is a generation of the protocol: with sessions, or without.
type Era int

// The eras.
const (
	SessionEra Era = iota // 2024-11-05 to 2025-11-25
	ModernEra             // 2026-07-28
)

// errorEra is the era whose codes a reply has. SEP-2640 defines its methods by the modern era alone: what
// is not found is -32602 for them in each version.
func (r *Request) errorEra() Era {
	if slices.Contains(skillMethods, r.Method) {
		return ModernEra
	}
	return r.Era
}

// Code is the JSON-RPC error code of a failure in an era.
func Code(failure *Error, era Era) int { return codes[failure.Reason][era] }

// ErrorReply is the reply to a request that failed. A nil id is left out: MCP's schema does not
// allow null there, unlike JSON-RPC 2.0.
func ErrorReply(id json.RawMessage, failure *Error, era Era) []byte {
	data := map[string]any{"reason": failure.Reason}
	maps.Copy(data, failure.Data)
	message := map[string]any{
		"jsonrpc": "2.0",
		"error":   map[string]any{"code": Code(failure, era), "message": failure.Message, "data": data},
	}
	if id != nil {
		message["id"] = id
	}
	reply, err := json.Marshal(message)
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error."}}`)
	}
	return append(reply, '\n')
}

// invalidRequest refuses a message that is not JSON-RPC, or is invalid at this moment.
func invalidRequest(text string) *Error {
	return &Error{Reason: ReasonRequest, Message: "Invalid JSON-RPC message. " + text}
}

// wrongMember refuses a member of params; want says what it must be.
func wrongMember(member, want string) *Error {
	member = resources.ClipLong(member)
	failure := &Error{Reason: ReasonParams, Message: fmt.Sprintf("The member %q of params must be %s.", member, want)}
	return failure.With("member", resources.Text(member))
}

// typeNames are JSON's types, by the Go types that they are read into.
var typeNames = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "an array", reflect.Struct: "an object",
	reflect.Map: "an object", reflect.Int: "an integer", reflect.Int64: "an integer",
	reflect.Float64: "without numbers beyond 64 bits", // a value with the right type can only be too large
}

// wrongType refuses params in which a member has the wrong type. err is encoding/json's error about
// raw: all params, or the value of the members above it.
func wrongType(raw json.RawMessage, err error, above ...string) *Error {
	want := "of the type that the specification of MCP has"
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		above = append(above, memberAt(raw, wrong.Offset)...)
		want = cmp.Or(typeNames[wrong.Type.Kind()], want)
	}
	return wrongMember(strings.Join(above, "."), want)
}

func mismatch(text string) *Error { return &Error{Reason: ReasonHeader, Message: text} }

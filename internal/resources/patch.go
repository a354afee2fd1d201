package resources

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Patch changes a reply of mcp-go to this request: it adds the fields of
// drafts, which mcp-go's types cannot carry, and replaces errors by those of
// the table. Other messages pass unchanged. The code is that of the error in
// the reply, or 0.
func (r *Request) Patch(reply []byte) (patched []byte, code int) {
	head, ok := replyHead(reply)
	switch {
	case !ok || !bytes.Equal(head.ID, r.ID):
		return reply, 0
	case head.failed, r.failure != nil:
		return r.patchError(reply)
	case patches[r.Method] != nil:
		return patchResult(reply, patches[r.Method]), 0
	default:
		return reply, 0
	}
}

// ErrorReply is the reply to a request that failed before mcp-go saw it. The
// id may be nil, and is then left out: MCP's schema has no null there, where
// JSON-RPC 2.0 has.
func ErrorReply(id json.RawMessage, failure *Error, era Era) []byte {
	data := map[string]any{"reason": failure.Reason}
	for key, value := range failure.Data {
		data[key] = value
	}
	message := map[string]any{
		"jsonrpc": "2.0",
		"error":   map[string]any{"code": failure.Code(era), "message": failure.Message, "data": data},
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

// head is the beginning of a reply.
type head struct {
	ID     json.RawMessage
	failed bool
}

// replyHead reads a message up to its result or error, which may be megabytes.
// mcp-go writes the id before them.
func replyHead(message []byte) (head, bool) {
	decoder := json.NewDecoder(bytes.NewReader(message))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return head{}, false
	}
	var h head
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return head{}, false
		}
		switch key {
		case "result":
			return h, h.ID != nil
		case "error":
			h.failed = true
			return h, h.ID != nil
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return head{}, false
		}
		if key == "id" {
			h.ID = value
		}
	}
	return head{}, false
}

func (r *Request) patchError(reply []byte) ([]byte, int) {
	r.account.Fail()
	var message struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply, &message); err != nil {
		return reply, codes[ReasonInternal][r.Era]
	}
	failure := r.failure
	if failure == nil {
		failure = foreignError(message.Error.Code, message.Error.Message, r.Method)
	}
	return ErrorReply(r.ID, r.About(failure), r.Era), failure.Code(r.Era)
}

// foreignErrors are the words for errors that mcp-go found. Its own texts
// quote its types and Go's, which help nobody.
var foreignErrors = map[int]Error{
	-32700: {Reason: ReasonParse, Message: "The request body is not valid JSON. Send a JSON-RPC 2.0 message."},
	-32600: {Reason: ReasonRequest, Message: "Invalid JSON-RPC message. See the specification of MCP for its form."},
	-32601: {Reason: ReasonMethod, Message: "Method not found. The server's capabilities say which methods it has."},
	-32602: {Reason: ReasonParams, Message: "Invalid params. See the specification of MCP for the params of this method; cursors must come from the result before."},
	-32020: {Reason: ReasonHeader, Message: "The headers Mcp-Method and Mcp-Name must be there and say what the body says."},
	-32002: {Reason: ReasonNotFound, Message: "Resource not found. List repositories with resources/list."},
}

func foreignError(code int, message, method string) *Error {
	failure, ok := foreignErrors[code]
	if !ok {
		failure = *internal(nil)
	}
	failure.Data = map[string]any{"method": method}
	// The one text of mcp-go that says what is missing, in words of MCP.
	if code == -32602 && strings.HasPrefix(message, "missing or invalid _meta field ") {
		failure.Message = "Invalid params: " + message + "."
	}
	return &failure
}

// patches of results, by method.
var patches = map[string]func(result map[string]json.RawMessage){
	methodInit:                               patchCapabilities,
	methodDiscover:                           patchCapabilities,
	string(mcp.MethodResourcesList):          func(result map[string]json.RawMessage) { patchStreamable(result, "resources") },
	string(mcp.MethodResourcesTemplatesList): func(result map[string]json.RawMessage) { patchStreamable(result, "resourceTemplates") },
}

// patchResult applies a patch; a reply that it does not understand stays as
// it is.
func patchResult(reply []byte, patch func(map[string]json.RawMessage)) []byte {
	var message, result map[string]json.RawMessage
	if json.Unmarshal(reply, &message) != nil || json.Unmarshal(message["result"], &result) != nil {
		return reply
	}
	patch(result)
	patched, err := marshalInto(message, "result", result)
	if err != nil {
		return reply
	}
	return append(patched, '\n')
}

func marshalInto(outer map[string]json.RawMessage, key string, value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	outer[key] = raw
	return json.Marshal(outer)
}

// patchCapabilities declares resources.stream where SEP-2532 puts it, if its
// mirror is among the extensions.
func patchCapabilities(result map[string]json.RawMessage) {
	var capabilities, resources map[string]json.RawMessage
	if json.Unmarshal(result["capabilities"], &capabilities) != nil || json.Unmarshal(capabilities["resources"], &resources) != nil {
		return
	}
	if _, declared := object(capabilities["extensions"])[ExtensionStream]; !declared {
		return
	}
	resources["stream"] = json.RawMessage("true")
	if raw, err := json.Marshal(resources); err == nil {
		capabilities["resources"] = raw
	}
	if raw, err := json.Marshal(capabilities); err == nil {
		result["capabilities"] = raw
	}
}

// patchStreamable copies what drafts add to a resource from _meta to where they
// put it (SEP-2532, SEP-2166).
func patchStreamable(result map[string]json.RawMessage, list string) {
	var items []map[string]json.RawMessage
	if json.Unmarshal(result[list], &items) != nil {
		return
	}
	for _, item := range items {
		var meta map[string]json.RawMessage
		if json.Unmarshal(item["_meta"], &meta) != nil {
			continue
		}
		if string(meta[metaStreamable]) == "true" {
			item["streamable"] = json.RawMessage("true")
		}
		copyHTTP(item, meta)
	}
	if raw, err := json.Marshal(items); err == nil {
		result[list] = raw
	}
}

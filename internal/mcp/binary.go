package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// ExtensionBinary is the identifier of an extension of the RFC: unknown sizes, flow control, ends
// and aborts. A client has to declare it; one that declares binaryTransfer alone gets what the RFC
// defines, and nothing else.
const ExtensionBinary = resources.MetaPrefix + "binary-transfer"

// binaryCapability is the server's capability binaryTransfer.
type binaryCapability struct {
	Supported bool          `json:"supported"`
	MaxSize   int64         `json:"maxBinarySize"`
	Modes     []binary.Mode `json:"supportedModes"`
}

// binaryCapability returns the capability for the transport of a request; nil if the transport
// cannot carry bytes beside messages.
func (s *Server) binaryCapability(r *Request) *binaryCapability {
	if r.Mode == "" {
		return nil
	}
	return &binaryCapability{Supported: true, MaxSize: s.options.BinaryLimit, Modes: []binary.Mode{r.Mode}}
}

// foreignMode is a preferred mode that no transport has.
const foreignMode binary.Mode = "?"

// parseBinaryCapability reads binaryTransfer from raw client capabilities. It is only declared if
// supported is true.
func parseBinaryCapability(capabilities json.RawMessage) TransferCapability {
	settings := declared(capabilities, paramBinary, ExtensionBinary)
	if string(settings["supported"]) != "true" {
		return TransferCapability{}
	}
	extension := object(object(object(capabilities)["extensions"])[ExtensionBinary])
	c := TransferCapability{Declared: true, Extended: string(extension["supported"]) == "true"}
	c.MaxSize, c.BadSize = declaredSize(settings, maxBinarySize)
	if raw, ok := settings["preferredMode"]; ok && string(raw) != "null" {
		c.Preferred = foreignMode
		switch mode := binary.Mode(text(raw)); mode {
		case binary.ModeMultipart, binary.ModeFrames, binary.ModeChunks:
			c.Preferred = mode
		}
	}
	return c
}

// The values of transferMode.
const (
	transferBase64 = "base64"
	transferBinary = "binary"
)

// asksBinary reports whether a request asks for bytes beside its reply.
func (r *Request) asksBinary() (bool, *Error) {
	raw, ok := r.Params.members[paramTransfer]
	if !ok || r.Method != MethodRead && r.Method != MethodToolsCall {
		return false, nil
	}
	switch text(raw) {
	case transferBase64:
		return false, nil
	case transferBinary:
		return true, nil
	default:
		return false, wrongMember(paramTransfer, `"`+transferBase64+`" or "`+transferBinary+`"`)
	}
}

// takesBinary reports whether the reply may have bytes beside it: both sides have declared it, and
// the transport can carry them. The RFC asks for no more; a client of the extension also admits
// each such reply.
func (r *Request) takesBinary() bool {
	return r.Binary.Declared && (r.AcceptsBinary || !r.Binary.Extended) && r.Mode != "" &&
		(r.Binary.Preferred == "" || r.Binary.Preferred == r.Mode)
}

// streams reports whether the reply may have bytes beside it.
func (r *Request) streams() bool {
	asked, _ := r.asksBinary() // invalid values are refused later
	return asked && r.takesBinary()
}

// attachments returns room for bytes beside the reply; nil unless the request asks for it, both
// sides have declared it, and the transport supports it.
func (s *Server) attachments(r *Request) (*attachments.List, *Error) {
	asked, failure := r.asksBinary()
	switch {
	case failure != nil:
		return nil, failure
	case !asked || !r.takesBinary():
		return nil, nil
	case r.Binary.BadSize:
		return nil, badSize(paramBinary, maxBinarySize)
	}
	limit := s.options.BinaryLimit
	if r.Binary.MaxSize > 0 {
		limit = min(limit, r.Binary.MaxSize)
	}
	return attachments.New(limit, !r.Binary.Extended), nil
}

// Notifications replace the ends of streams on a pipe, whose chunks have no room for metadata.
const (
	methodBinaryEnd     = "notifications/binary/end"
	methodBinaryAborted = "notifications/binary/aborted"
)

// BinaryEnd encodes the notification that a stream has ended, with its size and digest.
func BinaryEnd(whole binary.Ref) []byte {
	return binaryNotification(methodBinaryEnd, whole)
}

// BinaryAborted encodes the notification that a stream was aborted, with the reason.
func BinaryAborted(id binary.StreamID, words string) []byte {
	return binaryNotification(methodBinaryAborted, map[string]any{"streamId": id, "message": words})
}

func binaryNotification(method string, params any) []byte {
	message, err := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method, "params": params})
	if err != nil {
		panic(err) // it contains only strings and numbers
	}
	return message
}

// binaryReadResult is [mcp.ReadResourceResult] with contents of the RFC.
type binaryReadResult struct {
	mcp.CacheableResult
	Contents []binaryContents `json:"contents"`
}

// binaryContents are a resource whose bytes follow the reply.
type binaryContents struct {
	Meta      map[string]any `json:"_meta,omitempty"`
	URI       string         `json:"uri"`
	MIMEType  string         `json:"mimeType,omitempty"`
	BinaryRef binary.Ref     `json:"binaryRef"`
}

// readBinary answers resources/read with a reference to the bytes. Text comes as bytes as well:
// telling it from binary content would need a read of the content.
func (s *Server) readBinary(ctx context.Context, r *Request, beside *attachments.List) (any, *Error) {
	found, err := s.resources.FindPage(ctx, r.Params.URI)
	if err != nil {
		return nil, s.resources.Failure(ctx, err, r.Params.URI)
	}
	meta := resources.MergeMeta(found.Meta, s.resources.LinkMeta(ctx, found))
	attachment, err := beside.Add(ctx, found)
	if errors.Is(err, attachments.ErrUnsized) {
		return s.readBase64(ctx, r)
	}
	if err != nil {
		failure := s.resources.Failure(ctx, err, r.Params.URI)
		if failure.Reason == resources.ReasonTooLarge {
			failure = withLink(failure, meta)
		}
		return nil, failure
	}
	return &binaryReadResult{Contents: []binaryContents{{
		Meta: meta, URI: r.Params.URI, MIMEType: attachment.MIMEType, BinaryRef: attachment.Ref,
	}}}, nil
}

package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/resources"
)

// read answers resources/read.
func (s *Server) read(ctx context.Context, r *Request, _ mcp.ReadResourceParams) (any, *Error) {
	if beside := attachments.Of(ctx); beside != nil {
		return s.readBinary(ctx, r, beside)
	}
	return s.readBase64(ctx, r)
}

// readBase64 answers resources/read with the whole content in the reply.
func (s *Server) readBase64(ctx context.Context, r *Request) (any, *Error) {
	contents, err := s.readContents(ctx, r.Params.URI)
	if err != nil {
		return nil, s.resources.Failure(ctx, err, r.Params.URI)
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

func (s *Server) readContents(ctx context.Context, uri string) (mcp.ResourceContents, error) {
	found, err := s.resources.FindPage(ctx, uri)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx, found)
	meta := resources.MergeMeta(found.Meta, s.resources.LinkMeta(ctx, found))
	whole, mimeType, err := s.readAll(ctx, found)
	if errors.As(err, new(*resources.TooLargeError)) {
		return nil, s.tooLargeToRead(found.Size, meta)
	}
	if err != nil {
		return nil, err
	}
	mimeType = typeAt(uri, mimeType)
	// Clients compare the URI with the one that they asked for.
	if isText(whole) {
		return mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: string(whole), Meta: meta}, nil
	}
	blob := base64.StdEncoding.EncodeToString(whole)
	return mcp.BlobResourceContents{URI: uri, MIMEType: mimeType, Blob: blob, Meta: meta}, nil
}

// typeAt is the type of a resource at a URI. SEP-2640 has text/markdown without an encoding, and JSON has
// one encoding.
func typeAt(uri, mimeType string) string {
	if resources.IsSkill(uri) {
		mimeType, _, _ = strings.Cut(mimeType, ";")
	}
	return mimeType
}

func (s *Server) readAll(ctx context.Context, found *resources.Found) (whole []byte, mimeType string, err error) {
	body, err := found.Open(ctx, resources.Want{Method: resources.Get, Reply: true, Limit: s.options.ReadLimit})
	if err != nil {
		return nil, "", err
	}
	defer s.close(ctx, body)
	whole, err = body.ReadAll(ctx)
	return whole, body.MIMEType, err
}

// isText reports whether content fits into a JSON string without loss.
func isText(content []byte) bool {
	return utf8.Valid(content) && bytes.IndexByte(content, 0) < 0
}

func (s *Server) tooLargeToRead(size int64, meta map[string]any) *Error {
	failure := &Error{Reason: resources.ReasonTooLarge, Message: fmt.Sprintf("The resource is larger than the %d "+
		"bytes that resources/read returns. ", s.options.ReadLimit)}
	failure = failure.With("limit", s.options.ReadLimit)
	if s.resources.Downloads() {
		failure.Message += "Download it with resources/stream."
		failure = failure.With("suggestion", MethodStream)
	} else {
		failure.Message += "Read a file in parts with get_file_contents, or name fewer paths of an archive; " +
			"get_archive_link tells how to make it on the machine of the server."
	}
	if size != resources.UnknownSize {
		failure = failure.With("size", size)
	}
	return withLink(failure, meta)
}

// withLink adds the URL of refused content: few clients know resources/stream, and all can pass on
// a URL.
func withLink(failure *Error, meta map[string]any) *Error {
	if url, ok := meta[resources.MetaHTTP]; ok {
		failure = failure.With("httpUrl", url).With("httpUrlExpiresAt", meta[resources.MetaHTTPExpires])
	}
	return failure
}

package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/resources"
)

// read answers resources/read.
func (s *Server) read(ctx context.Context, r *Request, _ mcp.ReadResourceParams) (any, *Error) {
	if attachments := resources.AttachmentsOf(ctx); attachments != nil {
		return s.readBinary(ctx, r, attachments)
	}
	return s.readBase64(ctx, r)
}

// readBase64 answers resources/read with the whole in the reply.
func (s *Server) readBase64(ctx context.Context, r *Request) (any, *Error) {
	contents, err := s.readContents(ctx, r.Params.URI)
	if err != nil {
		return nil, s.resources.Failure(ctx, err, r.Params.URI)
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

func (s *Server) readContents(ctx context.Context, uri string) (mcp.ResourceContents, error) {
	content, err := s.resources.OpenPage(ctx, uri)
	if err != nil {
		return nil, err
	}
	if err := content.ReserveRead(ctx, s.options.ReadLimit); err != nil {
		return nil, errors.Join(err, content.Close())
	}
	whole, err := content.ReadAll(ctx, s.options.ReadLimit)
	meta := resources.MergeMeta(content.Meta, s.resources.LinkMeta(ctx, content))
	err = errors.Join(err, content.Close())
	if errors.Is(err, resources.ErrTooLarge) {
		return nil, s.tooLargeToRead(content.Size, meta)
	}
	if err != nil {
		return nil, err
	}
	// uri is repeated as it was asked for: clients look for it.
	if isText(whole) {
		return mcp.TextResourceContents{URI: uri, MIMEType: content.MIMEType, Text: string(whole), Meta: meta}, nil
	}
	blob := base64.StdEncoding.EncodeToString(whole)
	return mcp.BlobResourceContents{URI: uri, MIMEType: content.MIMEType, Blob: blob, Meta: meta}, nil
}

// isText reports whether content can be shown as a JSON text without loss.
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

// withLink adds the address of what was refused: few clients know resources/stream,
// and all can hand on a URL.
func withLink(failure *Error, meta map[string]any) *Error {
	if url, ok := meta[resources.MetaHTTP]; ok {
		failure = failure.With("httpUrl", url).With("httpUrlExpiresAt", meta[resources.MetaHTTPExpires])
	}
	return failure
}

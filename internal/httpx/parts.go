package httpx

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// sendParts writes a reply with the streams that it names: see [binary.ReplyWriter]. A failure
// aborts the connection, so the last boundary is missing.
func (s *Server) sendParts(c echo.Context, reply mcp.Reply) {
	ctx := c.Request().Context()
	account := resources.AccountOf(ctx)
	defer account.Stage("send")()
	w := &streamWriter{response: c.Response(), account: account}
	parts := binary.NewReplyWriter(w)
	h := c.Response().Header()
	h.Set("Content-Type", parts.ContentType())
	h.Set("Cache-Control", "no-store") // it names streams that are never sent again
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no")
	defer unblockAfter(ctx, c)()
	err := w.start(http.StatusOK)
	if err == nil {
		err = parts.Message(reply.Message)
	}
	for _, attachment := range reply.Attachments.All() {
		if err != nil {
			break
		}
		if err = sendPart(ctx, c, parts, attachment, reply.Attachments.Bare()); err != nil {
			s.logger.Warn("a stream was aborted", "uri", attachment.Name(), "bytes", w.written, "error", err)
		}
	}
	if err == nil {
		err = parts.Close()
	}
	if err != nil {
		abort(c)
	}
}

// sendPart writes one stream. Its headers are sent before its first byte, which may have to be
// generated first. A bare stream has no trailer.
func sendPart(
	ctx context.Context, c echo.Context, parts *binary.ReplyWriter, attachment *attachments.Attachment, bare bool,
) error {
	w, err := parts.Stream(attachment.Ref, attachment.MIMEType)
	if err != nil {
		return err
	}
	if err := http.NewResponseController(c.Response()).Flush(); err != nil {
		return err
	}
	whole, err := attachment.WriteTo(ctx, w)
	if err != nil || bare || !attachment.Ends() {
		return err
	}
	return parts.End(whole)
}

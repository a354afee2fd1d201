package binary

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strconv"
)

const (
	// TypeMultipart is the type of a reply with parts.
	TypeMultipart = "multipart/mixed"

	typeJSON = "application/json"

	headerType   = "Content-Type"
	headerID     = "Content-ID" // not as net/textproto spells it
	headerLength = "Content-Length"

	// endSuffix after the id of a stream names the part that says how it ended.
	endSuffix = ".end"
)

// ReplyWriter writes a reply of several parts: a message, then each stream, and
// after a stream of which not all was known before a part that says the rest. The
// boundary is random, so that no content can have it.
type ReplyWriter struct {
	parts *multipart.Writer
}

// NewReplyWriter begins a reply. Nothing is written before the message.
func NewReplyWriter(w io.Writer) *ReplyWriter { return &ReplyWriter{multipart.NewWriter(w)} }

// ContentType is that of the whole reply.
func (w *ReplyWriter) ContentType() string {
	return mime.FormatMediaType(TypeMultipart, map[string]string{"boundary": w.parts.Boundary()})
}

// Message writes the first part: a JSON-RPC message.
func (w *ReplyWriter) Message(message []byte) error {
	return w.json(textproto.MIMEHeader{}, message)
}

// Stream begins the part of a stream, and returns what its bytes are to be written
// to.
func (w *ReplyWriter) Stream(declared Ref, mimeType string) (io.Writer, error) {
	header := textproto.MIMEHeader{headerType: {mimeType}, headerID: {"<" + declared.Stream.String() + ">"}}
	if declared.Size >= 0 {
		header.Set(headerLength, strconv.FormatInt(declared.Size, 10))
	}
	return w.parts.CreatePart(header)
}

// errOpenEnd says that the end of a stream was told without knowing it.
var errOpenEnd = errors.New("binary: internal error: the end of a stream needs its size and checksum")

// End says what the stream before it has turned out to be.
func (w *ReplyWriter) End(whole Ref) error {
	if whole.Ends() {
		return errOpenEnd
	}
	message, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	return w.json(textproto.MIMEHeader{headerID: {"<" + whole.Stream.String() + endSuffix + ">"}}, message)
}

func (w *ReplyWriter) json(header textproto.MIMEHeader, message []byte) error {
	header.Set(headerType, typeJSON)
	part, err := w.parts.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = part.Write(message)
	return err
}

// Close writes the boundary that ends the reply. What failed before must not be
// closed: without that boundary nobody takes the reply for whole.
func (w *ReplyWriter) Close() error { return w.parts.Close() }

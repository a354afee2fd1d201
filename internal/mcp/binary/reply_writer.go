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
	headerID     = "Content-ID" // net/textproto spells it otherwise
	headerLength = "Content-Length"

	// endSuffix after the id of a stream names the part that ends it.
	endSuffix = ".end"
)

// ReplyWriter writes a reply of several parts: a message, then each stream. A stream whose
// declaration was incomplete is followed by a part that completes it. The boundary is random, so
// that no content can contain it.
type ReplyWriter struct {
	parts *multipart.Writer
}

// NewReplyWriter begins a reply. It writes nothing before the message.
func NewReplyWriter(w io.Writer) *ReplyWriter { return &ReplyWriter{multipart.NewWriter(w)} }

// ContentType is that of the whole reply.
func (w *ReplyWriter) ContentType() string {
	return mime.FormatMediaType(TypeMultipart, map[string]string{"boundary": w.parts.Boundary()})
}

// Message writes the first part: a JSON-RPC message.
func (w *ReplyWriter) Message(message []byte) error {
	return w.json(textproto.MIMEHeader{}, message)
}

// Stream begins the part of a stream and returns the writer of its bytes.
func (w *ReplyWriter) Stream(declared Ref, mimeType string) (io.Writer, error) {
	header := textproto.MIMEHeader{headerType: {mimeType}, headerID: {"<" + declared.Stream.String() + ">"}}
	if declared.Size >= 0 {
		header.Set(headerLength, strconv.FormatInt(declared.Size, 10))
	}
	return w.parts.CreatePart(header)
}

// errOpenEnd says that End was called without size or checksum.
var errOpenEnd = errors.New("binary: internal error: the end of a stream needs its size and checksum")

// End completes the declaration of the preceding stream.
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

// Close writes the boundary that ends the reply. It must not be called after a failure: receivers
// know by the missing boundary that the reply is incomplete.
func (w *ReplyWriter) Close() error { return w.parts.Close() }

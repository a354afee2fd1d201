package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strconv"
	"strings"
)

const (
	// MaxMessageBytes is the longest message that clients accept. Servers read out 4 MiB by
	// default, which base64 makes a third longer, and JSON twice as long if every character is a
	// quote.
	MaxMessageBytes = 16 << 20
	// maxEndBytes is more than any part that ends a stream.
	maxEndBytes = 1 << 10
)

// ErrReply says that a reply does not have the layout that [ReplyWriter] writes, or not the streams
// that its message names.
var ErrReply = errors.New("malformed multipart reply")

// ReplyReader reads what [ReplyWriter] writes. It checks the message, and streams as far as they
// are read; a reply is complete when Next has returned io.EOF.
type ReplyReader struct {
	parts   *multipart.Reader
	awaited map[StreamID]Ref // named by the message, not yet received
	current *ReplyStream
	begun   bool
}

// NewReplyReader reads a reply with the given Content-Type. The error is [ErrReply].
func NewReplyReader(r io.Reader, contentType string) (*ReplyReader, error) {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || mediaType != TypeMultipart || parameters["boundary"] == "" {
		return nil, fmt.Errorf("%w: the type is not %s with a boundary", ErrReply, TypeMultipart)
	}
	return &ReplyReader{parts: multipart.NewReader(r, parameters["boundary"]), awaited: make(map[StreamID]Ref)}, nil
}

// Message reads the first part. It comes before the streams.
func (r *ReplyReader) Message() ([]byte, error) {
	part, err := r.next()
	if err != nil {
		return nil, unexpected(err)
	}
	if part.Header.Get(headerType) != typeJSON || part.Header.Get(headerID) != "" {
		return nil, fmt.Errorf("%w: the first part is no message", ErrReply)
	}
	r.begun = true
	return readPart(part, MaxMessageBytes)
}

// Expect declares a stream that the message names. The error is [ErrReply] for a repeated id.
func (r *ReplyReader) Expect(declared Ref) error {
	if _, twice := r.awaited[declared.Stream]; twice {
		return fmt.Errorf("%w: the stream %s is named twice", ErrReply, declared.Stream)
	}
	r.awaited[declared.Stream] = declared
	return nil
}

// Next returns the next stream; the previous one must have been read to its end. It returns io.EOF
// when the reply is complete.
func (r *ReplyReader) Next() (*ReplyStream, error) {
	switch {
	case !r.begun:
		return nil, fmt.Errorf("%w: the message was not read", ErrReply)
	case r.current != nil && r.current.ended != io.EOF: //nolint:errorlint // wrapped it is an end that was not to be
		return nil, fmt.Errorf("%w: the stream before was not read to its end", ErrReply)
	}
	part, err := r.next()
	if err == io.EOF { //nolint:errorlint // wrapped it is an end that was not to be
		if len(r.awaited) > 0 {
			return nil, fmt.Errorf("%w: %d streams are missing", ErrReply, len(r.awaited))
		}
		return nil, err
	}
	if err != nil {
		return nil, unexpected(err)
	}
	id, err := partID(part, "")
	if err != nil {
		return nil, err
	}
	declared, known := r.awaited[id]
	if !known {
		return nil, fmt.Errorf("%w: the message names no stream %s, or it came before", ErrReply, id)
	}
	delete(r.awaited, id)
	if length := part.Header.Get(headerLength); length != "" && length != strconv.FormatInt(declared.Size, 10) {
		return nil, fmt.Errorf("%w: the part has a length of %.20q, the message says %d", ErrReply, length,
			declared.Size)
	}
	r.current = &ReplyStream{
		Ref: declared, MIMEType: part.Header.Get(headerType), part: part, reply: r, tally: NewTally(),
	}
	return r.current, nil
}

// next returns the next part as it was sent: no encoding is undone.
func (r *ReplyReader) next() (*multipart.Part, error) {
	part, err := r.parts.NextRawPart()
	var malformed textproto.ProtocolError
	if errors.As(err, &malformed) || errors.Is(err, multipart.ErrMessageTooLarge) {
		return nil, fmt.Errorf("%w: %w", ErrReply, err)
	}
	return part, err
}

// partID reads the id of a part, without its required suffix.
func partID(part *multipart.Part, suffix string) (StreamID, error) {
	text := part.Header.Get(headerID)
	inner, begins := strings.CutPrefix(text, "<")
	inner, ends := strings.CutSuffix(inner, suffix+">")
	id, err := ParseStreamID(inner)
	if !begins || !ends || err != nil {
		return StreamID{}, fmt.Errorf("%w: the Content-ID %.60q", ErrReply, text)
	}
	return id, nil
}

// readPart reads a short part. The error is [ErrReply] for a longer one.
func readPart(part *multipart.Part, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(part, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%w: a part of more than %d bytes", ErrReply, most)
	}
	return content, unexpected(err)
}

// ReplyStream is a stream of a reply. Reading it returns io.EOF once all bytes are there and match
// the declaration.
type ReplyStream struct {
	// Ref is the declaration in the message, and after the end the complete one.
	Ref
	MIMEType string

	part  *multipart.Part
	reply *ReplyReader
	tally *Tally
	ended error // the error of every further Read
}

// Read implements [io.Reader].
func (s *ReplyStream) Read(p []byte) (n int, err error) {
	if s.ended == nil {
		n, s.ended = s.read(p)
	}
	return n, s.ended
}

func (s *ReplyStream) read(p []byte) (int, error) {
	n, err := s.part.Read(p)
	_, _ = s.tally.Write(p[:n]) // it never fails
	switch {
	case s.Size >= 0 && s.tally.Size() > s.Size:
		return 0, fmt.Errorf("%w: more than %d bytes", ErrSize, s.Size)
	case err == nil || err != io.EOF: //nolint:errorlint // wrapped it is an end that was not to be
		return n, unexpected(err)
	}
	if err := s.end(); err != nil {
		return n, err
	}
	return n, io.EOF
}

// end compares the bytes with the declaration or, if that was incomplete, with the part that
// follows them.
func (s *ReplyStream) end() error {
	if err := s.tally.Compare(s.Ref); err != nil {
		return err
	}
	if !s.Ends() {
		return nil
	}
	part, err := s.reply.next()
	if err != nil {
		return unexpected(err)
	}
	id, err := partID(part, endSuffix)
	if err != nil {
		return err
	}
	content, err := readPart(part, maxEndBytes)
	if err != nil {
		return err
	}
	var whole Ref
	if err := json.Unmarshal(content, &whole); err != nil || id != s.Stream || whole.Stream != id || whole.Ends() {
		return fmt.Errorf("%w: the end of stream %s", ErrReply, s.Stream)
	}
	s.Ref = whole
	return s.tally.Compare(whole)
}

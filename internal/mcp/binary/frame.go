package binary

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Kind is the byte of flags in a frame. At most one flag is set.
type Kind byte

// Credit and cancel frames go from the client to the server, all others to the client.
const (
	// KindData carries bytes of the stream.
	KindData Kind = 0
	// KindEnd says that all bytes were sent, with their number and SHA-256.
	KindEnd Kind = 1
	// KindAbort says that no more bytes come, with a message for people.
	KindAbort Kind = 2
	// KindCredit says how many more bytes may be sent.
	KindCredit Kind = 4
	// KindCancel says that the client wants no more bytes.
	KindCancel Kind = 8
)

const (
	// FrameHeaderBytes are the id, the kind and the sequence number.
	FrameHeaderBytes = StreamIDBytes + 1 + 4
	// MaxFrameData is the most bytes that a frame carries. Other messages of the connection wait
	// for one frame at most.
	MaxFrameData = 32 << 10
	// MaxAbortWords bounds the message of an abort, in bytes.
	MaxAbortWords = 1 << 10

	creditBytes = 8
	endBytes    = 8 + len(Checksum{})
)

// payloads are the allowed lengths of payloads by kind.
var payloads = map[Kind]struct{ least, most int }{
	KindData: {1, MaxFrameData}, KindEnd: {endBytes, endBytes}, KindAbort: {0, MaxAbortWords},
	KindCredit: {creditBytes, creditBytes}, KindCancel: {0, 0},
}

// Frame is a binary WebSocket frame: the id of a stream, the kind, the number of the frame in that
// stream and direction, counted from 0, and a payload.
type Frame struct {
	Stream   StreamID
	Kind     Kind
	Sequence uint32
	Payload  []byte
}

// ErrFrame says that a binary message is no frame.
var ErrFrame = errors.New("malformed frame")

// Append appends the frame to b.
func (f Frame) Append(b []byte) []byte {
	b = append(append(b, f.Stream[:]...), byte(f.Kind))
	return append(binary.BigEndian.AppendUint32(b, f.Sequence), f.Payload...)
}

// ParseFrame parses a binary message. The payload is part of raw. The error is [ErrFrame].
func ParseFrame(raw []byte) (Frame, error) {
	if len(raw) < FrameHeaderBytes {
		return Frame{}, fmt.Errorf("%w: %d bytes are less than its header", ErrFrame, len(raw))
	}
	f := Frame{
		Stream: StreamID(raw[:StreamIDBytes]), Kind: Kind(raw[StreamIDBytes]),
		Sequence: binary.BigEndian.Uint32(raw[StreamIDBytes+1:]), Payload: raw[FrameHeaderBytes:],
	}
	if err := f.Stream.check(); err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	length, known := payloads[f.Kind]
	switch {
	case !known:
		return Frame{}, fmt.Errorf("%w: there are no flags %#02x", ErrFrame, byte(f.Kind))
	case len(f.Payload) < length.least || len(f.Payload) > length.most:
		return Frame{}, fmt.Errorf("%w: a payload of %d bytes", ErrFrame, len(f.Payload))
	case f.Kind == KindAbort && !utf8.Valid(f.Payload):
		return Frame{}, fmt.Errorf("%w: words that are not UTF-8", ErrFrame)
	case f.Kind == KindCredit && (f.number() == 0 || f.number() > math.MaxInt64):
		return Frame{}, fmt.Errorf("%w: a credit of %d bytes", ErrFrame, f.number())
	case f.Kind == KindEnd && f.number() > math.MaxInt64:
		return Frame{}, fmt.Errorf("%w: a size of %d bytes", ErrFrame, f.number())
	default:
		return f, nil
	}
}

// number is the first number in the payloads of ends and credits.
func (f Frame) number() uint64 { return binary.BigEndian.Uint64(f.Payload) }

// Credit returns how many more bytes a credit frame grants.
func (f Frame) Credit() int64 { return int64(f.number()) }

// End returns the size and checksum in an end frame.
func (f Frame) End() Ref {
	sum := Checksum(f.Payload[creditBytes:])
	return Ref{Stream: f.Stream, Size: int64(f.number()), Checksum: &sum}
}

// CreditFrame grants more bytes: 1 or more.
func CreditFrame(id StreamID, sequence uint32, more int64) Frame {
	payload := binary.BigEndian.AppendUint64(nil, uint64(more))
	return Frame{Stream: id, Kind: KindCredit, Sequence: sequence, Payload: payload}
}

// EndFrame ends a stream. Size and checksum must be known.
func EndFrame(whole Ref, sequence uint32) Frame {
	payload := append(binary.BigEndian.AppendUint64(nil, uint64(whole.Size)), whole.Checksum[:]...)
	return Frame{Stream: whole.Stream, Kind: KindEnd, Sequence: sequence, Payload: payload}
}

// AbortFrame aborts a stream. Its message is clipped.
func AbortFrame(id StreamID, sequence uint32, words string) Frame {
	return Frame{Stream: id, Kind: KindAbort, Sequence: sequence, Payload: []byte(clipWords(words))}
}

// clipWords cuts a string between two characters.
func clipWords(words string) string {
	if len(words) <= MaxAbortWords {
		return words
	}
	end := MaxAbortWords
	for end > 0 && !utf8.RuneStart(words[end]) {
		end--
	}
	return words[:end]
}

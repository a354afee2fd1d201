// Package binary has the layouts in which bytes travel beside the messages of MCP
// (the Binary Transfer RFC): parts of a multipart reply over HTTP, binary frames
// over WebSocket, and chunks with a length before them over stdio.
//
// # Order of use
//
// Who sends makes an id for each stream with [NewStreamID] and names it in the
// message by a [Ref]. Then the bytes follow: through a [ReplyWriter], as [Frame]s
// or as [Chunk]s. Who receives reads them with a [ReplyReader], [ParseFrame] or
// [ReadChunk], and compares them with what was declared through a [Tally].
//
// A receiver that knows the RFC alone is sent less: the same parts without what is said
// after a stream, or bytes after [AppendBareHeader] or in [AppendBareFrame]s.
//
// # Promises
//
// Decoders take nothing that the encoders would not write, read no further than
// what they return, and hold no more than the limits beside them. What is cut off
// is never a clean end: a stream ends with something that says so.
//
// # Decisions
//
// Size and checksum follow the bytes, so that every stream can be verified. The first bit of a
// stream id is set: on stdio the first byte tells a chunk from a message.
package binary

// Mode is a way in which bytes are carried, as capabilities name it.
type Mode string

// The modes, one for each transport.
const (
	ModeMultipart Mode = "multipart"        // HTTP
	ModeFrames    Mode = "websocket-binary" // WebSocket
	ModeChunks    Mode = "stream"           // stdio
)

// Package binary defines the layouts in which bytes travel beside MCP messages (the Binary Transfer
// RFC): parts of a multipart reply over HTTP, binary frames over WebSocket, and chunks with a
// length before them over stdio.
//
// # Order of use
//
// A sender makes an id for each stream with [NewStreamID] and names it in the message by a [Ref].
// Then the bytes follow: through a [ReplyWriter], as [Frame]s or as [Chunk]s. A receiver reads them
// with a [ReplyReader], [ParseFrame] or [ReadChunk], and compares them with the declaration through
// a [Tally].
//
// A receiver that knows only the RFC gets less: the same parts without those that end a stream, or
// bytes after [AppendBareHeader] or in [AppendBareFrame]s.
//
// # Promises
//
// Decoders accept only what the encoders write, read no further than what they return, and hold no
// more than their limits. Truncated input is never a clean end: a stream ends explicitly.
//
// # Decisions
//
// Size and checksum follow the bytes, so that every stream can be verified. The first bit of a
// stream id is set: on stdio the first byte tells a chunk from a message.
package binary

// Mode is a way to carry bytes, as capabilities name it.
type Mode string

// The modes, one for each transport.
const (
	ModeMultipart Mode = "multipart"        // HTTP
	ModeFrames    Mode = "websocket-binary" // WebSocket
	ModeChunks    Mode = "stream"           // stdio
)

package binary

import "encoding/binary"

// What the RFC has of a stream is its name and its bytes. A reader counts them to the
// size that the message declared; there is nothing to say that a stream has ended, why it
// broke, or that its reader wants no more. A stream without any bytes is named as well.

// AppendBareHeader appends what stands before the bytes of a stream on a pipe (RFC,
// option A): the id, and the size, which has to be known. The bytes follow as they are.
func AppendBareHeader(b []byte, declared Ref) []byte {
	return binary.BigEndian.AppendUint64(append(b, declared.Stream[:]...), uint64(declared.Size))
}

// AppendBareFrame appends a binary frame of a WebSocket (RFC, option C): the id, and
// some of the bytes.
func AppendBareFrame(b []byte, id StreamID, data []byte) []byte {
	return append(append(b, id[:]...), data...)
}

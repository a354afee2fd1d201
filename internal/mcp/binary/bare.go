package binary

import "encoding/binary"

// The RFC defines only a stream's name and its bytes. A reader counts them up to the size that the
// message declared; there is no way to say that a stream has ended, why it broke, or that its
// reader wants no more. Even an empty stream is named.

// AppendBareHeader appends the header of a stream on a pipe (RFC, option A): the id, and the size,
// which has to be known. The bytes follow unframed.
func AppendBareHeader(b []byte, declared Ref) []byte {
	return binary.BigEndian.AppendUint64(append(b, declared.Stream[:]...), uint64(declared.Size))
}

// AppendBareFrame appends a binary WebSocket frame (RFC, option C): the id, and some of the bytes.
func AppendBareFrame(b []byte, id StreamID, data []byte) []byte {
	return append(append(b, id[:]...), data...)
}

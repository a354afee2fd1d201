// Package inflate decodes zlib streams (RFC 1950) of deflate data (RFC 1951). It is independent of
// git's formats.
//
// A [Decoder] is for streams in memory, a [Reader] for streams of any length in a file. Both
// succeed only at the end of a stream whose checksum matches, unless that is skipped; both refuse
// what zlib refuses. They read and write only within their buffers, whatever the stream contains,
// and keep no reference to a buffer after the end of a stream.
package inflate

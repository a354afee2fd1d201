// Package inflate decodes zlib streams (RFC 1950) of deflate data (RFC 1951). It
// knows nothing of who keeps them.
//
// A [Decoder] is for streams that lie in memory, a [Reader] for those of any
// length in a file. Both end well only at the end of a stream whose checksum was
// compared, unless that is left out; both refuse what zlib refuses. They read and
// write within the buffers that they are given, whatever the stream says, and
// keep no reference to a buffer of a stream that has ended.
package inflate

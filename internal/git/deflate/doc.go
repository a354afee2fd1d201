// Package deflate compresses with the bytes of zlib at level 1, the level of the binary patches of
// git.
//
//	err := deflate.Compress(w, content) // a zlib stream (RFC 1950)
//
// # Promises
//
// The bytes are a function of the content, those of zlib 1.2.12 and later: the matches of its fast
// strategy, its division into blocks, and its choice among equally good codes. They change with no
// release of Go and of this program. Other libraries with zlib's interface, such as zlib-ng, make
// other bytes.
//
// # Limits
//
// Compress holds 300 KiB, for content of any length.
//
// # Why
//
// A patch is downloaded in parts, and compared with that of git. The package compress/flate
// makes other bytes, and other ones after an update.
//
// # Sources
//
// RFC 1950 and RFC 1951 define the format, and zlib's document "An Explanation of the Deflate
// Algorithm" the strategy. Details that these leave open follow zlib's observed output.
package deflate

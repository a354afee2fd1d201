// Package httpx serves the product over HTTP. It is the only place that knows
// HTTP statuses and echo.
//
// # Order of use
//
// Make a [Server] with [New], give it a listener with [Server.Serve], and end it
// with [Server.Shutdown].
//
// # Promises
//
// Host and Origin are checked on every route before a body is read. Every
// limit is a named constant or an option. A failure before the first byte of a
// stream is a proper reply; after it the connection is aborted, so that no
// client can take what it got for the whole. A client that goes away, or that
// does not read, ends the work for it.
package httpx

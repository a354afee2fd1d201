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
//
// Of a WebSocket connection (GET /ws) a bounded number of requests run at a time,
// and nothing runs for it once it has ended. A drain answers what is in flight
// and closes it with 1001. What comes after that has no reply.
//
// Plain downloads (GET and HEAD of /archive/, /raw/ and the lists) follow RFC 9110
// for conditions and ranges. One range is served; several get the whole. A strong
// ETag names the bytes, so that parts that came from different servers fit
// together. What a weak one names has no parts.
//
// # Limits
//
// A range of compressed bytes costs their generation up to its end, and once
// more in full when their length is not known yet. That is bounded by the
// client's patience: it ends with the request. Of a plain tar the first range on
// a server costs the same, and those after it a mebibyte or so before their
// beginning. Every byte of a range is of a file that was compared with its id.
//
// # Decisions
//
// HTTPS is HTTP/1.1 only: aborting, pacing and WebSocket need the connection of one request.
//
// A JSON file is streamed as application/octet-stream, with its type in MCP-Resource-Type: clients
// take application/json for an error.
//
// Copies of branches are revalidated, not fresh for a minute: a conditional request reads no file,
// and an old copy would be a wrong answer. Cache-Control stays private, since the server does not
// know which repositories are public. A date is no strong validator: If-Range with a date gets the
// whole.
//
// A download outlives its token; an event stream does not.
package httpx

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
// Host and Origin are checked on every route before a body is read. Every limit is a named constant
// or an option. A failure before the first byte of a stream is a proper reply; a later failure
// aborts the connection, so that no client can mistake a part for the whole. The work for a client
// ends when the client disconnects or stops reading.
//
// A WebSocket connection (GET /ws) runs a bounded number of requests at a time, and none after it
// has closed. A drain answers the requests in flight and closes the connection with 1001. Later
// messages get no reply.
//
// Plain downloads (GET and HEAD of /archive/, /raw/ and the lists) follow RFC 9110 for conditions
// and ranges. A request for several ranges gets the whole. A strong ETag names the bytes, so parts
// from different servers fit together. Content with a weak ETag has no ranges.
//
// # Limits
//
// A range of a compressed archive costs its generation up to the end of the range, and another full
// generation if the length is not known yet. The cost is bounded by the client's patience, since
// the work ends with the request. The first range of a plain tar on a server costs the same; later
// ones start about a mebibyte before their first byte. Every byte of a range comes from a file that
// was compared with its id.
//
// # Decisions
//
// HTTPS is HTTP/1.1 only: aborting, pacing and WebSocket need a connection that carries one request
// at a time.
//
// A JSON file is streamed as application/octet-stream, with its type in MCP-Resource-Type: clients
// mistake application/json for an error.
//
// Copies of branches are revalidated, not fresh for a minute: a conditional request reads no file,
// and an old copy would be a wrong answer. Cache-Control stays private, since the server does not
// know which repositories are public. A date is no strong validator: If-Range with a date gets the
// whole.
//
// A download outlives its token; an event stream does not.
package httpx

// Package stdio serves MCP to the program that started this one: JSON-RPC
// messages, a line each, over a pair of streams.
//
// # Promises
//
// The output consists of lines with one JSON value each, and nothing else until the client asks for
// bytes: then chunks stand between the lines. A message that is too long is refused, and reading
// continues with the next. After the end of the input, or of the context, the requests in flight
// are answered first, for a bounded time.
package stdio

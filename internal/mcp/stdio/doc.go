// Package stdio serves MCP to the program that started this one: JSON-RPC
// messages, a line each, over a pair of streams.
//
// # Promises
//
// What is written are lines that have one JSON text each, and nothing else until the
// client asks for bytes: then there are chunks of them between the lines. A message
// that is too long is refused, and the next is read as ever. After the end
// of the input, and once the context ends, the requests in flight are answered
// first, for a bounded time.
package stdio

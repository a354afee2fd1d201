// Package duplex serves one client over a connection that carries messages both
// ways, such as WebSocket or a pair of pipes: what runs at a time, in which order,
// which replies there are, and how the connection comes to its end. How messages
// become bytes is the business of a [Transport].
//
// # Promises
//
// Messages are handled in the order in which they came; only requests are left to
// other goroutines, so that what follows an initialize finds it done. One message
// or piece of a stream is written at a time, and who waits for that is served in
// turn. A stream that waits for its client holds neither the turn nor a slot of the
// requests. A request that panics is an error of that request, and a stream that
// does is aborted. [Conversation.Serve] returns when nothing runs
// for the connection any more.
package duplex

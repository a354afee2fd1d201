// Package duplex serves one client over a connection that carries messages both ways, such as
// WebSocket or a pair of pipes. It decides what runs concurrently and in which order, which replies
// there are, and how the connection ends. A [Transport] turns messages into bytes.
//
// # Promises
//
// Messages are handled in order of arrival; only requests run on other goroutines, so that a
// message after initialize finds it done. One message or piece of a stream is written at a time,
// and waiting writers are served in turn. A stream that waits for its client holds neither the turn
// nor a slot of the requests. A panic in a request is an error of that request, and a panic in a
// stream aborts that stream. [Conversation.Serve] returns when no goroutine of the connection runs
// any more.
package duplex

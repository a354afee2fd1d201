// Package mcp answers messages of the Model Context Protocol: how requests,
// results and errors look in each era of it.
//
// # Order of use
//
// Make a [Server] with [New] over resources, and run their subscriptions. Every
// message first goes through [ParseMessages] and [Server.Admit], which say what era
// it belongs to and refuse what no method may accept. A resources/stream request
// then goes to [Server.Stream], and subscriptions/listen to [Server.Listen]; all
// others go to [Server.Answer]. A transport that can carry bytes beside a reply says
// so in [Request.Mode] and writes the reply's [Reply.Attachments] after it. The event
// stream of a session is
// [Server.OpenEvents]. A transport that has one connection for everything and no
// headers uses a [Connection] from [Server.Connect] instead.
//
// # Promises
//
// The error codes are one table. No message shows a path of the host or a text of
// the implementation. Flags of drafts stand where their proposal puts them and,
// because typed clients drop unknown fields, in _meta or extensions as well.
//
// # Limits
//
// resources/read holds its result in memory, so it is capped
// ([Options.ReadLimit]); resources/stream is not, and neither are attachments, which
// have a limit of their own ([Options.BinaryLimit]).
package mcp

// Package resources is the MCP surface: what a repository looks like as
// resources, and how requests, results and errors look in each era of the
// protocol.
//
// # Order of use
//
// Make a [Server] with [New] over a catalogue of repositories. Every message
// first goes through [ParseMessages] and [Server.Admit], which say what era it
// belongs to and refuse what no method may accept. A resources/stream request
// then goes to [Server.Stream]; all others go to [Server.Handler], and what that
// replies goes through [Request.Patch] on its way out. Plain URLs go to
// [Server.OpenDownload]. A transport that has one connection for everything and
// no headers uses a [Connection] from [Server.Connect] instead.
//
// # Promises
//
// The grammar of URIs is [Parse], with [ParseDownload] for the same resources as
// plain URLs, and nothing else, and whatever it accepts it
// writes in one canonical form. The error codes are one table. No message
// shows a path of the host or a text of the implementation. Flags of drafts
// stand where their proposal puts them and, because typed clients drop unknown
// fields, in _meta or extensions as well.
//
// # Limits
//
// resources/read holds its result in memory, so it is capped
// ([Options.ReadLimit]); resources/stream is not. Of 4096 archives the length
// and digest are remembered. What [Options.Cache] keeps has limits of its own.
package resources

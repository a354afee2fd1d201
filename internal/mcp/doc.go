// Package mcp answers messages of the Model Context Protocol: it defines requests, results and
// errors of each era.
//
// # Order of use
//
// Make a [Server] with [New] over resources, and run their subscriptions. Every message first goes
// through [ParseMessages] and [Server.Admit], which decide its era and refuse what no method may
// accept. A resources/stream request then goes to [Server.Stream], and subscriptions/listen to
// [Server.Listen]; all others go to [Server.Answer]. A transport that can carry bytes beside a
// reply says so in [Request.Mode] and writes the [Reply.Attachments] after the reply. The event
// stream of a session is [Server.OpenEvents]. A transport with one connection for everything and no
// headers uses a [Connection] from [Server.Connect] instead.
//
// # Promises
//
// The error codes are one table. No message contains a path of the host or details of the
// implementation. Flags of drafts stand where their proposal puts them and, because typed clients
// drop unknown fields, in _meta or extensions as well.
//
// # Limits
//
// resources/read holds its result in memory, so it is capped ([Options.ReadLimit]).
// resources/stream has no cap, and attachments have one of their own ([Options.BinaryLimit]).
//
// # Decisions
//
// The types, version rules and header rules of mcp-go are used, but not its package server: it
// knows one resource, chooses among matching templates at random, keeps state of every session, and
// loads a schema validator that took half of the processor time of every start
// (TestTheProgramStartsWithoutHeavyPackages).
//
// Cancellation is implemented here because ids are unique only within a session. 2026-07-28 has no
// cancellation over HTTP: closing the connection cancels.
//
// A wrong maxStreamSize refuses streams and not the session. An error to a request with an
// unreadable id has no id, as in MCP's schema.
//
// SEP-2640 (skills) is served in both eras, with the codes of 2026-07-28, by which it is defined. Listed
// URIs are skill://{repo}/{path} and follow the default branch, because hosts keep the user's approval by
// URI and bind it to digests: URIs by commit would end the approval of all skills of a repository with
// each push. The conformance suite derives the names of skills from that scheme alone. skills/get takes
// repo:// URIs as well, for other branches, tags and commits.
//
// -32003 and -32004 stay in 2026-07-28 for resources/stream, as SEP-2532 has them. "Not found" is
// -32602 there and -32002 before; data.reason is the same in both.
//
// A session cannot be ended by DELETE (405): a signed id is valid until it expires, on every server
// that has the key. The signature covers the principal without containing it.
//
// A tool's refusal by the limits is an error of the protocol: the program waits, not the model.
package mcp

// Package repos is the domain: a catalogue of git repositories below one
// root folder, and what can be asked of each of them.
//
// # Order of use
//
// [Open] a [Catalogue] over the root, keep [Catalogue.Watch] running so that
// it notices repositories that come and go, look a repository up by name with
// [Catalogue.Get], take a [Snapshot] of it, resolve a revision to a commit
// with [Snapshot.Resolve], then read trees and blobs. Close the snapshot.
//
// # Promises
//
// The root belongs to somebody else: it is only read, never locked, and may be
// rewritten at any moment. Nothing outside the root is ever opened, whatever
// symbolic links or alternates say: every file goes through an [os.Root].
//
// A read returns either the whole and right object or an error. A blob's bytes
// are checked against its id while they flow, and the failure takes the place
// of [io.EOF]; a read error is never a clean end.
//
// Only commits reachable from a served ref are resolved, unless
// [Options.AllowUnreachable] is set; anything else is [ErrNotFound], the same
// error as for what does not exist.
//
// # Trees and history
//
// [Snapshot.Tree] reads a folder and refuses one that could not be unpacked safely;
// [WalkTree] goes through it and what is below. History is not unpacked, and has
// trees that are refused: [Snapshot.StoredTree] reads any, and [PairTrees] compares
// two. Neither bounds how much is walked, for only the caller knows what it may
// cost. Of a commit, [ParseCommitLinks] reads what a walk needs, [ParsePerson] who
// made it and when, and newest.Queue has the order in which walks meet commits.
//
// # Limits
//
// Repositories use SHA-1 object ids and the "files" ref backend; others are
// recognised and refused with [ErrUnsupported].
package repos

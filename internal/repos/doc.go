// Package repos is the catalogue of the git repositories below one root folder: their names, and
// what is served of each to which client. Package git reads them.
//
// # Order of use
//
// [Open] a [Catalogue] over the root, keep [Catalogue.Watch] running so that it notices new and
// removed repositories, look a repository up by name with [Catalogue.Get], take a [git.Snapshot] of
// it with [Repository.Snapshot], resolve a revision to a commit with [git.Snapshot.Resolve], then
// read trees and blobs. Close the snapshot. Code that serves clients gets [Views] in place of the
// catalogue.
//
// # Promises
//
// The root belongs to other programs: it is only read, never locked, and may be rewritten at any
// moment. No file outside the root is ever opened.
//
// Only commits reachable from a served ref are resolved, unless [Options.AllowUnreachable] is set;
// all others are [git.ErrNotFound], like commits that do not exist. Refs are hidden by the
// namespaces of tools, the configuration of each repository and [Options.HideRefs], in this order.
//
// A repository is called missing once its folder is gone, and not because that cannot be read.
//
// A repository that makes the program panic, or that cannot be read at all, is quarantined
// ([ErrQuarantined]) and does not harm others.
//
// # Decisions
//
// Hidden refs, in the form of transfer.hideRefs, publish nothing. Replacement refs have no effect:
// a commit id names one content.
//
// Access rules are applied where repositories are looked up, not on routes: code that serves
// clients has [Views], and a context without a principal has the rights of an anonymous client
// (TestVisitorsReachRepositoriesByTheirViews).
package repos

// Package repos is the catalogue of the git repositories below one root folder: which there are,
// what they are called, and what of each is served to which visitor. Package git reads them.
//
// # Order of use
//
// [Open] a [Catalogue] over the root, keep [Catalogue.Watch] running so that
// it notices repositories that come and go, look a repository up by name with
// [Catalogue.Get], take a [git.Snapshot] of it with [Repository.Snapshot], resolve a revision to a
// commit with [git.Snapshot.Resolve], then read trees and blobs. Close the snapshot. What
// serves visitors gets [Views] in place of the catalogue.
//
// # Promises
//
// The root belongs to other programs: it is only read, never locked, and may be
// rewritten at any moment. No file outside the root is ever opened.
//
// Only commits reachable from a served ref are resolved, unless
// [Options.AllowUnreachable] is set; anything else is [git.ErrNotFound], the same
// error as for what does not exist. Which refs are hidden decide the namespaces of
// tools, the configuration of each repository and [Options.HideRefs], in this order.
//
// A repository that makes the program panic, or of which nothing can be read, is quarantined
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

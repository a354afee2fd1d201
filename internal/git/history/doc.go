// Package history answers what became of files: which commits changed them,
// which of them each line comes from, what two commits differ in, and which
// commits they have in common.
//
// # Order of use
//
// All begins with a [git.Snapshot] and with [Facts], one memory for all
// repositories and requests.
//
// [Log] lists commits, page by page. [Blame] finds those that the lines of a
// file come from.
//
// [CompareCommits] and [CompareWithParent] list the files that differ: added,
// deleted, modified, renamed, copied, or of another type. A [Differ] then reads
// the contents, a file at a time, and says how many lines changed
// ([Differ.Stat]) or shows them ([Differ.Patch]).
//
// [MergeBase] is what `git diff A...B` begins from: compare it with B.
// [AheadBehind] counts the commits on either side.
//
// # Promises
//
// The answers are those of git 2.39 with its default settings, in bytes and in
// order: patches, renames with their scores, abbreviated ids, quoted paths,
// graphs. Settings of the repository and .gitattributes have no part, as they have
// none or little in a bare repository. A .mailmap has the part that the options
// give it.
//
// # Commit-graphs
//
// Where the repository has a commit-graph file ([git.Snapshot.CommitGraph]), walks
// go by it. Commits that are shown, begun with, or whose trees are compared are
// compared with it; when it has one of them wrong it is dropped, and the question is
// asked again without it. What cannot be noticed is a lie about commits that are
// passed over: those between the ends of a count or a search for common ancestors,
// and those of which the file says that they change none of the paths. `git
// commit-graph verify` and [git.Snapshot.Verify] compare all.
//
// # Limits
//
// A log looks at [DefaultMaxLooked] commits for a page, or as many as are asked
// for, and tells how to go on; where it looks for content it also stops at
// [DefaultMaxCompared]. A blame fails with [git.ErrTooLarge] beyond
// [MaxBlameCommits], or where a version of the file has more than
// [MaxBlameBytes] or [MaxBlameLines]: fewer lines may need less of history.
//
// A comparison lists [DefaultMaxFiles] files, or as many as are asked for, and
// fails with [ErrTooMany] beyond. Files above [DefaultMaxPatchBytes] or
// [MaxPatchLines] are not compared by line; a patch says of them, as git does of
// files above core.bigFileThreshold, that they differ. For files above 32 MiB
// no renames with changes are found, nor when very much would have to be
// remembered for it; [Comparison.RenamesLimited] tells. How long a patch may be
// decides its writer. A context that ends, ends everything.
package history

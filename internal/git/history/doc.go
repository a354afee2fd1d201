// Package history answers questions about the history of files: which commits changed them, which
// commit each line comes from, how two commits differ, and which commits they have in common.
//
// # Order of use
//
// All functions take a [git.Snapshot] and [Cache], one cache for all repositories and requests.
//
// [Log] lists commits, page by page, and [LineLog] those that changed some lines of a file. [Blame]
// finds the commits that the lines of a file come from.
//
// [CompareCommits] and [CompareWithParent] list the files that differ: added, deleted, modified,
// renamed, copied, or of another type. A [Differ] then reads the contents, one file at a time, and
// counts the changed lines ([Differ.Stat]) or shows them ([Differ.Patch]). [VisitChanges] finds the
// same files, except for renames, without a list.
//
// [Steps] lists the commits of a range of which git format-patch makes patches.
//
// [MergeBase] is the start of `git diff A...B`: compare it with B. [AheadBehind] counts the commits
// on either side.
//
// # Promises
//
// The answers are those of git 2.39 with its default settings, in bytes and in order: patches,
// renames with their scores, abbreviated ids, quoted paths, graphs. Settings of the repository and
// .gitattributes are ignored, because they have no or little effect in a bare repository. A
// .mailmap applies if the options contain it.
//
// # Commit-graphs
//
// If the repository has a commit-graph file ([git.Snapshot.CommitGraph]), walks use it. Commits
// that are shown or started from, or whose trees are compared, are verified against it. After a
// mismatch the graph is dropped, and the question is asked again without it. A wrong graph stays
// unnoticed for skipped commits: those between the ends of a count or a search for common
// ancestors, and those that change none of the paths according to the file. `git commit-graph
// verify` and the server's --verify compare all.
//
// # Limits
//
// A log examines [DefaultMaxLooked] commits per page, or the requested number, and returns a
// cursor; if it searches contents it also stops at [DefaultMaxCompared]. A blame fails with
// [git.ErrTooLarge] beyond [MaxBlameCommits], or if a version of the file exceeds [MaxBlameBytes]
// or [MaxBlameLines]: fewer lines may need less history.
//
// A comparison lists [DefaultMaxFiles] files, or the requested number, and fails with [ErrTooMany]
// beyond. Files above [DefaultMaxPatchBytes] or [MaxPatchLines] are not compared by line; a patch
// only says that they differ, as git does for files above core.bigFileThreshold. Rename detection
// by similarity skips files above 32 MiB, and ends when it needs too much memory;
// [Comparison.RenamesLimited] reports that. The writer of a patch limits its length. A context that
// ends, ends everything.
//
// # Decisions
//
// Commits have numbers while a history is walked: their positions in the commit-graph, and after
// those the order of reading. A range of history is walked completely before its first commit is
// shown: only then is it known what a base reaches. Searches of contents end at a number of bytes.
package history

// Package search finds files and lines in commits: in one repository at any revision, or in all below a root at
// their default branches. [ByPath] lists all lines that match, [ByRank] the files that answer best.
//
// # Order of use
//
//	searcher := search.New(catalogue, scheduler, search.Options{Index: index}) // one per process
//	query, err := search.Parse(`"func main" language:go -path:vendor`, search.Words)
//	result, err := searcher.Search(ctx, search.Request{Query: query})
//	// result.Files; result.Cursor continues where it stopped
//
// # Promises
//
//   - A search finds what git grep -n -I finds for the same string in the same commit: lines,
//     columns, order. It searches regular files, and neither symbolic links nor submodules. The
//     only difference is the empty line that git finds for "^$" after a final newline.
//   - [ByPath] orders results by repository name, then as in the tree, then by line. [ByRank] finds the same
//     files for terms, ordered by package rank and then by repository and path. Results and counts do
//     not depend on the cache, the index or the number of workers, and not on repositories that the visitor may not
//     see.
//   - A cursor names the commit in which it stopped: a push between two pages moves nothing. A
//     repository that was not reached yet is searched at its commit at that time, or shortly before. A cursor gives no
//     access: its commit must still be served. The commits of a ranked search of several repositories are
//     remembered within a bound; a searcher that has forgotten them, or another one, refuses the cursor after a push
//     ([ErrChanged]), because ranks depend on all files.
//   - A file in which the index finds no match is not read, nor is a folder without such a file walked.
//   - A file is searched once for the same terms while the cache remembers it, in whatever commit,
//     path or repository it is; an unchanged folder is not even walked. Exceptions are searches for words
//     that the index counts, which take as long with the cache, files with more matching lines than are
//     kept (packedBytes), whose later lines are searched for on demand, and copies of a file that are
//     searched at the same moment.
//   - Only contents that match their id count, so that a damaged repository cannot answer for
//     another one. Damaged files are counted and named when they are read.
//   - Nothing runs after Search has returned.
//
// # Limits
//
// Columns and ranges are in bytes; columns begin at 1. Files with a NUL in their first 8000 bytes
// are binary, as for git. Files above Options.FileBytes are large, as are smaller ones for which a
// long expression could take seconds. Binary and large files are skipped and counted. [Limits]
// bound a call; a call that reaches a limit returns its results so far, the reason, and a cursor.
// Each call gets further than the one before, however small its limits are. A limit of a ranked search divides
// the walk: the files before it are ranked and shown on as many pages as they need, and then those behind it.
package search

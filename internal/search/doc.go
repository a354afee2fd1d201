// Package search finds lines in the files of commits: of one repository at any
// revision, or of all below a root at their default branches.
//
// # Order of use
//
//	searcher := search.New(catalogue, scheduler, search.Options{}) // one per process
//	query, err := search.Parse(`"func main" language:go -path:vendor`, search.Words)
//	result, err := searcher.Search(ctx, search.Request{Query: query})
//	// result.Files; result.Cursor goes on where it stopped
//
// # Promises
//
//   - What is found is what git grep -n -I finds in the same commit with the same
//     text: lines, columns, order. Regular files are searched; symbolic links and
//     submodules are not. Only the empty line that git finds for "^$" after a final
//     newline is none here.
//   - Results come in the order of repositories' names, then of the tree, then of
//     lines. Cold or warm, whatever is in the cache, they are the same, with the
//     same counts.
//   - A cursor names the commit in which it stopped: a push between two pages moves
//     nothing. A repository that was not reached yet is searched at the commit
//     that it has then. A cursor gives no access: its commit must still be served.
//   - A file is searched once for the same terms while the cache remembers it, in
//     whatever commit, path or repository it is; a folder that did not change is
//     not even walked. Exceptions are files with more matching lines than are kept
//     (packedBytes), whose later lines are searched for when they are asked for, and
//     copies of a file that are searched at the same moment.
//   - Only contents that match their id count, so that a damaged repository cannot
//     answer for another one. Damaged files are counted and named.
//   - Nothing runs after Search has returned.
//
// # Limits
//
// Columns and ranges are in bytes; columns begin at 1. Files with a NUL in their
// first 8000 bytes are binary, as for git, and files above Options.FileBytes are
// large, as are smaller ones for which a long expression could take seconds: all
// those are skipped and counted. [Limits] bound a call; one that reaches a
// limit returns what was found, the reason, and a cursor. Each call gets further than the
// one before, however small its limits are.
package search

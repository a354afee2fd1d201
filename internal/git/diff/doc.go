// Package diff compares two texts line by line, as git does: the same lines
// are taken out and put in, in the same hunks, as by `git diff` with its
// default settings.
//
// # Order of use
//
//	if diff.Binary(a) || diff.Binary(b) { … }             // git shows no lines of these
//	changes, err := diff.Lines(ctx, a, b, diff.Options{}) // what differs
//	err = diff.Unified(w, a, b, changes, 3)               // as hunks: "@@ -1,7 +1,8 @@ …"
//
// # Promises
//
// The changes are those of git 2.39, whose comparison is Myers' algorithm in
// linear space with limits on its cost. Because of the limits the changes are
// not always the fewest; they are the same ones that git finds.
//
// Applying the changes to the first text gives the second. Equal input gives
// equal output; nothing is kept between calls.
//
// # Limits
//
// Texts of more than [MaxBytes] are refused. Memory is at most some 90 bytes
// for each line, besides the texts. No line of a text is compared for longer
// than git's limits on the cost allow, and the context ends it at any moment.
//
// # Sources
//
// E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1
// (1986); git-diff(1) and git-diff(1)'s "Generating patch text with -p" for what
// hunks look like. Where those say nothing, the answers of git were taken down.
package diff

// Package diff compares two texts line by line with the result of git: the same lines are added and
// deleted, in the same hunks, as by `git diff` with its default settings.
//
// # Order of use
//
//	if diff.Binary(a) || diff.Binary(b) { … }             // git shows no lines of these
//	changes, err := diff.Lines(ctx, a, b, diff.Options{}) // what differs
//	err = diff.Unified(w, a, b, changes, 3)               // as hunks: "@@ -1,7 +1,8 @@ …"
//
// # Promises
//
// The changes are those of git 2.39, whose comparison is Myers' algorithm in linear space with
// limits on its cost. Because of the limits the changes are not always minimal, but they are those
// that git finds.
//
// Applying the changes to the first text gives the second. Results are deterministic; nothing is
// kept between calls.
//
// # Limits
//
// Texts of more than [MaxBytes] are refused. Memory is at most some 90 bytes per line, besides the
// texts. git's limits on the cost bound the time, and the context can end a comparison at any
// moment.
//
// # Sources
//
// E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986); git-diff(1)
// and git-diff(1)'s "Generating patch text with -p" for the form of hunks. Details that these leave
// open follow git's observed output.
package diff

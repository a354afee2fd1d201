// Package binarypatch writes the change of a binary file as git does with --binary, and in every
// patch of git format-patch: as a form that git apply takes, in both directions.
//
//	err := binarypatch.Write(ctx, w, before, after) // "GIT binary patch", …
//
// # Promises
//
// The bytes are those of git: its deltas, its choice between a delta and the whole content, and the
// compression of package deflate. They are a function of the contents.
//
// # Limits
//
// Contents in memory take as much again for the search of a delta, and the delta is no longer than
// the compressed content. A content that is not in memory is read twice, and written whole.
//
// # Sources
//
// git-diff(1), --binary; gitformat-pack(5), "Deltified representation"; M. Rabin, "Fingerprinting by
// Random Polynomials" (1981). Details that these leave open follow git's observed output.
package binarypatch

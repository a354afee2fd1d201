// Package binarypatch writes the change of a binary file in the form of git diff --binary, which git
// apply takes in both directions.
//
//	var w binarypatch.Writer
//	err := w.Write(out, before, after) // "GIT binary patch", …
//
// # Promises
//
// git makes the same files of it as of its own patch. The bytes are not those of git: git compresses with zlib, and
// writes a delta where that is shorter; here the contents are whole, and compressed by the library of this module. They
// are a function of the contents, and of the library's version.
//
// # Limits
//
// Contents are streamed. A Writer holds [Memory].
//
// # Sources
//
// git-diff(1), --binary. No manual describes the lines; they follow the output of git.
package binarypatch

// Package tokens knows the static bearer tokens of a server: who they were given to,
// as a file of hashes from which no token can be made.
//
// The file has one token per line; empty lines and those that begin with # are skipped:
//
//	# name  hash of the token                                   made                  and, if any
//	ci      sha256:q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA  2026-11-01T00:00:00Z  groups=core,ops
//
// A file that is empty is taken for one that is being written; where nobody is to be let in, it has a
// line with a comment.
//
// Behind the date may also be "expires=" and another date, after which the token is no
// longer good.
//
// A token is [Prefix] and 26 letters and digits, of 130 random bits: no slow hash is needed
// against guessing, and a scanner for secrets in source code finds it.
package tokens

// Package tokens manages the static bearer tokens of a server, as a file of hashes from which no
// token can be derived.
//
// The file has one token per line; empty lines and those that begin with # are skipped:
//
//	# name  hash of the token                                   made                  and, if any
//	ci      sha256:q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA  2026-11-01T00:00:00Z  groups=core,ops
//
// An empty file counts as unfinished; a file that admits no client contains a comment.
//
// The date may also be followed by "expires=" and another date, at which the token expires.
//
// A token is [Prefix] and 26 letters and digits, with 130 random bits: that needs no slow hash
// against guessing, and scanners for secrets in source code recognize it.
package tokens

// Package reftable reads the refs of one table of git's format "reftable".
//
// # Order of use
//
// [Open] checks the header and the footer of a table, and [Table.From] passes its refs in the order of their
// names. A repository has several tables, and a later one counts before an earlier one; a [Ref] without a value
// says that a ref of an earlier table was deleted.
//
// # Promises
//
// A cut table, and one whose records, blocks, names or index contradict each other in length or order, is an
// error that matches [ErrFormat], and never a shorter list. The format has no checksum but that of the footer:
// a changed byte in a name or an id is not detected, by git neither.
// A read takes the memory of one block, 16 MiB at most, and of one name.
//
// # Limits
//
// Reflogs and the index from ids to refs are not read. Tables of SHA-256 repositories are refused by
// [ErrUnsupported].
//
// Source: gitformat-reftable, Documentation/technical/reftable.adoc of git. Git pads a block, and another writer
// need not pad the last one of a section; both are read.
package reftable

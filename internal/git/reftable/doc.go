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
// Damage is an error that matches [ErrFormat], and never a missing ref: a table has no digest but that of its
// footer, so names that are not in order, and records and blocks that contradict their lengths, are damage too.
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

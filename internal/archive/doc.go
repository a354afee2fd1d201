// Package archive turns a commit into a stream: tree → entries → tar → gzip →
// [io.Writer].
//
// # Order of use
//
// Make one [Engine] for the process, and for each archive a [Plan] with
// [Engine.Plan]. That is the moment of refusals: it reads the commit's root
// folder and nothing else. Then [Plan.WriteTo] generates the archive straight
// into the writer.
//
// # Promises
//
// The bytes are a function of the commit, the options, the compression level
// and [EncoderVersion], on every machine, for any number of processors, and at
// every time. An uncompressed tar has the bytes that
// `git archive --format=tar` gives with tar.umask=0002 and no attributes; the
// gzip stream around it is this package's own.
//
// Nothing is held whole: not the tar, not the gzip stream, and no file above
// 2 MiB. Archives that are written at the same time share the processors
// evenly; each has a few runs of entries and blocks in memory, whatever its
// size.
//
// An error from [Plan.WriteTo] means that what was written so far is not an
// archive: no trailer was written, and the caller must make the failure
// visible to whoever receives the bytes.
//
// # Limits
//
// Attributes (export-ignore, export-subst, end-of-line conversion) are not
// applied: an archive is the complete tree. See [Limits] for the bounds.
package archive

// Package archive turns a commit into a stream: tree → entries → attributes →
// tar or zip → gzip, zstd or xz → [io.Writer].
//
// # Order of use
//
// Make one [Engine] for the process, and for each archive a [Plan] with
// [Engine.Plan]. That is the moment of refusals: it finds the paths that the
// options name, and looks at a few hundred folders for what is too large.
// [Plan.Validator] looks at all of them. Then [Plan.WriteTo] or
// [Plan.WriteRange] generates the archive straight into the writer.
//
// # Promises
//
// The bytes are a function of the commit, the options, the compression level
// and [EncoderVersion], on every machine, for any number of processors, and at
// every time. An uncompressed tar has the bytes that
// `git archive --format=tar` gives with tar.umask=0002, with the attributes of
// the archived tree and of info/attributes applied, or with [ProfileFull]
// without any; docs/archive-format.md lists what is known to differ. With
// [ProfileWorktree] it has what git checkout writes. The zip has
// git's entries; compressed bytes are this package's own. What depends on refs
// or on other objects ($Format:%d$) makes the [Validator] weak.
//
// Content from outside of the commit, of git-lfs and of submodules, is put in on
// request only. The bytes then depend on what the mirror and those beside it
// hold, and the [Validator] tells that.
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
// # Deltas
//
// With [Options.Base] an archive holds the members that are added, modified or
// of another mode or type than in the base's archive, in the usual order and
// with their folders before them. The first member is .repomcp/manifest.json,
// below the prefix: it lists the paths to delete, which is done first and in
// its order, and those whose type changed, whose old member has to be removed
// as well before the rest is unpacked. Files with export-subst are always
// among the members. What unpacking gives is, but for times of modification,
// what the full archive gives.
//
// That needs the same attributes on both sides where they may leave files out
// ([ProfileArchive]), and a delta that is no larger than the full archive: else there is a [FullNeededError], or with
// [Options.Fallback] the full archive itself, whose options have no base.
//
// With [DeltaPatch] modified files may be patches: a pax record of the member says
// so, and the manifest lists which may be. Whether one is depends on both contents
// alone, so that it is made where the member is written, and nothing is held.
//
// # Manifests
//
// The format [Manifest] is one JSON document about the members that the other
// formats have, one to a line and in their order: path, pathBase64 (the bytes,
// where they are not UTF-8), type, mode and id as in the tree, size of the
// stored blob, converted (attributes ask for other content, so that the
// member may have another size), unknownEncoding (attributes ask for an encoding
// that is not known, so that the content stays UTF-8), lfs (oid and size of a pointer of git-lfs)
// and url (of a submodule, from .gitmodules). Paths, and the options that are
// repeated at the beginning, are percent-encoded as in a URI. A document that
// is cut short is no JSON. Of a delta it has the lists as well.
//
// # Limits
//
// See [Limits] for the bounds of an archive. Programs that attributes name
// (filters) are never run.
package archive

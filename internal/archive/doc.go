// Package archive turns a commit into a stream: tree → entries → attributes → tar or zip → gzip,
// zstd or xz → [io.Writer].
//
// # Order of use
//
// Create one [Engine] per process, and a [Plan] per archive with [Engine.Plan]. That call refuses
// what it can: it resolves the paths of the options, and checks the limits in a few hundred
// folders. [Plan.Validator] checks them in all folders. Then [Plan.WriteTo] or [Plan.WriteRange]
// generates the archive directly into the writer.
//
// # Promises
//
// The bytes are a function of the commit, the options, the compression level and [EncoderVersion],
// on every machine, for any number of processors, and at every time. An uncompressed tar has the
// bytes of `git archive --format=tar` with tar.umask=0002, with the attributes of the archived tree
// and of info/attributes, or with [ProfileFull] without attributes; docs/archive-format.md lists
// the known differences. With [ProfileWorktree] it contains what git checkout writes. The zip has
// git's entries; the compressed bytes are this package's own. Content that depends on refs or on
// other objects ($Format:%d$) makes the [Validator] weak.
//
// Content from outside of the commit, of Git LFS and of submodules, is included only on request.
// The bytes then depend on the mirror and its siblings, which the [Validator] reflects.
//
// Nothing is held whole: not the tar, not the gzip stream, and no file above 2 MiB. Concurrent
// archives share the processors evenly; each has a few runs of entries and blocks in memory,
// whatever its size.
//
// After an error of [Plan.WriteTo], the written bytes are no archive: they have no trailer, and the
// caller must make the failure visible to the receiver.
//
// # Deltas
//
// With [Options.Base] an archive contains the members that were added, were modified or have
// another mode or type than in the base's archive, in the usual order and with their folders before
// them. The first member is .repomcp/manifest.json, below the prefix. It lists the paths to delete,
// in order and before unpacking, and those with a changed type, whose old entries must be removed
// before unpacking as well. Files with export-subst are always included. The result of unpacking
// equals the full archive, except for modification times.
//
// A delta requires the same attributes on both sides if these may exclude files ([ProfileArchive]),
// and must not be larger than the full archive. Otherwise the result is a [FullNeededError], or
// with [Options.Fallback] the full archive itself, whose options have no base.
//
// With [DeltaPatch] modified files may be patches: a pax record marks such members, and the
// manifest lists the candidates. Whether a candidate is a patch depends only on both contents, so
// patches are made while writing, and none is held.
//
// # Checkouts
//
// With [ProfileCheckout] the files are those of git checkout, and .git follows them: package checkout
// makes it. [Resolve] finds the branch or tag that a checkout is of. The pack's entries are made of
// the contents that are read for the files, and wait in a temporary file until these are written;
// then those of all other objects follow. The extent is not known before ([ErrUnmeasured]), and the
// memory grows with the number of objects: [Plan.Memory].
//
// # Manifests
//
// The format [Manifest] is one JSON document about the members of the other formats, one per line
// and in the same order: path, pathBase64 (the bytes of a path that is not UTF-8), type, mode and
// id as in the tree, size of the stored blob, converted (attributes change the content, so the
// member may have another size), unknownEncoding (attributes ask for an unknown encoding, so the
// content stays UTF-8), lfs (oid and size of a Git LFS pointer) and url (of a submodule, from
// .gitmodules). Paths, and the options at the beginning, are percent-encoded as in a URI. A
// truncated document is invalid JSON. The manifest of a delta contains its lists as well.
//
// # Limits
//
// [Limits] bound an archive. Filter programs of attributes are never run.
//
// # Decisions
//
// A patch is a zstd frame whose dictionary is the old content, as `zstd --patch-from` makes it. The
// pax record of the member says so, because only then is it known whether the patch is smaller than
// the file.
//
// A weak ETag marks archives that also depend on refs, git-lfs or other repositories. No part of
// them can be requested.
package archive

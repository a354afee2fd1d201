// Package unpack writes the members of a tar stream into a folder while the stream arrives, for
// archives of source code from untrusted sources.
//
//	root, err := os.OpenRoot("checkout")
//	defer root.Close()
//	report, err := unpack.New(root, unpack.Options{}).Tar(ctx, download)
//
// The stream is a plain tar, or one in gzip or zstd, with pax headers as git writes them. It is
// never held whole: memory stays below 64 MiB for any input.
//
// # Promises
//
//   - Nothing outside of the root is read or written: everything goes through [os.Root], and no
//     folder on the way to a member may be a symbolic link, not even one that existed before.
//   - A file appears by a rename, so that at every moment, even after a kill -9, its path has the
//     old content or all of the new one. Exceptions are [Options].Unseen, and [Choice].Yields on
//     systems that cannot exchange two names in one step: there [Unpacker.Settle] restores the
//     files that were moved aside. Nothing is synced to the disk: after a loss of power the file
//     system decides. Temporary files of a killed run are removed by the next, see
//     [Unpacker.Clean].
//   - An unsafe member is refused with a [RefusedError] before anything of it is written, and ends
//     the run; so do a [LimitError], and a truncated or damaged stream. No error takes back members
//     that were completed before it: those are whole files.
//   - A file or a link replaces an existing one, and with [Choice].Yields only one that was
//     examined when it could not change any more: a file that a program saves meanwhile is put
//     back. A folder replaces nothing.
//   - Symbolic links are made last, after the end of the stream was seen, and only if they stay in
//     the root, see [LinkStays].
//
// A file keeps its content and executable bit, and with [Options].Times its time of modification; a
// folder keeps its name. Owners, setuid bits, extended attributes and comments are dropped. Folders
// and files get the permissions that the umask leaves.
//
// A member that is a patch is refused unless [Options].Choose replaces its content, which
// [Patch.Apply] makes from the old content.
//
// # Names
//
// [Reason] lists what is refused. Names that are special on only one system, such as those with a
// backslash on Windows, are refused only there; two names that differ in case or in Unicode
// normalization are refused if the root's file system treats them as equal. Members of a folder
// have to be adjacent, as in the archive of a tree: a member of a folder that was left is refused.
//
// The folder .repomcp of the root belongs to the program. It exists during a run, and stays if it
// contains other files; names that begin with .repomcp-tmp- are those of incomplete files. No
// member may have either name, except manifest.json below a .repomcp, which [Options].Choose may
// take. No member is written below a .git: those of the root are given to [Options].Git.
//
// # Concurrency
//
// An Unpacker may be used for one run after another. Two concurrent runs in one root remove each
// other's temporary files: the caller has to lock.
package unpack

// Package unpack writes the members of a tar stream into a folder while the stream
// arrives, for archives of source code that nobody vouches for.
//
//	root, err := os.OpenRoot("checkout")
//	defer root.Close()
//	report, err := unpack.New(root, unpack.Options{}).Tar(ctx, download)
//
// The stream is a plain tar, or one in gzip or zstd, with pax headers as git writes
// them. It is never held whole: whatever comes, less than 64 MiB are in memory.
//
// # Promises
//
//   - Nothing outside of the root is read or written: all goes through [os.Root],
//     and no folder on the way to a member may be a symbolic link, also not one
//     that was there before.
//   - A file appears by a rename, so that at every moment, after a kill -9 too, its
//     path has the old content or all of the new one, but for [Options].Unseen, and for
//     [Choice].Yields on systems that cannot exchange two names in one step: there
//     [Unpacker.Settle] brings back what was taken aside. Nothing is synced to the
//     disk: after a loss of power the file system decides. What a run that was
//     killed left behind under temporary names is removed by the next, see
//     [Unpacker.Clean].
//   - A member that cannot be safe is refused by a [RefusedError] before anything
//     of it is written, and ends the run; so does a [LimitError], and a stream
//     that is cut or damaged. No error takes back what was completed before it:
//     those are whole files.
//   - A file or a link takes the place of one that is there, and with [Choice].Yields
//     only of what was looked at when it could not change any more: a file that some
//     program saves meanwhile is put back. A folder takes the place of nothing.
//   - Symbolic links are made last, after the end of the stream was seen, and only
//     if they stay in the root, see [LinkStays].
//
// Of a file the content and the executable bit are taken, with [Options].Times the
// time of modification as well; of a folder the name. Owners, setuid bits,
// extended attributes and comments are not. Folders and files get the permissions
// that the umask leaves.
//
// A member that says of itself that it is a patch is refused unless [Options].Choose
// gives a content in its place, which [Patch.Apply] makes of the old one.
//
// # Names
//
// [Reason] lists what is refused. What is other on one system only, such as a
// backslash on Windows, is refused there only; two names that differ in case or in
// Unicode normalization are, where the root's file system takes them for one.
// Members of a folder have to come together, as they do in the archive of a tree:
// one that returns to a folder that was left is refused.
//
// The folder .repomcp of the root is the program's own. It is made for the time of
// a run, and stays if something else is in it; names that begin with .repomcp-tmp-
// are those of incomplete files. No member may have either, but for manifest.json
// below a .repomcp, which [Options].Choose may take.
//
// # Use at the same time
//
// An Unpacker may be used for one run after another. Two runs in one root at the
// same time remove each other's temporary files: it is for the caller to lock.
package unpack

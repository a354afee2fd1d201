// Package checkout makes the folder .git of an archive that is a clone: a pack with its indexes, the
// index of the working tree, refs and the configuration.
//
// # Order of use
//
// [FindHistory] finds the commits. [Seen.Mark] selects the files to pack while they are written, and
// [NewWalk] yields all other objects of the history. An [Encoder] makes their entries, which a [Pack]
// collects; an [Index] collects the entries of the working tree. [Folder.Write] writes all of it as
// members of a tar.
//
// # Promises
//
// The files are a function of the history, the ref, the remote, and what was seen before: objects are
// deflated with one level, or stored, and never as deltas of others, so a repack of the mirror changes
// no byte.
// git fsck --strict finds no fault that the mirror does not have. The pack has the name that git
// gives it, its checksum: go-git opens no other.
//
// # Limits
//
// Memory holds [ObjectMemory] for each object, and [FolderMemory]. Entries are in temporary files.
//
// # Why git believes the index
//
// An entry has a size and a time in whole seconds, and no number of a device, inode or owner, which
// are unknown before the files are extracted. With core.checkStat=minimal and core.trustctime=false
// git compares nothing else (git-config(1)). The files are a second older than the index: otherwise
// git could not tell whether a file was changed after the index was written, and would read it
// ("racy git", gitformat-index(5)).
//
// # Why go-git makes a part of it
//
// plumbing/format/idxfile writes the pack's index and plumbing/format/config the configuration, and
// plumbing judges the names of refs. The index of the working tree is not go-git's: its encoder holds
// all entries, with 700 bytes for each, takes ten times as long (BenchmarkGoGitIndex in bench), and
// writes no cached trees, without which the first status and the first commit have to compute them.
// go-git neither makes the entries of a pack in parallel nor writes reverse indexes.
package checkout

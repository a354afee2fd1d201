// Package dotgit makes the folder .git of a working tree from an archive that it does not trust, and
// brings one up to date that it or git has made.
//
//	in, err := dotgit.Receive("work/.git")             // a new folder
//	defer in.Close()
//	unpack.New(root, unpack.Options{Git: in.Member, Copy: in.Copy, …}).Tar(ctx, archive)
//	in.Commit = …                                      // of the archive's comment
//	index, err := in.Create(ctx)                       // everything is compared and written
//	index.SetStats(in.Stat)                            // what git compares with the files
//	err = index.WriteFile("work/.git/index")           // from now on it is a clone
//
//	r, err := dotgit.Open("work")                      // an existing clone
//	defer r.Close()
//	err = r.Recover()                                  // from a killed run
//	in, err = r.Receive()
//	…
//	u, err := r.Compare(ctx, in, base)                 // in a quarantine
//	err = u.Publish()                                  // as git fetch
//	err = u.Track(old)                                 // not before the objects are there
//	a, staged, err := u.Begin(head)                    // locks index, branch, HEAD
//	err = a.Finish(stats)                              // writes and releases them
//
// # Promises
//
// A server gains nothing that the repository behind git clone would not gain:
//
//   - Members of .git are on a fixed list. Nothing of them is copied: HEAD, packed-refs, shallow and config are
//     parsed, and written anew from the commit, the name of one ref, and the URL of the remote. Any other key of
//     the configuration refuses the archive. Indexes, of packs and of the working tree, are made here.
//   - Each object is compared with its id. The commit leads to all objects that came, and to no others but those
//     that were there; each file of the working tree is a file of the commit, with the content that git checkout writes
//     (line ends, keywords and encodings are converted here once more, by the attributes of the tree), and none is
//     missing.
//   - Objects for an existing repository are compared before they are in it.
//
// An existing repository keeps what is the user's: only the ref that follows the server's, and what the caller
// asks for, are moved, each under git's own lock and only from the expected value; objects, the list of cut
// commits and the configuration only grow; and the index keeps all entries whose paths do not change. Flags such
// as assume-unchanged stay. The cache of untracked files, the record of resolved conflicts and the form of
// version 4 are dropped, which git makes again.
//
// Refused are bare repositories, other working trees (core.worktree), sparse checkouts, split and sparse indexes,
// reftable and SHA-256. Alternates outside of the repository are not read.
//
// # Stored, not deflated
//
// Files of the working tree are stored in the pack without compression: for the 14,932 files of Go's source tree
// a clone takes 0.97 s of processor time with them (0.51 s without the system's), 1.47 s (1.06 s) with zlib's
// fastest level, and 1.46 s (1.08 s) as git clone --depth 1; the pack has 125 MB, 42 MB, or 33 MB. git gc makes
// it as small as git's.
//
// # go-git
//
// go-git reads the archive's pack and configuration, validates names of refs, and writes the configuration and
// the index of the pack. The index of the working tree is read and written here: go-git loses the cache tree,
// without which git compares all folders, and the flag of assume-unchanged (TestGoGitLosesPartsOfAnIndex), and
// takes five times as long to write 100,000 entries (BenchmarkIndex: 304 ms and 56 ms). It has no reverse index
// of packs. Objects are read by package git, which compares them with their ids.
package dotgit

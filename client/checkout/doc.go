// Package checkout writes the files that git checkout would write for a branch of a server, and
// keeps the folder in step with the branch. The folder contains no repository, unless it is a clone: see below.
//
//	c, err := client.New("https://git.example.com/mcp", client.Options{})
//	result, err := checkout.Sync(ctx, c, checkout.Options{Repository: "group/project", Ref: "main", Dir: "project"})
//
// The first run takes a whole archive, which is unpacked while it arrives. Later runs take the
// difference from the commit of the previous run, with patches of the files where bytes are costly,
// and cost one request if nothing has changed. [Follow] runs at every push, and again until programs let go what a run
// had to leave to them.
//
// # Promises
//
//   - A file that the user changed in the folder is not overwritten or removed unless Options.Force
//     is set: it is kept, and named at the end. Size, the times of modification and of change, and
//     then the content decide. A missing file is no change: it is restored when its content is next
//     sent, and by Verify.
//   - That holds for changes during a run as well: a file that is about to be replaced is examined
//     when no program can find it any more, and put back if it was changed. See [unpack.Yields]. On
//     Linux a file that a program has open for writing stays.
//   - Unchanged files are not touched, so they keep their time.
//   - Only files that a run wrote are ever removed. Others stay.
//   - Each file is the old or the new one at every moment, even after a kill -9. The files of a new
//     folder appear together, when all have arrived. The next run knows how far the previous one
//     got, and ends in step whatever happened to the branch meanwhile.
//   - Nothing outside of the folder is written, see package unpack. A symbolic link that leads
//     outside is skipped, and named at the end.
//   - Names that change their case in a commit change it in the folder as well where the file system takes both for
//     one. Of two such names in one commit the second is kept out, or the commit is refused.
//   - Memory does not grow with the repository, nor with the server's output. A clone takes some 300 bytes for
//     each file.
//
// # Clones
//
// With [ProfileCheckout] the folder is a git clone, of one commit at first, and [Clone] makes one without
// keeping it in step. The clone is as safe as one by git: everything that arrives is compared with the
// commit, and .git has nothing that the server could choose but its commit, the name of the ref, and
// the URL of the remote. The .git appears last.
//
// An update fetches the new commits, and then advances the branch, the index and the files together, or none of them:
//
//   - The branch of the server has to be checked out, or what the last run has left. It is advanced if it is
//     an ancestor of the server's commit; in a clone without the whole history also from where the server's branch was
//     before.
//   - A file that the commit changes must be as the old commit has it, in the folder and in the index, or as the new
//     one. Others may be changed, staged or new: they stay so.
//   - No merge, rebase or the like is unfinished, and no git program holds the index.
//
// Otherwise [Result].Behind has the reason, and the user decides with git's commands. So it does with clones that
// git has made, and with linked worktrees: stashes, branches, tags, hooks, configuration and other worktrees stay
// as they are. The state is made of git's index whenever git has changed that. Not supported are sparse
// checkouts, split indexes, SHA-256 and reftable, and there is no merge of any kind. Submodules stay as they are;
// pointers of git-lfs are not replaced.
//
// # State
//
// DIR/.repomcp/state records which versions runs wrote. It is replaced by a rename at the end of a run; during a
// run, or after it was killed, a journal is beside it. A lock excludes a second run in the folder; it ends with
// the process. [StatusOf] reads the state without a server. In a clone git ignores the folder.
package checkout

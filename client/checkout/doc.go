// Package checkout writes the files that git checkout would write for a branch of a server, and
// keeps the folder in step with the branch. The folder contains no repository.
//
//	c, err := client.New("https://git.example.com/mcp", client.Options{})
//	result, err := checkout.Sync(ctx, c, checkout.Options{Repository: "group/project", Ref: "main", Dir: "project"})
//
// The first run takes a whole archive, which is unpacked while it arrives. Later runs take the
// difference from the commit of the previous run, with patches of the files where bytes are costly,
// and cost one request if nothing has changed. [Follow] runs at every push.
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
//   - Memory does not grow with the repository, nor with the server's output.
//
// # State
//
// DIR/.repomcp/state records which versions runs wrote. It is replaced by a rename at the end of a
// run; during a run, or after it was killed, a journal is beside it. A lock excludes a second run
// in the folder; it ends with the process. [StatusOf] reads the state without a server.
package checkout
